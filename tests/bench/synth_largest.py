"""Synthesizes the largest example as a whole process: `python tests/bench/synth_largest.py [SPEC]`.

Prints processor seconds and the peak of resident memory over all its processes (the generator runs in one of its own), beside the bounds
that the project has set itself: 3 s and 300 MB. Asserts nothing: what a busy machine shows is for a person to read.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(sys.executable).with_name("inferform")
RUNS = 3
_PAGE = os.sysconf("SC_PAGE_SIZE")


def main(spec: str) -> int:
    """Runs the synth and prints one line a run."""
    print(f"{'processor s (bound 3)':>22} {'wall s':>8} {'peak MB (bound 300)':>20}")
    for _ in range(RUNS):
        with tempfile.TemporaryDirectory() as folder:
            before, started = os.times(), time.perf_counter()
            ran = subprocess.Popen([str(PROGRAM), "synth", spec, "--env", "prod", "--out", folder], stdout=subprocess.DEVNULL)
            peak = 0
            while ran.poll() is None:
                peak = max(peak, sum(map(resident, family(ran.pid))))
                time.sleep(0.02)
            after = os.times()
            used = after.children_user + after.children_system - before.children_user - before.children_system
            print(f"{used:22.2f} {time.perf_counter() - started:8.2f} {peak / 1e6:20.0f}")
            if ran.returncode:
                return ran.returncode
    return 0


def family(pid: int) -> list[int]:
    """The process and all that descend from it."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents.setdefault(int(fields[1]), []).append(int(entry.name))
    found = [pid]
    for one in found:
        found += parents.get(one, [])
    return found


def resident(pid: int) -> int:
    """Resident bytes of a process; 0 when it has just ended."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE
    except (OSError, IndexError):
        return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else str(ROOT / "examples" / "platform.yaml")))
