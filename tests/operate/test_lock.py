"""The lock of a deployment's folder."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from inferform.errors import StateError
from inferform.operate.lock import hold

HOLD = (
    "import sys, time\nfrom pathlib import Path\nfrom inferform.operate.lock import hold\n"
    "with hold(Path(sys.argv[1]), 'apply', '2026-12-01T08:00:00Z'):\n    print('held', flush=True)\n    time.sleep(60)\n"
)


def test_lock_names_its_holder_and_is_free_afterwards(tmp_path: Path) -> None:
    """A second command is refused with who holds the lock; afterwards it is free."""
    with hold(tmp_path / "lock", "plan", "2026-12-01T08:00:00Z"):
        assert {"command": "plan", "host": socket.gethostname(), "pid": os.getpid(), "since": "2026-12-01T08:00:00Z"} == json.loads(
            (tmp_path / "lock").read_text()
        )
        with (
            pytest.raises(StateError, match=rf"inferform plan \(process {os.getpid()} on {socket.gethostname()}, since 2026-12-01T08:00:00Z\) is at work"),
            hold(tmp_path / "lock", "apply", "now"),
        ):
            raise AssertionError("held twice")
    with hold(tmp_path / "lock", "apply", "now"):
        assert "apply" in (tmp_path / "lock").read_text()


def test_lock_of_a_dead_process_is_free(tmp_path: Path) -> None:
    """A holder that was killed leaves its name in the file and no lock."""
    child = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path / "lock")], stdout=subprocess.PIPE, text=True)
    assert child.stdout
    assert "held\n" == child.stdout.readline()
    with pytest.raises(StateError, match=rf"process {child.pid}"), hold(tmp_path / "lock", "plan", "now"):
        raise AssertionError("held twice")
    child.kill()
    child.wait()
    child.stdout.close()
    assert str(child.pid) in (tmp_path / "lock").read_text()
    with hold(tmp_path / "lock", "plan", "now"):
        assert str(os.getpid()) in (tmp_path / "lock").read_text()
