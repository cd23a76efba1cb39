"""Rego engines that the shipped rules are run on: ours, Microsoft's Regorus, and OPA itself where it is installed.

`regorus` comes as a development dependency. OPA is found as a program (`opa`) or as the package `opa_bindings`, which
holds OPA's own Go engine; neither is needed.
"""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from inferform.policy import evaluate
from inferform.policy_rules import Module

Engine = Callable[[list[Module], Any, Any, str], Any]


def ours(modules: list[Module], data: Any, document: Any, query: str) -> Any:
    return evaluate(modules, document, query, data=data)


def regorus(modules: list[Module], data: Any, document: Any, query: str) -> Any:
    import regorus

    engine = regorus.Engine()
    for module in modules:
        engine.add_policy(module.file, spelled_out(module.text))
    engine.add_data_json(json.dumps(data or {}))
    engine.set_input_json(json.dumps(document))
    result = json.loads(engine.eval_query_as_json(query))["result"]
    return result[0]["expressions"][0]["value"] if result else None


def spelled_out(text: str) -> str:
    """Rego with every imported name written in full: Regorus does not find functions through an import."""
    for path, alias in re.findall(r"^import (data\.[\w.]+?)(?: as (\w+))?$", text, re.MULTILINE):
        text = re.sub(rf"(?<![\w.]){alias or path.rpartition('.')[2]}\.(?=\w+\()", f"{path}.", text)
    return text


def opa_library(modules: list[Module], data: Any, document: Any, query: str) -> Any:
    from opa_bindings.engine import OpaEngine

    engine = OpaEngine()
    for module in modules:
        engine.add_policy(module.file, module.text)
    engine.add_data(data or {})
    rows = engine.eval_query(f"x := {query}", document)
    return rows[0]["x"] if rows else None


def opa_program(modules: list[Module], data: Any, document: Any, query: str) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for index, module in enumerate(modules):
            (root / f"m{index}.rego").write_text(module.text)
        (root / "data.json").write_text(json.dumps(data or {}))
        (root / "input.json").write_text(json.dumps(document))
        command = ["opa", "eval", "--data", str(root), "--input", str(root / "input.json"), "--format", "json", query]
        (root / "input.json").rename(root.with_suffix(".input.json"))
        command[command.index(str(root / "input.json"))] = str(root.with_suffix(".input.json"))
        rows = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout).get("result", [])
        return rows[0]["expressions"][0]["value"] if rows else None


def available() -> dict[str, Engine]:
    """Engines by name; ours is always there."""
    found: dict[str, Engine] = {"regopy": ours}
    if importlib.util.find_spec("regorus"):
        found["regorus"] = regorus
    if importlib.util.find_spec("opa_bindings"):
        found["opa"] = opa_library
    elif shutil.which("opa"):
        found["opa"] = opa_program
    return found
