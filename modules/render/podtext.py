"""Arguments and environment of containers as Kubernetes takes them: all values are data."""

from __future__ import annotations

from typing import Any

from inferform.engines import PodVariable


def pod_text(value: str) -> str:
    """Text as Kubernetes takes it in arguments and environment: `$` doubled, so that no `$(NAME)` in it is substituted."""
    return value if isinstance(value, PodVariable) else value.replace("$", "$$")


def environment(values: dict[str, str]) -> list[dict[str, Any]]:
    """Environment entries, sorted by name; all values are data."""
    return [{"name": name, "value": pod_text(value)} for name, value in sorted(values.items())]
