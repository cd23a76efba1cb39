"""One command at a time in a deployment's folder. The kernel drops the lock when its holder dies, so none is ever stale."""

from __future__ import annotations

import fcntl
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from inferform.errors import StateError


@contextmanager
def hold(path: Path, command: str, since: str) -> Iterator[None]:
    """Hold the lock for a block. `command` and `since` tell another one what holds it and from when.

    Raises: StateError naming the holder's command, process, host and time.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as err:
            raise StateError(f"{_holder(path)} is at work in {path.parent}; wait until it ends") from err
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps({"command": command, "host": socket.gethostname(), "pid": os.getpid(), "since": since}).encode(), 0)
        yield
        os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)


def _holder(path: Path) -> str:
    try:
        held = json.loads(path.read_text(encoding="utf-8"))
        return f"inferform {held['command']} (process {held['pid']} on {held['host']}, since {held['since']})"
    except (OSError, ValueError, KeyError, TypeError):
        return "another inferform"
