"""How a long run tells what it is doing; the caller draws it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Phase = Literal["size", "render", "synth", "check", "init", "plan", "apply", "settle", "drift", "destroy"]


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that happened. `done` of `total` counts resources of the stack; total 0 means not known."""

    phase: Phase
    state: Literal["begin", "progress", "end"]
    stack: str = ""
    address: str = ""
    action: str = ""
    done: int = 0
    total: int = 0
    text: str = ""


Progress = Callable[[Step], None]


def silent(step: Step) -> None:
    """Show nothing."""
