"""Starter specs, one a profile: small fleets that validate as written, with the words of `spec.py` as comments."""

from __future__ import annotations

import textwrap
from typing import Any

from inferform.load_fields import part_of

_MODEL = "models.<name>"
_CHAT = {
    "source": "Qwen/Qwen3-8B",
    "max_model_len": 8192,
    "workload": {
        "profile": "interactive",
        "peak_rps": 4,
        "input_tokens": {"mean": 600, "p95": 1500},
        "output_tokens": {"mean": 200, "p95": 500},
        "burst": 2.0,
    },
    "slo": {"ttft_p95": "1.5s", "tpot_p95": "60ms"},
}
_BATCH = {
    "source": "Qwen/Qwen3-32B",
    "max_model_len": 8192,
    "workload": {"profile": "batch", "peak_rps": 4, "input_tokens": {"mean": 2600, "p95": 4000}, "output_tokens": {"mean": 300, "p95": 700}},
}
_AGENT = {
    "source": "Qwen/Qwen3-32B",
    "max_model_len": 32768,
    "prefix_caching": True,
    "workload": {
        "profile": "agentic",
        "peak_rps": 2,
        "input_tokens": {"mean": 9000, "p95": 20000},
        "output_tokens": {"mean": 250, "p95": 700},
        "shared_prefix_tokens": 7000,
        "burst": 1.5,
    },
    "slo": {"ttft_p95": "4s", "tpot_p95": "60ms"},
}
_EMBED = {
    "source": "BAAI/bge-large-en-v1.5",
    "task": "embed",
    "max_model_len": 512,
    "hardware": {"device": "cpu"},
    "workload": {"profile": "interactive", "peak_rps": 10, "input_tokens": {"mean": 120, "p95": 400}},
    "slo": {"ttft_p95": "500ms"},
}

# Profile -> (what it is for, name of the deployment, models).
STARTERS: dict[str, tuple[str, str, dict[str, dict[str, Any]]]] = {
    "interactive": ("chat: people wait for the first token and read along", "chat", {"qwen-8b": _CHAT}),
    "batch": ("batch: nobody waits, throughput per dollar decides", "summaries", {"qwen-32b": _BATCH}),
    "agentic": ("agents: many turns over long shared prefixes", "agents", {"qwen-32b": _AGENT}),
    "mixed": ("several models behind one gateway: embeddings on CPU and chat on GPUs", "assistants", {"bge": _EMBED, "qwen-8b": _CHAT}),
}
_WIDTH = 100


def starter(profile: str) -> str:
    """The starter of a profile as YAML text; every key that is written is explained where it first stands."""
    purpose, name, models = STARTERS[profile]
    document = {
        "apiVersion": "inferform/v1",
        "name": name,
        "tenant": "acme",
        "cloud": {"provider": "aws", "region": "us-east-1"},
        "models": models,
        "environments": {"dev": {}, "prod": {"protected": True}},
    }
    hint = "Check it with `inferform validate`, size it with `inferform size`; editors read what `inferform schema` prints."
    head = [f"# A starter for {purpose}.", *_comment(hint, ""), ""]
    seen: set[tuple[str, str]] = set()
    body = _mapping(document, "", "", seen)
    gated = ["# A gated model also needs the name of the Secret that holds the hub's token:", "#   hf_token_secret: {name: hf-token, key: token}"]
    options = ["", *gated, *_option("budget", "{usd_per_month: 5000}"), *_option("capacity", "{warm_standby: 1}"), *_option("scaling", "{min: 1, max: 8}")]
    return "\n".join([*head, *body, *options]) + "\n"


def _mapping(values: dict[str, Any], pattern: str, indent: str, seen: set[tuple[str, str]]) -> list[str]:
    """The lines of a mapping, each new field with its description above it."""
    lines: list[str] = []
    part = part_of(pattern)
    for key, value in values.items():
        info = part.model_fields.get(key) if part else None
        if info and info.description and (pattern, key) not in seen:
            seen.add((pattern, key))
            lines += _comment(info.description, indent)
        below = f"{pattern}.{key}".lstrip(".") if part else _MODEL
        if isinstance(value, dict) and value and not _is_leaf(value):
            lines += [f"{indent}{key}:", *_mapping(value, below, indent + "  ", seen)]
        else:
            lines.append(f"{indent}{key}: {_flow(value)}")
    return lines


def _is_leaf(values: dict[str, Any]) -> bool:
    """True for a small mapping of words and numbers that reads best on one line."""
    return len(values) <= 2 and not any(isinstance(v, dict) for v in values.values())


def _flow(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k}: {_flow(v)}" for k, v in value.items()) + "}"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _comment(text: str, indent: str) -> list[str]:
    return [f"{indent}# {line}" for line in textwrap.wrap(text, _WIDTH - len(indent) - 2)]


def _option(key: str, example: str) -> list[str]:
    """A field that is left out, as a comment to take the mark off."""
    part = part_of("")
    words = (part.model_fields[key].description or "") if part else ""
    return [f"# {words}", f"# {key}: {example}"]
