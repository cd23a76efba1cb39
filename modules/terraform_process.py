"""Runs one terraform command as a process of its own, with its answers in files.

Terraform writes to files and not to pipes, in a session of its own: when Inferform is killed, terraform finishes what it
does and keeps its state, and the files tell the next run how far it came.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inferform.errors import ToolFailedError

POLL_S = 0.05
STOP_S = 600.0  # how long terraform may take to stop cleanly after the interrupt
Event = dict[str, Any]


@dataclass(frozen=True)
class Finished:
    """A command that ended: its exit code, and where its answers are."""

    command: str
    code: int
    stdout: Path
    stderr: Path
    interrupted: bool
    timed_out: bool

    def complaint(self) -> str:
        """The last of the error stream, for messages."""
        return self.stderr.read_text(encoding="utf-8", errors="replace").strip()[-2000:]


def process_started(pid: int) -> str | None:
    """When process `pid` of this machine started, as the kernel's own count; None when there is no such process.

    Together with the pid it names one process, even after the number was used again.
    """
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        pass  # somebody else's process: it exists
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return "unknown"  # no /proc on this system; the pid alone has to do
    # A zombie has ended and only waits for its parent. Field 22 of the line is the start; the name (field 2) is cut off.
    return None if fields[0] == "Z" else fields[19]


def running(marker: Path) -> int | None:
    """The pid in `marker` when that very process still runs on this machine."""
    try:
        found = json.loads(marker.read_text(encoding="utf-8"))
        pid, started, host = int(found["pid"]), found["started"], found["host"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return pid if host == socket.gethostname() and started is not None and process_started(pid) == started else None


def run(
    arguments: list[str],
    *,
    folder: Path,
    environ: Mapping[str, str],
    log: Path,
    timeout_s: float,
    on_event: Callable[[Event], None] | None = None,
    marker: Path | None = None,
) -> Finished:
    """Run `arguments` in `folder` until it ends; every JSON line of its output goes to `on_event` as it comes.

    A keyboard interrupt, and the timeout, are passed on once as SIGINT, so that terraform stops cleanly; this then waits for
    it. `log` is the path of the output without suffix (.stdout, .stderr). `marker` names the process while it runs.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    out_path, err_path = log.with_suffix(".stdout"), log.with_suffix(".stderr")
    interrupted = timed_out = False
    with out_path.open("wb") as out, err_path.open("wb") as err, _interruptible():
        process = subprocess.Popen(arguments, cwd=folder, env=dict(environ), stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True)
    if marker:
        named = {"pid": process.pid, "started": process_started(process.pid), "host": socket.gethostname()}
        marker.write_text(json.dumps(named, sort_keys=True), encoding="utf-8")
    deadline, stop_by = time.monotonic() + timeout_s, float("inf")
    with out_path.open("rb") as reader:
        rest = b""
        while True:
            try:
                ended = process.poll() is not None
                rest = _feed(reader.read(), rest, on_event)
                if ended:
                    break
                now = time.monotonic()
                if now > deadline and not (interrupted or timed_out):
                    timed_out, stop_by = True, now + STOP_S
                    process.send_signal(signal.SIGINT)
                if now > stop_by:
                    process.kill()
                time.sleep(POLL_S)
            except KeyboardInterrupt:
                # A second signal would make terraform give up without saving, so only the first is passed on.
                if not interrupted and not timed_out:
                    process.send_signal(signal.SIGINT)
                interrupted = True
    if marker:
        marker.unlink(missing_ok=True)
    return Finished(
        " ".join(Path(a).name if i == 0 else a for i, a in enumerate(arguments[:2])), process.returncode, out_path, err_path, interrupted, timed_out
    )


@contextmanager
def _interruptible() -> Iterator[None]:
    """A process started inside obeys SIGINT, also where the caller was started with it ignored.

    Shells ignore it for what they run in the background, children inherit that, and terraform would then never stop cleanly.
    Only the main thread may change it; elsewhere it stays as it is.
    """
    ignored = signal.getsignal(signal.SIGINT) == signal.SIG_IGN and threading.current_thread() is threading.main_thread()
    if ignored:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        if ignored:
            signal.signal(signal.SIGINT, signal.SIG_IGN)


def _feed(data: bytes, rest: bytes, on_event: Callable[[Event], None] | None) -> bytes:
    """Hand every whole JSON line to `on_event`; gives what is left of an unfinished line."""
    *lines, rest = (rest + data).split(b"\n")
    if on_event:
        for line in lines:
            event = parse_event(line)
            if event is not None:
                on_event(event)
    return rest


def parse_event(line: bytes | str) -> Event | None:
    """One line of terraform's machine-readable output; None for anything else."""
    try:
        event = json.loads(line)
    except ValueError:
        return None
    return event if isinstance(event, dict) and "type" in event else None


def read_events(path: Path) -> list[Event]:
    """Every event of an output file, also of one that was cut off; empty when there is no file."""
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return []
    return [event for line in lines if (event := parse_event(line)) is not None]


def read_json(finished: Finished) -> Any:
    """The JSON document that a command wrote.

    Raises: ToolFailedError when the output does not begin as JSON (FC-36: a warning on standard output, for example).
    """
    text = finished.stdout.read_text(encoding="utf-8", errors="replace")
    if text[:1] not in ("{", "["):
        said = text.strip()[:200] or finished.complaint()[:200] or "nothing"
        raise ToolFailedError(f"{finished.command}: the output is not JSON, it begins with: {said}", text[:2000])
    try:
        return json.loads(text)
    except ValueError as err:
        raise ToolFailedError(f"{finished.command}: the JSON output is broken: {err}", text[:2000]) from err
