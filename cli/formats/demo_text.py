"""The demonstration's report, at most 100 columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inferform.cli.formats.table import pairs, table

if TYPE_CHECKING:
    from inferform.sandbox.demo import DemoReport

_NUMBERS = (2, 3, 4, 5)


def demo_text(report: DemoReport, *, kept: bool) -> str:
    """What was sized, what it costs, what was made and how long each stage took."""
    plan = report.plan
    rows = [
        (f"{model}/{name}", pool.instance_type, str(pool.nodes.steady), str(pool.replicas.steady), f"{pool.ttft_ms.p95:,.0f}", f"{pool.tpot_ms.p95:,.0f}")
        for model, _, name, pool in plan.pool_items()
    ]
    counts = report.verdict.counts()
    facts = [
        ("cost", f"${plan.cost.usd_per_month:,.0f} a month, ${plan.cost.usd_per_mtok:,.2f} per million tokens"),
        ("rendered", f"{report.files} files of Kubernetes objects"),
        ("synthesized", f"{report.resources} resources in {len(report.stacks)} stacks: {', '.join(report.stacks)}"),
        ("checked", f"{counts['passed']} rules pass, {counts['denied']} deny, {counts['warned']} warn, {counts['unknown']} unknown before apply"),
    ]
    if report.applied and report.destroyed:
        facts += [
            ("applied", f"{report.applied.create} resources made by terraform on the double of AWS"),
            ("planned again", f"{report.changes_after_apply or 'no'} changes"),
            ("destroyed", f"{report.destroyed.delete} resources"),
            ("not proven here", f"{len(report.adapted)} details that the sandbox's older AWS provider does not know; --format json lists them"),
        ]
    if report.skipped:
        facts.append(("skipped", report.skipped))
    facts.append(("seconds", ", ".join(f"{stage} {seconds:g}" for stage, seconds in report.seconds.items())))
    if kept:
        facts.append(("kept in", report.folder))
    head = f"{plan.name} in {plan.environment}: {plan.cloud.provider} {plan.cloud.region}"
    return "\n\n".join([head, table(("pool", "instance", "nodes", "replicas", "TTFT p95 ms", "TPOT p95 ms"), rows, right=_NUMBERS), pairs(facts)])
