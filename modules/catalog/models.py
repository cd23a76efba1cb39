"""Look-ups of models: the catalogue by name, anything else by the path of its config.json."""

from __future__ import annotations

import json
import os
from functools import cache, lru_cache
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

from inferform.catalog.huggingface import model_from_config
from inferform.catalog.types import Model
from inferform.errors import InputError, Nearest, Problem

_DATA = resources.files("inferform.catalog.data").joinpath("models")
_MOST_BYTES = 20_000_000


@cache
def _files() -> dict[str, str]:
    """Model id -> file name; the folder listing is the index."""
    names = (entry.name for entry in _DATA.iterdir() if entry.name.endswith(".json") and entry.name != "aliases.json")
    return {name.removesuffix(".json").replace("--", "/"): name for name in sorted(names)}


@cache
def _aliases() -> dict[str, dict[str, Any]]:
    """Names of tuned twins -> the catalogued model with the same shapes, and the config keys that differ."""
    table: dict[str, dict[str, Any]] = json.loads(_DATA.joinpath("aliases.json").read_text(encoding="utf-8"))
    return table


@cache
def _spellings() -> dict[str, tuple[str, ...]]:
    """Folded spelling, with and without owner -> ids."""
    table: dict[str, list[str]] = {}
    for known in (*_files(), *_aliases()):
        for spelling in {known.lower(), known.split("/")[-1].lower()}:
            table.setdefault(spelling, []).append(known)
    return {spelling: tuple(ids) for spelling, ids in table.items()}


def model_ids() -> tuple[str, ...]:
    """Names that `find_model` knows, sorted: catalogued models and their tuned twins."""
    return tuple(sorted((*_files(), *_aliases())))


@lru_cache(maxsize=512)
def catalogued(id: str) -> Model:
    """The model of one exact catalogue id."""
    alias = _aliases().get(id)
    row = json.loads(_DATA.joinpath(_files()[alias["base"] if alias else id]).read_text(encoding="utf-8"))
    config = {**row["config"], **(alias or {}).get("differs", {})}
    source = row["source"] + (f"; shapes of {alias['base']}" if alias else "")
    return model_from_config(config, id=id, file=f"{id} config.json", source=source, quantization=row.get("quantization"), gated=row["gated"])


def find_model(source: str) -> Model:
    """The model meant by a catalogue id (any case, owner optional when unambiguous) or by a config.json.

    A path may name the file, the folder that holds it, or be a file:// address; `hf_quant_config.json` beside it counts too.
    Raises: InputError listing the nearest names, or naming the file and every key that is missing or wrong.
    """
    found = _spellings().get(source.strip().lower(), ())
    if len(found) == 1:
        return catalogued(found[0])
    if found:
        exact = next((id for id in found if id.lower() == source.strip().lower()), None)
        if exact:
            return catalogued(exact)
        raise InputError(
            Problem(
                f'model "{source}" is the name of several models', field="source", value=source, legal=found, fix=f"write the owner too, such as {found[0]}"
            )
        )
    path = _config_path(source)
    if path is not None:
        return _from_path(path)
    near = Nearest(source, tuple(_spellings())).suggestions()
    names = tuple(dict.fromkeys(id for spelling in near for id in _spellings()[spelling]))[:3]
    fix = f"did you mean {names[0]}? " if names else ""
    raise InputError(
        Problem(
            f'model "{source[:200]}" is neither in the catalogue nor the path of a config.json',
            field="source", value=source[:200], legal=names, fix=fix + "any other model works by the path of its config.json",
        )
    )  # fmt: skip


def known_model(name: str) -> Model | None:
    """The catalogue's model of that name; None where the catalogue has none or several. Never looks for a file."""
    found = _spellings().get(name.strip().lower(), ())
    exact = [id for id in found if id.lower() == name.strip().lower()] or list(found)
    return catalogued(exact[0]) if len(exact) == 1 else None


def _config_path(source: str) -> Path | None:
    """The config file that a source names; None when it names none."""
    text = source
    if source.startswith("file://"):
        text = unquote(urlparse(source).path)
    if not text or "\0" in text or len(text) > 4096:
        return None
    path = Path(text)
    try:
        if path.is_dir():
            path = path / "config.json"
        if path.is_file():
            return path
    except OSError:
        return None
    if text.endswith(".json") or source.startswith("file://"):
        raise InputError(
            Problem("there is no such file", field="source", file=text, fix="give the path of a Hugging Face config.json or of the folder that holds it")
        )
    return None


def _from_path(path: Path) -> Model:
    beside = path.with_name("hf_quant_config.json")
    if path.name != "config.json":
        beside = path.with_name(path.name.removesuffix(".json") + ".hf_quant_config.json")
    return _read(str(path), _stamp(path), str(beside) if beside.is_file() else None, _stamp(beside) if beside.is_file() else None)


def _stamp(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_mtime_ns, status.st_size


@lru_cache(maxsize=512)
def _read(path: str, stamp: tuple[int, int], beside: str | None, beside_stamp: tuple[int, int] | None) -> Model:
    """The model of one config file; the stamps make a changed file a new key."""
    values = _object(path, stamp[1])
    quantization = _object(beside, beside_stamp[1]) if beside is not None and beside_stamp is not None else None
    name = Path(path)
    id = name.resolve().parent.name if name.name == "config.json" else name.name.removesuffix(".json").replace("--", "/")
    return model_from_config(values, id=id or "config", file=path, source=path, quantization=quantization)


def _object(path: str, size: int) -> dict[str, Any]:
    if size > _MOST_BYTES:
        raise InputError(Problem(f"is {size} bytes long; a config.json has at most {_MOST_BYTES}", file=path))
    try:
        values = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as err:
        raise InputError(Problem(f"cannot be read: {os.strerror(err.errno or 0)}", file=path)) from err
    except RecursionError as err:
        raise InputError(Problem("is nested too deeply for a config.json", file=path)) from err
    except json.JSONDecodeError as err:
        raise InputError(Problem(f"is not JSON: {err.msg}", file=path, line=err.lineno)) from err
    except ValueError as err:
        raise InputError(Problem(f"is not UTF-8 JSON text: {str(err)[:80]}", file=path)) from err
    if not isinstance(values, dict):
        raise InputError(Problem("holds no JSON object; a config.json is one", file=path))
    return values
