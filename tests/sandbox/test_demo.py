"""The demonstration, on the tiny deployment: the way it goes and what it says."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest
from inferform.cli.formats.demo_text import demo_text
from inferform.errors import MissingToolError
from inferform.operate.backend import Backend
from inferform.operate.progress import Step
from inferform.sandbox.demo import DemoReport, demo
from operate.tiny import ACTOR, BACKEND, RULES, Seen, tiny_plan

needs_terraform = pytest.mark.skipif(not any(shutil.which(n, path=os.environ.get("PATH")) for n in ("terraform", "tofu")), reason="terraform is not installed")


def run(folder: Path, seen: Seen | None = None) -> DemoReport:
    """The demonstration of the tiny deployment, against terraform alone."""
    seen = seen or Seen()
    return demo(tiny_plan(), folder, seen.progress, backend_at=lambda url: BACKEND, actor=ACTOR, rules=RULES, steps=seen.product())


@needs_terraform
def test_demo_goes_the_whole_way(tmp_path: Path) -> None:
    """Planned, applied, planned again without changes, destroyed; every stage is timed and told."""
    seen = Seen()
    report = run(tmp_path, seen)
    assert (6, 0, 6, "") == (
        report.applied.create if report.applied else None,
        report.changes_after_apply,
        report.destroyed.delete if report.destroyed else None,
        report.skipped,
    )
    assert ("network", "cluster", "nodes") == report.stacks
    assert (1, 6) == (report.files, report.resources)
    assert ["sandbox", "size", "plan", "apply", "second plan", "destroy"] == list(report.seconds)
    assert {"apply", "destroy", "check"} <= {step.phase for step in seen.steps if isinstance(step, Step)}
    text = demo_text(report, kept=True)
    assert "6 resources made by terraform on the double of AWS" in text
    assert re.search(r"planned again +no changes", text)
    assert str(tmp_path) in text.replace("\n", "").replace(" ", "")


def test_without_terraform_the_demo_says_what_it_skipped(tmp_path: Path) -> None:
    """Everything up to the check runs, and the report names the reason for the rest."""

    def missing(url: str) -> Backend:
        raise MissingToolError("terraform or tofu is not on the search path; install Terraform >= 1.10")

    seen = Seen()
    report = demo(tiny_plan(), tmp_path, seen.progress, backend_at=missing, actor=ACTOR, rules=RULES, steps=seen.product())
    assert "terraform plan, apply and destroy on the sandbox: terraform or tofu is not on the search path" in report.skipped
    assert (None, None, 6, 1) == (report.applied, report.destroyed, report.resources, report.files)
    assert 1 == len(seen.evidence)
    assert "skipped" in demo_text(report, kept=False)
    assert max(len(line) for line in demo_text(report, kept=False).splitlines()) <= 100


@needs_terraform
def test_a_denied_plan_is_not_applied(tmp_path: Path) -> None:
    """The demonstration stops behind a verdict that denies, and says so."""
    report = run(tmp_path, Seen(deny=lambda evidence: ["too dear"]))
    assert (None, "apply: the policy denies the plan") == (report.applied, report.skipped)
    assert report.verdict.denied
