"""Against what plan, apply, drift and destroy work: the real cloud, or a double of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inferform.terraform import Settings

# Stacks by name in dependency order, and the folder for local state -> the configuration to run and what was removed, by stack.
Adapt = Callable[[Mapping[str, dict[str, Any]], Path], Mapping[str, tuple[dict[str, Any], tuple[str, ...]]]]


@dataclass(frozen=True)
class Backend:
    """Which terraform runs, and how stacks are fitted to where they go; `adapt` is None on a real cloud."""

    name: str
    settings: Settings
    adapt: Adapt | None = None


def aws(environ: Mapping[str, str], plugin_cache: Path | None = None) -> Backend:
    """AWS itself, with the caller's account and network settings."""
    return Backend("aws", Settings(environ, plugin_cache=plugin_cache))
