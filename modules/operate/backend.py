"""Against what plan, apply, drift and destroy work: the real cloud, or a double of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inferform.plan import DeploymentPlan
from inferform.terraform import Settings

if TYPE_CHECKING:
    from inferform.operate.archive import Shelf

# Stacks by name in dependency order, and the folder for local state -> the configuration to run and what was removed, by stack.
Adapt = Callable[[Mapping[str, dict[str, Any]], Path], Mapping[str, tuple[dict[str, Any], tuple[str, ...]]]]


# Where what was applied is kept for everybody; None where the state itself is local.
ShelfOf = Callable[[DeploymentPlan], "Shelf | None"]


@dataclass(frozen=True)
class Backend:
    """Which terraform runs, and how stacks are fitted to where they go; `adapt` is None on a real cloud."""

    name: str
    settings: Settings
    adapt: Adapt | None = None
    shelf: ShelfOf | None = None


def aws(environ: Mapping[str, str], plugin_cache: Path | None = None, shelf: ShelfOf | None = None) -> Backend:
    """AWS itself, with the caller's account and network settings."""
    return Backend("aws", Settings(environ, plugin_cache=plugin_cache), shelf=shelf)
