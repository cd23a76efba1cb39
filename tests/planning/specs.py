"""Small deployment specs for tests of the planner."""

from __future__ import annotations

from typing import Any

from inferform.plan import DeploymentPlan
from inferform.planner import size
from inferform.spec import DeploymentSpec

SMALL, LARGE = "meta-llama/Meta-Llama-3.1-8B", "meta-llama/Llama-3.3-70B-Instruct"


def merged(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """`changes` merged into `base` by key."""
    out = dict(base)
    for key, value in changes.items():
        out[key] = merged(out[key], value) if isinstance(value, dict) and isinstance(out.get(key), dict) else value
    return out


def model(source: str = SMALL, **changes: Any) -> dict[str, Any]:
    """A chat model with a modest load, as plain data."""
    base: dict[str, Any] = {
        "source": source, "hf_token_secret": {"name": "hf-token"}, "max_model_len": 8192,
        "workload": {"peak_rps": 2, "input_tokens": {"mean": 800, "p95": 2000}, "output_tokens": {"mean": 200, "p95": 500}},
        "slo": {"ttft_p95": "1.5s", "tpot_p95": "80ms"},
    }  # fmt: skip
    return merged(base, changes)


def spec(models: dict[str, Any] | None = None, **changes: Any) -> DeploymentSpec:
    """A deployment in us-east-1; one chat model unless others are given."""
    base: dict[str, Any] = {"name": "demo", "tenant": "acme", "cloud": {"provider": "aws", "region": "us-east-1"}, "models": models or {"chat": model()}}
    return DeploymentSpec.model_validate(merged(base, changes))


def plan(models: dict[str, Any] | None = None, **changes: Any) -> DeploymentPlan:
    """The plan of such a deployment."""
    return size(spec(models, **changes))
