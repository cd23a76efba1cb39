"""The shipped rules, their samples and their tests, as Rego engines take them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from inferform.policy_rules import Module, shipped

ROOT = Path(__file__).resolve().parents[1] / "policies"
RULES = tuple(module for module in shipped() if module.rule_id)
LIBRARIES = tuple(module for module in shipped() if not module.rule_id)


def folder(rule: Module) -> Path:
    """Where a rule's files stand."""
    return ROOT / Path(rule.file).parent.relative_to("policies")


def sample(rule: Module, name: str) -> dict[str, Any]:
    """The document `allowed` or `disallowed` of a rule."""
    return dict(json.loads((folder(rule) / f"{name}.json").read_text(encoding="utf-8"))[name])


def samples(rule: Module) -> dict[str, Any]:
    """Both samples where `opa test policies` finds them: below the path of their folder."""
    both = {name: sample(rule, name) for name in ("allowed", "disallowed")}
    return {folder(rule).parent.name: {rule.rule_id: both}}


def own_tests(rule: Module) -> Module:
    """The rule's own test."""
    path = folder(rule) / "rule_test.rego"
    return Module(f"{Path(rule.file).parent}/rule_test.rego", path.read_text(encoding="utf-8"))


def ordered(value: Any) -> Any:
    """JSON with every list sorted: engines give sets in their own order."""
    if isinstance(value, dict):
        return {key: ordered(item) for key, item in value.items()}
    if isinstance(value, list):
        return sorted((ordered(item) for item in value), key=lambda item: json.dumps(item, sort_keys=True))
    return value
