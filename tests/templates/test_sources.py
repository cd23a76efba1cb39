"""Where the prefetch script takes weights from: other nodes before the bucket, or a file system instead of it."""

from __future__ import annotations

import hashlib
import http.server
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.templates.places import CONTENTS, Place


class Peer(http.server.SimpleHTTPRequestHandler):
    """Another node's agent: serves its cache folder and keeps quiet."""

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def peer(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """(cache folder of another node, its address)."""
    folder = tmp_path / "peer"
    folder.mkdir()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), lambda *a: Peer(*a, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield folder, f"127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.skipif(shutil.which("getent") is None, reason="getent is not installed")
def test_weights_come_from_another_node_first(place: Place, peer: tuple[Path, str]) -> None:
    """What a peer has is taken from it, names with blanks too; the manifest and what it lacks come from the store."""
    place.fill(CONTENTS)
    folder, address = peer
    revision = hashlib.sha256((place.store / "MANIFEST").read_bytes()).hexdigest()
    for path in ("model-1.safetensors", "sub dir/tokenizer.json"):
        target = folder / revision / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(CONTENTS[path])
    done = place.run("pod-a", PEERS=address)
    assert 0 == done.returncode, done.stderr
    assert CONTENTS == place.weights("pod-a")
    assert ["config.json", "model-2.safetensors"] == sorted(place.fetched())
    assert 2 == done.stderr.count("from another node")


@pytest.mark.skipif(shutil.which("getent") is None, reason="getent is not installed")
def test_a_peer_that_lies_or_is_gone_costs_nothing_but_time(place: Place, peer: tuple[Path, str]) -> None:
    """A damaged file is thrown away and fetched from the store; an address where nobody answers, or a name that is unknown, is passed over."""
    place.fill(CONTENTS)
    folder, address = peer
    revision = hashlib.sha256((place.store / "MANIFEST").read_bytes()).hexdigest()
    (folder / revision).mkdir()
    (folder / revision / "model-1.safetensors").write_bytes(b"x" * 5000)
    done = place.run("pod-a", PEERS=f"{address} 127.0.0.1:9 no-such-host.invalid:8200")
    assert 0 == done.returncode, done.stderr
    assert CONTENTS == place.weights("pod-a")
    assert sorted(path.rsplit("/", 1)[-1] for path in CONTENTS) == sorted(place.fetched())


def test_a_linked_file_system_is_pointed_at(place: Place) -> None:
    """Nothing is copied: the link leads to the revision's folder once every file is there in its size."""
    place.fill(CONTENTS)
    done = place.run("pod-a", SHARED=str(place.store))
    assert 0 == done.returncode, done.stderr
    assert (CONTENTS, []) == (place.weights("pod-a"), place.fetched())
    assert not place.cache.exists()


def test_a_linked_file_system_is_waited_for(place: Place) -> None:
    """While the manifest or a file's end is missing the pod waits; after its longest wait it says what does not appear."""
    waiting = place.start("pod-a", SHARED=str(place.store))
    time.sleep(0.4)
    place.fill(CONTENTS)
    (place.store / "c1/model-2.safetensors").write_bytes(b"b")
    time.sleep(0.4)
    assert waiting.poll() is None
    (place.store / "c1/model-2.safetensors").write_bytes(CONTENTS["model-2.safetensors"])
    assert 0 == waiting.wait(timeout=20)
    (place.store / "c1/model-2.safetensors").write_bytes(b"b")
    done = place.run("pod-b", SHARED=str(place.store), WAIT_S="1")
    assert (1, True) == (done.returncode, "model-2.safetensors does not appear on the file system in its size" in done.stderr)
