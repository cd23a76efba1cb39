"""JSON that earlier commands or terraform have written, as input of a check."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inferform.errors import InputError, Problem

if TYPE_CHECKING:
    from inferform.schemas_custom import CustomKinds

_MOST_BYTES = 256 * 2**20


def stack_configs(folder: Path) -> dict[str, dict[str, Any]]:
    """Stack -> configuration, from the tree that `inferform synth` wrote."""
    files = sorted(folder.glob("stacks/*/cdk.tf.json"))
    if not files:
        raise InputError(
            Problem("holds no stacks/STACK/cdk.tf.json", field="--stacks", value=str(folder), fix=f"write them with inferform synth --out {folder}")
        )
    return {path.parent.name: _object(path) for path in files}


def terraform_plans(folder: Path) -> dict[str, dict[str, Any]]:
    """Stack -> terraform plan, from STACK.json files that `terraform show -json` wrote."""
    files = sorted(folder.glob("*.json"))
    if not files:
        raise InputError(
            Problem("holds no STACK.json", field="--terraform-plan", value=str(folder), fix="write each with terraform show -json PLAN > DIR/STACK.json")
        )
    return {path.stem: _object(path) for path in files}


def custom_kinds(source: str) -> CustomKinds:
    """Schemas of custom kinds: those that the cluster of the current kubectl context serves, or those in a folder."""
    from inferform.schemas_custom import from_cluster, from_folder

    if source == "cluster":
        return from_cluster(os.environ)
    folder = Path(source)
    if not folder.is_dir():
        raise InputError(Problem("is no folder", field="--schemas", value=source[:80], fix="name a folder of definitions, or write cluster"))
    return from_folder(folder)


def _object(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise InputError(Problem("is too large to judge", file=str(path)))
        data = json.loads(path.read_bytes())
    except OSError as err:
        raise InputError(Problem(f"cannot be read: {err.strerror or err}", file=str(path))) from err
    except (ValueError, RecursionError) as err:
        # FC-36: what terraform prints beside its JSON (a warning, a refresh line) is named instead of parsed away.
        raise InputError(Problem(f"is not JSON: {err}", file=str(path), fix="keep the error stream of terraform out of it")) from err
    if not isinstance(data, dict):
        raise InputError(Problem("wants a JSON object", file=str(path)))
    return data
