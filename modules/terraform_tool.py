"""Finds terraform (or OpenTofu), checks its version, and builds the environment it runs in."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from inferform.errors import InputError, MissingToolError, ToolFailedError
from inferform.terraform_process import read_json, run

# Native locking of S3 state (use_lockfile) exists from 1.10 on, in Terraform and in OpenTofu (FC-36).
MINIMUM = (1, 10)
# Of the caller's environment only these reach terraform: where it is, how it reaches the network, and who it is.
# TF_CLI_ARGS, TF_VAR_*, TF_WORKSPACE and TF_DATA_DIR would change what was planned, so they do not.
_SYSTEM = re.compile(
    r"PATH|HOME|USER|LOGNAME|LANG|LC_ALL|TMPDIR|TEMP|TMP|SYSTEMROOT|XDG_[A-Z_]+|SSL_CERT_(FILE|DIR)|(HTTPS?|NO|ALL)_PROXY|(https?|no|all)_proxy"
)
_CLOUD = re.compile(r"AWS_[A-Z0-9_]+|TF_CLI_CONFIG_FILE|TF_PLUGIN_CACHE_DIR|TF_TOKEN_\w+|TF_LOG|KUBECONFIG")


@dataclass(frozen=True)
class Settings:
    """How terraform runs. `environ` is the caller's environment; `isolated` keeps its cloud account and settings out."""

    environ: Mapping[str, str]
    binary: str | None = None
    cli_config: Path | None = None
    plugin_cache: Path | None = None
    variables: Mapping[str, str] = field(default_factory=dict)
    isolated: bool = False
    lock_timeout_s: int = 60
    timeout_s: float = 4 * 3600.0
    parallelism: int = 10


@dataclass(frozen=True)
class Tool:
    """A terraform that can be used."""

    path: str
    name: str
    version: str


def find_terraform(settings: Settings) -> Tool:
    """The terraform to run: the one named in the settings, else `terraform`, else `tofu` on the search path.

    Raises: MissingToolError when there is none; InputError when it is older than 1.10.
    """
    search = settings.environ.get("PATH", "")
    names = [settings.binary] if settings.binary else ["terraform", "tofu"]
    path = next((found for name in names if (found := shutil.which(name, path=search))), None)
    if path is None:
        raise MissingToolError(f"{' or '.join(names)} is not on the search path; install Terraform >= 1.10 (or OpenTofu >= 1.10)")
    with tempfile.TemporaryDirectory() as folder:
        finished = run([path, "version", "-json"], folder=Path(folder), environ=environment(settings), log=Path(folder) / "version", timeout_s=60)
        if finished.code:
            said = finished.complaint()[:300] or f"exit code {finished.code}; run the same command again"
            raise ToolFailedError(f"{path} version failed: {said}", finished.complaint())
        answer: dict[str, Any] = read_json(finished)
    version = str(answer.get("terraform_version", ""))
    match = re.match(r"(\d+)\.(\d+)", version)
    if not match or (int(match.group(1)), int(match.group(2))) < MINIMUM:
        raise InputError(f"{path} is version {version or 'unknown'}; at least {MINIMUM[0]}.{MINIMUM[1]} is needed, the first with a lock file beside S3 state")
    return Tool(path, Path(path).name, version)


def environment(settings: Settings) -> dict[str, str]:
    """The environment terraform runs in: what it needs of the caller's, and what makes it answer for machines."""
    kept = {name: value for name, value in settings.environ.items() if _SYSTEM.fullmatch(name) or (not settings.isolated and _CLOUD.fullmatch(name))}
    # A configuration file that is not there makes terraform complain before every answer.
    if "TF_CLI_CONFIG_FILE" in kept and not Path(kept["TF_CLI_CONFIG_FILE"]).is_file():
        del kept["TF_CLI_CONFIG_FILE"]
    if settings.cli_config:
        kept["TF_CLI_CONFIG_FILE"] = str(settings.cli_config)
    if settings.plugin_cache and "TF_PLUGIN_CACHE_DIR" not in kept:
        settings.plugin_cache.mkdir(parents=True, exist_ok=True)
        # Each stack has a lock file of its own; without this the cache would only serve stacks that were initialised before.
        kept |= {"TF_PLUGIN_CACHE_DIR": str(settings.plugin_cache), "TF_PLUGIN_CACHE_MAY_BREAK_DEPENDENCY_LOCK_FILE": "1"}
    return {**kept, **settings.variables, "TF_IN_AUTOMATION": "1", "TF_INPUT": "0", "CHECKPOINT_DISABLE": "1"}
