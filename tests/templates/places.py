"""A store, a node and pods that start on it, for tests that run the model scripts for real."""

from __future__ import annotations

import hashlib
import subprocess
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

# `aws s3 cp SOURCE TARGET`: s3://bucket/key is a file below $FAKE_S3; every call is noted; SLOW delays large objects.
FAKE_AWS = """#!/bin/bash
set -euo pipefail
[ "$1 $2" = "s3 cp" ] || exit 2
shift 2
[ "$1" = "--only-show-errors" ] && shift
printf '%s\\t%s\\n' "$1" "$2" >> "$FAKE_S3/calls"
local_path() { case "$1" in s3://*) printf '%s' "$FAKE_S3/${1#s3://}" ;; *) printf '%s' "$1" ;; esac; }
from="$(local_path "$1")"; to="$(local_path "$2")"
[ -f "$from" ] || { echo "404 Not Found" >&2; exit 1; }
mkdir -p "$(dirname "$to")"
case "$1" in *.safetensors) head -c 100 "$from" > "$to"; sleep "${SLOW:-0}" ;; esac
cp "$from" "$to.tmp.$$" && mv "$to.tmp.$$" "$to"
"""


@dataclass
class Place:
    """A store, a node and pods that start on it."""

    root: Path
    environment: dict[str, str]
    sums: dict[str, str] = field(default_factory=dict)

    @property
    def cache(self) -> Path:
        return self.root / "node/cache/ns/llama"

    @property
    def store(self) -> Path:
        return self.root / "s3/models/models/llama"

    def fill(self, contents: dict[str, bytes], prefix: str = "c1") -> None:
        """Puts files and their manifest into the store."""
        lines = ["# inferform model manifest 1", "# model org/llama", f"# prefix {prefix}"]
        for path, content in contents.items():
            target = self.store / prefix / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
            self.sums[path] = hashlib.sha256(content).hexdigest()
            lines.append(f"{self.sums[path]} {len(content)} {path}")
        (self.store / "MANIFEST").write_text("\n".join(lines) + "\n")

    def start(self, pod: str, script: str = "prefetch", **environment: str) -> subprocess.Popen[str]:
        """A pod of the node running the script, in a process group of its own."""
        link = self.root / pod / "weights"
        link.parent.mkdir(exist_ok=True)
        path = self.root / f"{script}.sh"
        # A shell reads its script while it runs, so a file that another pod runs is left alone.
        if not path.exists():
            path.write_text(files("inferform.templates").joinpath(f"scripts/{script}.sh.j2").read_text())
        values = {**self.environment, "CACHE": str(self.cache), "LINK": str(link), "HOSTNAME": pod, **environment}
        return subprocess.Popen(["bash", str(path)], env=values, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)

    def run(self, pod: str, script: str = "prefetch", **environment: str) -> subprocess.CompletedProcess[str]:
        process = self.start(pod, script, **environment)
        out, err = process.communicate(timeout=60)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def fetched(self) -> list[str]:
        """Files copied from the store so far, manifests aside."""
        calls = self.root / "s3/calls"
        sources = [line.split("\t")[0] for line in calls.read_text().splitlines()] if calls.exists() else []
        return [s.rsplit("/", 1)[-1] for s in sources if s.startswith("s3://") and not s.endswith("/MANIFEST")]

    def weights(self, pod: str) -> dict[str, bytes]:
        """What the engine of a pod would load."""
        folder = self.root / pod / "weights"
        return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


CONTENTS = {"config.json": b"{}", "model-1.safetensors": b"a" * 5000, "model-2.safetensors": b"b" * 5000, "sub dir/tokenizer.json": b"[]"}
