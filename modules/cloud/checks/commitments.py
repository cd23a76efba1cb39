"""Reserved instances and savings plans behind nodes that the plan counts as reserved without naming a reservation."""

from __future__ import annotations

from collections.abc import Iterator

from inferform.cloud.check import Answer, Check
from inferform.cloud.facts import COMMITMENTS_REGION
from inferform.cloud.site import Site


def _commitments(site: Site) -> Iterator[Answer]:
    """Only money is at stake, so nothing here blocks: without a commitment the nodes cost what on-demand nodes cost."""
    wanted: dict[str, tuple[int, float]] = {}
    for group in site.groups():
        for part in group.parts:
            if part.kind == "reserved" and not part.reservation_id and part.nodes.steady:
                kind = part.instance_types[0]
                nodes, usd = wanted.get(kind, (0, 0.0))
                wanted[kind] = (nodes + part.nodes.steady, usd + part.nodes.steady * part.usd_per_hour)
    if not wanted:
        return
    plans = list(site.api.call("savingsplans", "describe_savings_plans", region=COMMITMENTS_REGION, states=["active"])["savingsPlans"])
    for kind, (nodes, usd) in sorted(wanted.items()):
        filters = [{"Name": "instance-type", "Values": [kind]}, {"Name": "state", "Values": ["active"]}]
        rows = site.api.call("ec2", "describe_reserved_instances", Filters=filters)["ReservedInstances"]
        reserved = sum(int(r["InstanceCount"]) for r in rows)
        committed = sum(float(p["commitment"]) for p in plans if _covers(p, kind, site.plan.cloud.region))
        found = f"{reserved} reserved instances, savings plans of ${committed:,.2f} an hour that cover it"
        needed = f"{nodes} nodes steady, ${usd:,.2f} an hour in the plan"
        if reserved >= nodes or committed >= usd:
            yield Answer("ok", f"{kind} reserved", found, needed)
        else:
            fix = "buy the commitment (console: Billing > Savings Plans), or plan these nodes as on_demand: without it they cost that price"
            yield Answer("warning", f"{kind} reserved", found, needed, fix)


def _covers(plan: dict[str, object], kind: str, region: str) -> bool:
    """A compute plan covers every type; an instance plan one family in one region."""
    if plan.get("savingsPlanType") == "Compute":
        return True
    return plan.get("savingsPlanType") == "EC2Instance" and plan.get("region") == region and plan.get("ec2InstanceFamily") == kind.partition(".")[0]


CHECKS = (Check("RSV002", "Reserved prices", _commitments),)
