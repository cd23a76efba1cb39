"""What preflight and bootstrap found, as values that print as JSON."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

Severity = Literal["ok", "warning", "blocker", "unknown"]


class Part(BaseModel):
    """A frozen part of a result."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Finding(Part):
    """One thing that was looked at. `fix` says what to do, `command` is that as a shell command where there is one."""

    id: str
    title: str
    severity: Severity
    subject: str
    found: str
    needed: str = ""
    fix: str = ""
    command: str = ""


class Counts(Part):
    """Findings by severity."""

    blocker: int
    warning: int
    unknown: int
    ok: int


class PreflightResult(Part):
    """Everything that was found before an apply; `blocked` when a finding blocks it or nobody could be identified."""

    name: str
    environment: str
    region: str
    account: str | None = Field(description="Account id; None when the caller could not be told.")
    blocked: bool
    counts: Counts
    findings: tuple[Finding, ...]


class PreflightAll(Part):
    """Preflight of several environments; `blocked` when one of them is."""

    blocked: bool
    results: tuple[PreflightResult, ...]


class BucketStep(Part):
    """One property of the state bucket: how it was, how it must be, and what was done (or would be, in a dry run)."""

    name: str
    found: str
    wanted: str
    action: Literal["kept", "created", "changed", "would create", "would change"]


class BootstrapResult(Part):
    """What bootstrap did to the state bucket."""

    name: str
    environment: str
    backend: Literal["s3", "local"]
    bucket: str | None
    region: str
    account: str | None
    dry_run: bool
    changed: bool
    steps: tuple[BucketStep, ...]
    notes: tuple[str, ...] = ()
