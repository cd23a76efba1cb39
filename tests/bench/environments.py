"""Synthesizes one spec in many environments, in one process: `python tests/bench/environments.py [COUNT]`.

Prints seconds an environment and resident memory, ten environments a line: both should stay as they are in the first lines.
Asserts nothing: what a busy machine shows is for a person to read.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from pathlib import Path

from inferform.load import load_spec
from inferform.planner import size
from inferform.stacks.app import synthesize

SPEC = """\
name: demo
tenant: acme
cloud: {provider: aws, region: us-east-1}
models:
  llama-8b:
    source: meta-llama/Llama-3.1-8B-Instruct
    hf_token_secret: {name: hf-token}
    workload:
      peak_rps: 2
      input_tokens: {mean: 500}
      output_tokens: {mean: 100}
    slo: {ttft_p95: 1s, tpot_p95: 60ms}
environments:
"""


def spec(count: int) -> str:
    """A spec with `count` environments, each with a network and a load of its own."""
    return SPEC + "".join(
        f"  env-{n:03d}:\n    cloud: {{vpc_cidr: 10.{n}.0.0/16}}\n    models: {{llama-8b: {{workload: {{peak_rps: {2 + n % 7}}}}}}}\n" for n in range(count)
    )


def main(count: int) -> int:
    """Loads, sizes and synthesizes every environment."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "spec.yaml"
        path.write_text(spec(count), encoding="utf-8")
        rows: list[tuple[float, float, float]] = []
        print(f"{'environments':>12} {'load s':>7} {'size s':>7} {'synth s':>8} {'RSS MB':>7}   (seconds: mean of ten)")
        for n in range(count):
            started = time.perf_counter()
            loaded = load_spec(path, f"env-{n:03d}")
            read = time.perf_counter()
            plan = size(loaded.spec, loaded.environment)
            sized = time.perf_counter()
            synthesize(plan, Path(folder) / loaded.environment)
            rows.append((read - started, sized - read, time.perf_counter() - sized))
            if (n + 1) % 10 == 0:
                means = [sum(row[i] for row in rows[-10:]) / 10 for i in range(3)]
                print(f"{n + 1:12} {means[0]:7.3f} {means[1]:7.3f} {means[2]:8.3f} {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:7.0f}")
        print(f"{count} environments in {sum(map(sum, rows)):.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 100))
