"""The script that keeps a KV tier's files below their size, run for real by the shells at hand."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from importlib.resources import files
from pathlib import Path

import pytest

SHELLS = [["sh"], *([["busybox", "sh"]] if shutil.which("busybox") else [])]
KIB = 1024


def text() -> str:
    return files("inferform.templates").joinpath("scripts/kv-trim.sh.j2").read_text()


def fill(folder: Path, count: int) -> list[Path]:
    """So many files of 100 KiB, each a second younger than the one before."""
    made = []
    for number in range(count):
        path = folder / "model_abc_r0" / f"{number:03x}" / f"block {number}.bin"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"k" * 100 * KIB)
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
        made.append(path)
    return made


@pytest.mark.parametrize("shell", SHELLS, ids=lambda words: words[0])
def test_the_oldest_files_go_and_the_rest_stays(shell: list[str], tmp_path: Path) -> None:
    """40 files of 100 KiB against 2 MiB: the oldest go until less than 2 MiB less a twentieth is left; files in the making stay."""
    script, folder = tmp_path / "kv-trim.sh", tmp_path / "kv"
    script.write_text(text())
    made = fill(folder, 40)
    writing = folder / "block_77.tmp"
    writing.write_bytes(b"half")
    process = subprocess.Popen(
        [*shell, str(script)], env={"PATH": os.environ["PATH"], "FOLDER": str(folder), "LIMIT": str(2048 * KIB), "POLL_S": "1"},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        deadline = time.monotonic() + 20
        while made[20].exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(0.3)
        left = [path for path in made if path.exists()]
        assert made[-len(left) :] == left
        used = sum(path.stat().st_blocks * 512 for path in left)
        assert 1600 * KIB < used < 2048 * KIB
        assert writing.exists()
        # A stop must not wait for the pause.
        process.send_signal(signal.SIGTERM)
        started = time.monotonic()
        assert 0 == process.wait(5)
        assert time.monotonic() - started < 1
    finally:
        process.kill()
        out, err = process.communicate()
    assert "" == err
    assert out.startswith("kept ")


@pytest.mark.skipif(shutil.which("busybox") is None, reason="busybox is not installed")
def test_many_files_need_no_list(tmp_path: Path) -> None:
    """10,000 files whose paths take 15 MB, by busybox's tools within 12 MB of address space each: no list, so no end for want of memory.

    All but one were written within 100 seconds, that one years ago: what goes is a few seconds of them, not all that are far younger than it.
    """
    script, tools, folder = tmp_path / "kv-trim.sh", tmp_path / "bin", tmp_path / "kv"
    script.write_text(text())
    tools.mkdir()
    subprocess.run(["busybox", "--install", "-s", str(tools)], check=True)
    deep = folder.joinpath(*(letter * 240 for letter in "abcdef"))
    deep.mkdir(parents=True)
    now = int(time.time())
    for number in range(10_000):
        path = deep / f"{number}.bin"
        path.write_bytes(b"k")
        age = 90_000_000 if number == 0 else 100 - number // 100
        os.utime(path, (now - age, now - age))
    command = f"ulimit -v 12000; exec sh {script}"
    process = subprocess.Popen(
        [str(tools / "sh"), "-c", command], env={"PATH": str(tools), "FOLDER": str(folder), "LIMIT": str(36_000 * KIB), "POLL_S": "60"},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("kept ")
    finally:
        # With the pause, which holds the pipes.
        os.killpg(process.pid, signal.SIGKILL)
        _, err = process.communicate()
    assert "" == err
    left = sorted(int(path.stem) for path in deep.iterdir())
    assert list(range(left[0], 10_000)) == left
    assert 8000 <= len(left) <= 36_000 // 4 * 0.95


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="shellcheck is not installed")
def test_the_script_is_clean() -> None:
    """shellcheck finds nothing in POSIX mode, and no template expression stands in it."""
    assert not [mark for mark in ("{{", "{%", "{#") if mark in text()]
    done = subprocess.run(["shellcheck", "-s", "sh", "-"], input=text(), text=True, capture_output=True, check=False)
    assert "" == done.stdout
