"""Arguments and options that several commands share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from inferform.errors import InputError

Spec = Annotated[str, typer.Argument(metavar="SPEC", help="Deployment spec; - reads standard input.", show_default=False)]
Env = Annotated[str | None, typer.Option("--env", "-e", metavar="NAME", help="Environment whose overlay is merged in.", show_default=False)]
OutFolder = Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Folder to write; what an earlier run left in it is replaced.", show_default=False)]

Model = Annotated[str | None, typer.Option("--model", "-m", metavar="NAME|PATH", help="Catalogue name, or the path of a config.json.", show_default=False)]
Gpu = Annotated[str | None, typer.Option("--gpu", "-g", metavar="NAME", help="GPU name, such as H100.", show_default=False)]
GpuMemory = Annotated[int | None, typer.Option(help="What the driver reports; needed for a GPU that is not in the catalogue.", show_default=False)]
Weights = Annotated[str | None, typer.Option("--weights", help="Weight precision, such as bf16, fp8 or awq.", show_default="the checkpoint's")]
KvCache = Annotated[str | None, typer.Option("--kv-cache", help="KV cache precision, such as auto or fp8.", show_default="auto")]
Engine = Annotated[str | None, typer.Option("--engine", help="Serving engine: vllm, tensorrt-llm or sglang.", show_default="vllm")]
EngineVersion = Annotated[str | None, typer.Option("--engine-version", help="Engine version.", show_default="the one that a spec without a version gets")]
Batch = Annotated[str | None, typer.Option("--batch", metavar="FILE|-", help="Answer JSON lines instead: one request a line.", show_default=False)]

Calibration = Annotated[
    Path | None, typer.Option("--calibration", metavar="FILE", help="Corrections by own runs, from inferform calibrate.", show_default=False)
]

WorkFolder = Annotated[
    Path | None,
    typer.Option("--out", "-o", metavar="DIR", help="Folder of this deployment and environment.", show_default=".inferform/NAME/ENV"),
]
Sandbox = Annotated[str | None, typer.Option("--sandbox", metavar="URL", help="Work against the double of AWS at this address.", show_default=False)]
Waivers = Annotated[Path | None, typer.Option("--waivers", metavar="FILE", help="Waivers with owner, reason and expiry.", show_default=False)]

Strict = Annotated[bool, typer.Option("--strict", help="What is only known after apply denies too.")]
Policies = Annotated[list[Path] | None, typer.Option("--policy", metavar="DIR", help="Folder of own rules; may be repeated.", show_default=False)]


def with_version(asked: dict[str, Any]) -> dict[str, Any]:
    """The options with the engine version that a spec without one gets; as they are where the engine is not known."""
    from inferform.engines import find_engine

    try:
        return {"engine_version": find_engine(asked.get("engine", "vllm")).default_version, **asked}
    except InputError:
        return asked


@contextmanager
def as_options(**names: str) -> Iterator[None]:
    """Names the fields of InputErrors raised inside as options: `gpu_memory_bytes` becomes --gpu-memory-bytes.

    `names` are fields that are called otherwise on the command line. A problem of a file keeps the name that the file has for it.
    """
    try:
        yield
    except InputError as err:
        raise InputError(p if p.file or not p.field else replace(p, field=f"--{names.get(p.field, p.field).replace('_', '-')}") for p in err.problems) from err
