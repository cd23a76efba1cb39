"""The append-only record of who planned, applied and destroyed what."""

from __future__ import annotations

import fcntl
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from inferform.operate.folder import canonical


@dataclass(frozen=True)
class Actor:
    """Who acts, and when (ISO 8601, UTC); the caller knows both."""

    who: str
    when: str


def append(path: Path, actor: Actor, action: str, **facts: Any) -> None:
    """Add one line: the actor, the action and its facts. Lines are never changed."""
    line = canonical({**asdict(actor), "action": action, **facts}) + "\n"
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        os.write(descriptor, line.encode())
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
