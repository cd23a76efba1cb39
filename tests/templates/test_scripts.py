"""The model scripts, run for real: a fake `aws` that behaves (it copies from a folder, and records), and a real HTTP hub."""

from __future__ import annotations

import hashlib
import http.server
import json
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from importlib.resources import files

import pytest

from tests.templates.places import CONTENTS, Place


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="shellcheck is not installed")
def test_scripts_are_clean() -> None:
    """shellcheck finds nothing, and no script holds a template expression: values come through the environment alone."""
    for script in ("prefetch", "import"):
        text = files("inferform.templates").joinpath(f"scripts/{script}.sh.j2").read_text()
        assert not [mark for mark in ("{{", "{%", "{#") if mark in text]
        done = subprocess.run(["shellcheck", "-s", "bash", "-"], input=text, text=True, capture_output=True, check=False)
        assert "" == done.stdout


def test_scripts_run_on_the_bash_of_their_image() -> None:
    """bash 4.2 takes an empty array for unset, so arrays that may be empty are expanded with a guard, and newer features are not used."""
    for script in ("prefetch", "import"):
        text = files("inferform.templates").joinpath(f"scripts/{script}.sh.j2").read_text()
        assert '"${auth[@]}"' not in text.replace('${auth[@]+"${auth[@]}"}', "")
        assert '"${workers[@]}"' not in text.replace('${workers[@]+"${workers[@]}"}', "").replace('for process in "${workers[@]}"; do wait', "")
        assert not [word for word in ("wait -n", "mapfile -d", "declare -n", "${@Q}", "EPOCHSECONDS") if word in text]


def test_a_first_pod_fills_the_cache_and_a_second_copies_nothing(place: Place) -> None:
    """The first pod of a node copies every file once; the next finds them on the disk."""
    place.fill(CONTENTS)
    first = place.run("pod-a")
    assert 0 == first.returncode, first.stderr
    assert CONTENTS == place.weights("pod-a")
    assert 4 == len(place.fetched())
    assert 0 == place.run("pod-b").returncode
    assert CONTENTS == place.weights("pod-b")
    assert 4 == len(place.fetched())


def test_large_files_can_be_left_out(place: Place) -> None:
    """A frontend that reads only the tokenizer fetches the files of up to 1000 bytes, and no weights."""
    place.fill(CONTENTS)
    ran = place.run("frontend", MOST_BYTES="1000")
    assert 0 == ran.returncode, ran.stderr
    assert {"config.json", "sub dir/tokenizer.json"} == set(place.weights("frontend"))
    assert ["config.json", "tokenizer.json"] == sorted(place.fetched())


def test_two_pods_at_once_copy_each_file_once(place: Place) -> None:
    """Two pods that start together share the work through the lock: each file comes over the network once."""
    place.fill(CONTENTS)
    pods = [place.start(f"pod-{i}", SLOW="0.5") for i in range(2)]
    assert [0, 0] == [pod.wait(timeout=60) for pod in pods]
    assert sorted(path.rsplit("/", 1)[-1] for path in CONTENTS) == sorted(place.fetched())
    assert CONTENTS == place.weights("pod-0") == place.weights("pod-1")
    assert not list(place.cache.rglob("*.part.*"))


def test_a_killed_pod_leaves_finished_files_and_the_next_goes_on(place: Place) -> None:
    """After SIGKILL in the middle of the second file, the next pod takes the stale lock over and copies only what is missing."""
    place.fill(CONTENTS)
    pod = place.start("pod-a", SLOW="30", JOBS="1")
    until = time.monotonic() + 20
    while not (place.cache.exists() and list(place.cache.rglob("model-1.safetensors.part.*"))):
        assert time.monotonic() < until
        time.sleep(0.05)
    os.killpg(pod.pid, signal.SIGKILL)
    pod.communicate()
    assert not [p for p in place.cache.rglob("model-1.safetensors") if p.is_file() and ".done" not in p.parts]
    before = place.fetched()
    done = place.run("pod-b")
    assert 0 == done.returncode, done.stderr
    assert "took over from a pod that is gone" in done.stderr
    assert CONTENTS == place.weights("pod-b")
    assert "config.json" in before
    assert "config.json" not in place.fetched()[len(before) :]
    assert not list(place.cache.rglob("*.part.*"))


def test_a_terminated_pod_frees_the_lock_at_once(place: Place) -> None:
    """SIGTERM removes the lock, so that the next pod need not wait for it to go stale."""
    place.fill(CONTENTS)
    pod = place.start("pod-a", SLOW="30", JOBS="1", STALE_S="600")
    until = time.monotonic() + 20
    while not (place.cache / ".lock").exists():
        assert time.monotonic() < until
        time.sleep(0.05)
    time.sleep(0.3)
    pod.terminate()
    assert 143 == pod.wait(timeout=20)
    assert not (place.cache / ".lock").exists()
    os.killpg(pod.pid, signal.SIGKILL)
    assert 0 == place.run("pod-b", STALE_S="600").returncode


def test_a_corrupted_file_is_copied_again(place: Place) -> None:
    """A file that changed on the disk fails its checksum and is replaced; the others stay."""
    place.fill(CONTENTS)
    assert 0 == place.run("pod-a").returncode
    victim = next(p for p in place.cache.rglob("model-2.safetensors") if ".done" not in p.parts)
    victim.write_bytes(b"x" * 5000)
    os.utime(victim, (1, 1))
    before = len(place.fetched())
    assert 0 == place.run("pod-b").returncode
    assert ["model-2.safetensors"] == place.fetched()[before:]
    assert CONTENTS == place.weights("pod-b")


def test_a_touched_but_whole_file_is_kept(place: Place) -> None:
    """A file whose time changed but whose checksum still matches is not copied again."""
    place.fill(CONTENTS)
    assert 0 == place.run("pod-a").returncode
    os.utime(next(p for p in place.cache.rglob("model-2.safetensors") if ".done" not in p.parts), (1, 1))
    before = len(place.fetched())
    assert 0 == place.run("pod-b").returncode
    assert [] == place.fetched()[before:]


def test_a_damaged_store_is_refused(place: Place) -> None:
    """A file that never matches its checksum fails the pod, and no link is made."""
    place.fill(CONTENTS)
    (place.store / "c1/model-1.safetensors").write_bytes(b"wrong")
    done = place.run("pod-a")
    assert 1 == done.returncode
    assert "model-1.safetensors does not arrive whole" in done.stderr
    assert not (place.root / "pod-a/weights").exists()


def test_a_new_revision_stands_beside_the_old(place: Place) -> None:
    """A second manifest gives a second folder, so that pods of the old one keep their files."""
    place.fill({"config.json": b"1"})
    assert 0 == place.run("pod-a").returncode
    place.fill({"config.json": b"2"}, prefix="c2")
    assert 0 == place.run("pod-b").returncode
    assert ({"config.json": b"1"}, {"config.json": b"2"}) == (place.weights("pod-a"), place.weights("pod-b"))


@pytest.mark.parametrize("path", ["../../evil", "/etc/evil", "a/../../evil"])
def test_a_manifest_cannot_leave_the_cache(place: Place, path: str) -> None:
    """A path that points outside the model is refused before anything is copied."""
    place.fill({"config.json": b"{}"})
    with (place.store / "MANIFEST").open("a") as manifest:
        manifest.write(f"{'0' * 64} 1 {path}\n")
    done = place.run("pod-a")
    assert 1 == done.returncode
    assert "names a path outside the model" in done.stderr
    assert [] == place.fetched()


def test_an_empty_store_is_waited_for(place: Place) -> None:
    """A pod that comes before the import waits for the manifest, and says what is missing when it does not come."""
    done = place.run("pod-a", WAIT_S="1")
    assert 1 == done.returncode
    assert "has the import job run?" in done.stderr


class Hub(http.server.BaseHTTPRequestHandler):
    """A model hub that gives out files to whoever brings the token, and checksums with large ones."""

    contents: dict[str, bytes] = {}  # noqa: RUF012
    asked: list[str] = []  # noqa: RUF012
    broken: str = ""

    def do_GET(self) -> None:
        self.asked.append(self.path)
        if self.headers.get("Authorization") != "Bearer secret-token":
            self.send_error(401)
            return
        if self.path == "/api/models/org/llama/revision/main":
            body = json.dumps({"sha": "a" * 40, "siblings": [{"rfilename": name} for name in self.contents]}).encode()
            self.answer(body)
            return
        name = self.path.removeprefix(f"/org/llama/resolve/{'a' * 40}/")
        content = self.contents[name]
        linked = hashlib.sha256(content).hexdigest() if name.endswith(".safetensors") else "etag"
        self.answer(content[:-1] if name == self.broken else content, linked)

    def answer(self, body: bytes, linked: str = "") -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        if linked:
            self.send_header("X-Linked-Etag", f'"{linked}"')
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Silence."""


@pytest.fixture
def hub() -> Iterator[tuple[str, type[Hub]]]:
    kind = type("ThisHub", (Hub,), {"contents": {}, "asked": [], "broken": ""})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), kind)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", kind
    server.shutdown()
    server.server_close()


def importing(place: Place, address: str, **environment: str) -> subprocess.CompletedProcess[str]:
    values = {"MODEL": "org/llama", "HUB": address, "WORK": str(place.root / "work"), "HF_TOKEN": "secret-token", **environment}
    return place.run("job", "import", **values)


REPOSITORY = {
    "config.json": b"{}", "model.safetensors": b"w" * 3000, "pytorch_model.bin": b"old", "README.md": b"#", ".gitattributes": b"", "original/x.pth": b"o", "tokenizer.json": b"[]",
}  # fmt: skip


def test_an_import_fills_the_store_that_prefetch_reads(place: Place, hub: tuple[str, type[Hub]]) -> None:
    """What the import stores is what a pod loads: weights and configuration, without older formats and pictures."""
    address, kind = hub
    kind.contents = dict(REPOSITORY)
    done = importing(place, address)
    assert 0 == done.returncode, done.stderr
    assert 0 == place.run("pod-a").returncode
    assert {name: REPOSITORY[name] for name in ("config.json", "model.safetensors", "tokenizer.json")} == place.weights("pod-a")
    assert "secret-token" not in done.stdout + done.stderr


def test_a_second_import_changes_nothing(place: Place, hub: tuple[str, type[Hub]]) -> None:
    """A store that holds the model is left alone: the hub is not even asked."""
    address, kind = hub
    kind.contents = dict(REPOSITORY)
    assert 0 == importing(place, address).returncode
    asked = len(kind.asked)
    assert 0 == importing(place, address).returncode
    assert asked == len(kind.asked)


def test_an_interrupted_import_goes_on_after_the_last_file(place: Place, hub: tuple[str, type[Hub]]) -> None:
    """A damaged download stops the import before the manifest; the next run keeps what arrived and finishes."""
    address, kind = hub
    kind.contents = dict(REPOSITORY)
    kind.broken = "model.safetensors"
    done = importing(place, address)
    assert 1 == done.returncode
    assert "model.safetensors arrived damaged" in done.stderr
    assert not (place.store / "MANIFEST").exists()
    kind.broken = ""
    kind.asked.clear()
    assert 0 == importing(place, address).returncode
    assert not [path for path in kind.asked if path.endswith("/config.json")]
    assert 0 == place.run("pod-a").returncode


def test_fc34_a_gated_model_without_a_token_says_so(place: Place, hub: tuple[str, type[Hub]]) -> None:
    """Without the token the hub refuses, the job fails and names the likely cause; nothing is stored."""
    address, kind = hub
    kind.contents = dict(REPOSITORY)
    done = place.run("job", "import", MODEL="org/llama", HUB=address, WORK=str(place.root / "work"))
    assert 1 == done.returncode
    assert "is it gated, and the token allowed?" in done.stderr
    assert not place.store.exists()
