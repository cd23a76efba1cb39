"""Times one template for many tenants: `python tests/bench/tenants.py [SPEC]`.

Renders 50, 100 and 200 tenants with loads of their own into a new folder, as whole processes, and 200 once more where nothing has
changed. The bound that the project has set itself is 12 s and 300 MB for 200 tenants, growing linearly. Asserts nothing.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(sys.executable).with_name("inferform")
TIERS = ("enterprise", "standard", "free")


def values(spec: Path, count: int) -> str:
    """A CSV of tenants, each with a load and a tier."""
    models = list(yaml.safe_load(spec.read_text(encoding="utf-8"))["models"])
    rows = [f"tenant,models.{models[0]}.workload.peak_rps,isolation.tier"]
    rows += [f"t{number:04d},{4 + number % 7},{TIERS[number % 3]}" for number in range(count)]
    return "\n".join(rows) + "\n"


def timed(arguments: list[str]) -> tuple[float, float, float]:
    """(wall seconds, processor seconds, peak MB) of one run."""
    started = time.perf_counter()
    child = subprocess.Popen([str(PROGRAM), *arguments], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"{' '.join(arguments)} ended with {child.returncode}")
    return time.perf_counter() - started, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def main(spec: str) -> int:
    """Runs each count and prints one line for it."""
    print(f"{'tenants':>9} {'wall s':>7} {'cpu s':>7} {'peak MB':>8}")
    for count, again in ((50, False), (100, False), (200, True)):
        with tempfile.TemporaryDirectory() as folder:
            table = Path(folder) / "tenants.csv"
            table.write_text(values(Path(spec), count), encoding="utf-8")
            arguments = ["render", spec, "--tenants", str(table), "--out", f"{folder}/out"]
            for label in (str(count), *(["unchanged"] if again else [])):
                wall, cpu, peak = timed(arguments)
                print(f"{label:>9} {wall:7.2f} {cpu:7.2f} {peak:8.0f}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else str(ROOT / "examples" / "chat-8b.yaml")))
