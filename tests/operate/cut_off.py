"""Runs the apply of a tiny deployment in a process of its own, for tests that kill it: `python cut_off.py FOLDER SLOW_SECONDS`."""

from __future__ import annotations

import sys
from pathlib import Path

from inferform.operate.apply import apply
from inferform.operate.progress import Step
from operate.tiny import ACTOR, BACKEND, RULES, Seen, tiny_plan


def tell(step: Step) -> None:
    """One line a step, so that the test knows where it is."""
    print(step.phase, step.state, step.stack, step.text, flush=True)


if __name__ == "__main__":
    apply(tiny_plan(), Path(sys.argv[1]), tell, backend=BACKEND, actor=ACTOR, rules=RULES, steps=Seen(slow=float(sys.argv[2])).product())
