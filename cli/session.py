"""What the commands that work on a cloud take from their surroundings: the environment, the clock, who runs them."""

from __future__ import annotations

import getpass
import os
import socket
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inferform.cloud.shelf import S3Shelf
    from inferform.operate.audit import Actor
    from inferform.operate.backend import Backend
    from inferform.operate.steps import Rules
    from inferform.plan import DeploymentPlan

# Who started a pipeline, as the common systems say it; then the account that runs the command.
_PEOPLE = ("INFERFORM_ACTOR", "GITHUB_ACTOR", "GITLAB_USER_LOGIN", "BUILD_USER_ID")


def actor() -> Actor:
    """Who acts and when, for the audit record."""
    from inferform.operate.audit import Actor

    named = next((os.environ[name] for name in _PEOPLE if os.environ.get(name)), None)
    try:
        who = named or f"{getpass.getuser()}@{socket.gethostname()}"
    except (KeyError, OSError):
        # A container may run under a number that has no name.
        who = f"uid-{os.getuid()}@{socket.gethostname()}"
    return Actor(who, datetime.now(UTC).isoformat(timespec="seconds"))


def backend(sandbox: str | None) -> Backend:
    """AWS with the caller's account, or the double of it that answers at `sandbox`."""
    if sandbox is None:
        from inferform.operate.backend import aws

        return aws(os.environ, _plugin_cache(), _shelf)
    from inferform.sandbox.backend import sandbox_backend

    return sandbox_backend(sandbox, _cache() / "sandbox", os.environ)


def _shelf(plan: DeploymentPlan) -> S3Shelf | None:
    """Where what was applied is kept beside the state."""
    from inferform.cloud.api import sessions
    from inferform.cloud.shelf import S3Shelf

    return S3Shelf.of(plan, sessions())


def rules(waivers: Path | None, *, strict: bool, folders: Sequence[Path] | None) -> Rules:
    """How the policy judges today."""
    from inferform.operate.steps import Rules
    from inferform.policy import rules as known
    from inferform.waivers import load_waivers

    own = tuple(str(folder) for folder in folders or ())
    held = load_waivers(waivers, (rule.id for rule in known(own))) if waivers else ()
    return Rules(datetime.now(UTC).date(), held, strict, own)


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "inferform"


def _plugin_cache() -> Path | None:
    """Terraform's own plugin cache where the user has set one; else one of ours, so that every stack shares the provider."""
    if os.environ.get("TF_PLUGIN_CACHE_DIR"):
        return None
    folder = _cache() / "terraform-plugins"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
