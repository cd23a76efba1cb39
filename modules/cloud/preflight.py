"""Live checks before an apply: everything that would stop or surprise it, found by reading only."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from multiprocessing.pool import ThreadPool

from inferform.cloud.api import Api, CallFailedError, SessionFactory
from inferform.cloud.check import Answer, Check
from inferform.cloud.checks import addresses, buckets, commitments, identity, images, kubernetes, market, placement, quotas, reservations, zones
from inferform.cloud.results import Counts, Finding, PreflightAll, PreflightResult
from inferform.cloud.site import Site
from inferform.plan import DeploymentPlan

# Takes how many of how many checks are done.
Progress = Callable[[int, int], None]

FIRST = identity.CHECKS
REST: tuple[Check, ...] = (
    *buckets.CHECKS, *kubernetes.CHECKS, *quotas.CHECKS, *zones.CHECKS, *reservations.CHECKS, *commitments.CHECKS, *placement.CHECKS, *images.CHECKS, *addresses.CHECKS,
    *market.CHECKS,
)  # fmt: skip
CHECKS = (*FIRST, *REST)
# What a plan takes for granted as long as it stands: capacity that was bought, prices, support of the Kubernetes version.
STANDING = tuple(c for c in REST if c.id in ("EKS001", "PRC001", "PRC002", "RSV001", "RSV002"))

LIMIT_S, CHECK_LIMIT_S = 90.0, 30.0
# Environments at once: each has a thread a check, and AWS limits the calls of an account.
_MOST_AT_ONCE = 8


@dataclass
class _Running:
    """One check while it runs: what it has found so far, and when it must be done."""

    check: Check
    answers: list[Answer] = field(default_factory=list)
    failed: CallFailedError | None = None
    done: bool = False

    def findings(self, limit_s: float) -> list[Finding]:
        """What was found, with a finding for what could not be told."""
        answers = list(self.answers)
        if not self.done:
            answers.append(
                Answer("unknown", self.check.title.lower(), f"no answer within {limit_s:.0f} s", "an answer", "run preflight again, with a longer --limit")
            )
        elif self.failed:
            answers.append(_could_not(self.failed, self.check))
        return [
            Finding(
                id=self.check.id, title=self.check.title, severity=a.severity, subject=a.subject, found=a.found, needed=a.needed, fix=a.fix, command=a.command
            )
            for a in answers
        ]  # fmt: skip


def preflight(
    plan: DeploymentPlan,
    session_factory: SessionFactory,
    limit_s: float = LIMIT_S,
    progress: Progress = lambda done, total: None,
    *,
    now: datetime,
    check_limit_s: float = CHECK_LIMIT_S,
    checks: Sequence[Check] = REST,
    spec: str = "SPEC",
) -> PreflightResult:
    """Every finding about one plan in its account and region, in the order of the checks.

    Checks run side by side. One that takes longer than `check_limit_s`, or is not done after `limit_s` in all, is reported as
    unknown; so is one that the caller may not make, with the missing permission. `now` is the time against which dates count,
    `spec` the file that fixes name in commands.
    """
    site = Site(plan, Api(session_factory, plan.cloud.region), now, spec)
    total = len(FIRST) + len(checks)
    deadline = time.monotonic() + limit_s
    findings: list[Finding] = []
    for at, check in enumerate(FIRST, 1):
        findings += _run(site, [check], deadline, check_limit_s, lambda done: None)
        progress(at, total)
        if site.account is None or any(f.severity == "blocker" for f in findings):
            break
    else:
        findings += _run(site, checks, deadline, check_limit_s, lambda done: progress(len(FIRST) + done, total))
    progress(total, total)
    counts = Counts(**{s: sum(f.severity == s for f in findings) for s in ("blocker", "warning", "unknown", "ok")})
    # Who could not be identified in time has had nothing checked.
    blocked = counts.blocker > 0 or site.account is None
    return PreflightResult(
        name=plan.name, environment=plan.environment, region=plan.cloud.region, account=site.account, blocked=blocked, counts=counts, findings=tuple(findings)
    )


def preflight_all(
    plans: Sequence[DeploymentPlan],
    session_factory: SessionFactory,
    limit_s: float = LIMIT_S,
    progress: Progress = lambda done, total: None,
    *,
    now: datetime,
    check_limit_s: float = CHECK_LIMIT_S,
    spec: str = "SPEC",
) -> PreflightAll:
    """Preflight of several environments side by side, each in its own region and all inside one time limit; in the order of `plans`."""
    done = [0] * len(plans)

    def one(at: int) -> PreflightResult:
        def told(count: int, total: int) -> None:
            done[at] = count
            progress(sum(done), total * len(plans))

        return preflight(plans[at], session_factory, limit_s, told, now=now, check_limit_s=check_limit_s, spec=spec)

    with ThreadPool(max(1, min(len(plans), _MOST_AT_ONCE))) as pool:
        results = tuple(pool.map(one, range(len(plans))))
    return PreflightAll(blocked=any(r.blocked for r in results), results=results)


def _run(site: Site, checks: Sequence[Check], deadline: float, check_limit_s: float, progress: Callable[[int], None]) -> list[Finding]:
    """Run the checks side by side, each to its own limit, all to the deadline."""
    runs = [_Running(check) for check in checks]
    finished: queue.SimpleQueue[int] = queue.SimpleQueue()
    start = time.monotonic()
    limit_s = max(0.0, min(check_limit_s, deadline - start))
    # Its threads are daemons: a call that hangs does not keep the program from ending.
    pool = ThreadPool(max(1, len(runs)))
    results = [pool.apply_async(_look, (site, run, finished, at)) for at, run in enumerate(runs)]
    pool.close()
    for count in range(1, len(runs) + 1):
        try:
            # A fault of ours in a check is raised here.
            results[finished.get(timeout=max(0.0, start + limit_s - time.monotonic()))].get()
        except queue.Empty:
            break
        progress(count)
    # Closed here: what a late check goes on to find is not told.
    return [f for run in runs for f in _Running(run.check, list(run.answers), run.failed, run.done).findings(limit_s)]


def _look(site: Site, run: _Running, finished: queue.SimpleQueue[int], at: int) -> None:
    try:
        for answer in run.check.look(site):
            run.answers.append(answer)
    except CallFailedError as err:
        run.failed = err
    finally:
        run.done = True
        finished.put(at)


def _could_not(err: CallFailedError, check: Check) -> Answer:
    """A call that failed, as a finding."""
    subject = check.title.lower()
    if err.kind == "denied":
        return Answer(
            "unknown",
            subject,
            f"the caller may not {err.action}",
            f"permission {err.action}",
            "allow it; inferform bootstrap --policies prints policies that do",
        )
    if err.kind == "credentials":
        return Answer(
            "unknown",
            subject,
            f"AWS does not accept the credentials for {err.action}: {err.words}",
            "valid credentials",
            "sign in again and run preflight again",
        )
    if err.kind == "throttled":
        return Answer("unknown", subject, f"AWS throttles {err.action}, also after retries", "an answer", "run preflight again in a minute")
    if err.kind == "unreachable":
        return Answer(
            "unknown",
            subject,
            f"no answer to {err.action} in {err.region}: {err.words}",
            "an answer",
            "check network and proxy; a VPC without internet access needs an endpoint for this service",
        )
    return Answer("unknown", subject, f"AWS refused {err.action}: {err.words} ({err.code})", "an answer", "see the message of AWS")
