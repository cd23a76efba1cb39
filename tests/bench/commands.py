"""Times the commands as whole processes: `python tests/bench/commands.py [SPEC]`.

Prints the median of five runs of each, beside the bound that the project has set itself. Asserts nothing: what a busy machine
shows is for a person to read.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(sys.executable).with_name("inferform")
RUNS = 5


def main(spec: str) -> int:
    """Runs every command and prints one line each."""
    with tempfile.TemporaryDirectory() as folder:
        commands: list[tuple[str, list[str], float]] = [
            ("--help", ["--help"], 0.3),
            ("validate", ["validate", spec], 1.0),
            ("size", ["size", spec], 1.0),
            ("render", ["render", spec, "--out", f"{folder}/render"], 1.5),
            ("synth", ["synth", spec, "--out", f"{folder}/synth"], 2.5),
        ]
        print(f"{'command':10} {'median s':>9} {'fastest s':>9} {'bound s':>8} {'peak MB':>8}")
        for name, arguments, bound in commands:
            seconds, peak = timed(arguments)
            print(f"{name:10} {statistics.median(seconds):9.2f} {min(seconds):9.2f} {bound:8.1f} {peak / 1024:8.0f}")
    return 0


def timed(arguments: list[str]) -> tuple[list[float], int]:
    """Wall seconds of each run, and the largest resident size of any child so far in KiB."""
    seconds = []
    for _ in range(RUNS):
        started = time.perf_counter()
        ran = subprocess.run([str(PROGRAM), *arguments], capture_output=True, text=True, check=False)
        seconds.append(time.perf_counter() - started)
        if ran.returncode != 0:
            print(f"{' '.join(arguments)} ended with {ran.returncode}: {ran.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
    return seconds, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else str(ROOT / "examples" / "mixed.yaml")))
