"""The verdict on one document: every finding, which rules were judged, and whether the step may go on."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

Severity = Literal["deny", "warn"]
Result = Literal["pass", "fail", "unknown", "not_applicable"]


class Part(BaseModel):
    """A frozen part of the verdict."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class About(Part):
    """The header of a rule: what it asks for and what to do when it fails."""

    title: str = Field(min_length=8, max_length=120)
    severity: Severity
    needs: tuple[Literal["spec", "plan", "objects", "terraform", "files"], ...] = Field(
        min_length=1, description="Sections of the document without which the rule cannot be judged."
    )
    remedy: str = Field(min_length=8, max_length=400)
    source: str = Field(min_length=4, max_length=400, description="Where the rule comes from.")


class Rule(About):
    """One rule and where it stands."""

    id: str
    file: str

    @property
    def area(self) -> str:
        """Folder above the rule's own, such as security."""
        parts = self.file.split("/")
        return parts[-3] if len(parts) >= 3 else ""


class Finding(Part):
    """One thing that is not as a rule asks, or cannot be told before apply.

    `address`: `plan/MODEL/POOL`, `Kind/namespace/name`, `STACK/TERRAFORM_ADDRESS` or `FILE:LINE`; empty for the whole
    document. `file` is where that stands, as far as it is known. `waived_by` names the owner of the waiver that covers it.
    """

    id: str
    title: str
    severity: Severity
    result: Literal["fail", "unknown"]
    address: str
    message: str
    remedy: str
    source: str
    file: str = ""
    waived_by: str | None = None


class Outcome(Part):
    """How one rule came out: `subjects` counts what it looked at; `why` says why it is not applicable."""

    rule: Rule
    result: Result
    subjects: int
    why: str = ""


class Verdict(Part):
    """All outcomes and findings; `denied` decides the exit code."""

    outcomes: tuple[Outcome, ...]
    findings: tuple[Finding, ...]
    strict: bool

    @property
    def denied(self) -> bool:
        """True when any finding stands that is not waived: a failed deny rule, or in strict mode anything unknown."""
        return any(self.denies(finding) for finding in self.findings)

    def denies(self, finding: Finding) -> bool:
        """Whether this finding alone denies."""
        if finding.waived_by is not None:
            return False
        return self.strict if finding.result == "unknown" else finding.severity == "deny"

    def counts(self) -> dict[str, int]:
        """Findings by weight (denied, warned, unknown, waived) and rules by result (passed, not_applicable)."""
        standing = [f for f in self.findings if f.waived_by is None]
        return {
            "denied": sum(f.result == "fail" and f.severity == "deny" for f in standing),
            "warned": sum(f.result == "fail" and f.severity == "warn" for f in standing),
            "unknown": sum(f.result == "unknown" for f in standing),
            "waived": sum(f.waived_by is not None for f in self.findings),
            "passed": sum(o.result == "pass" for o in self.outcomes),
            "not_applicable": sum(o.result == "not_applicable" for o in self.outcomes),
        }
