"""Reports of plan, apply, drift and destroy say what happens, what it costs and what to mind, in 100 columns."""

from __future__ import annotations

from inferform.cli.formats.operate_text import apply_text, destroy_text, plan_result_text
from inferform.operate.results import (
    ApplyResult,
    Change,
    CostDifference,
    Counts,
    DestroyResult,
    PlanResult,
    Risk,
    StackPlan,
    StackResult,
)  # fmt: skip
from inferform.verdict import Finding, Verdict

CHANGES = (
    Change(address="aws_vpc.main", type="aws_vpc", action="create"),
    Change(address="aws_eks_node_group.llama-70b-aggregated", type="aws_eks_node_group", action="update", attributes=("scaling_config", "labels")),
)


FINDING = Finding(
    id="SEC001", title="Endpoint is private", severity="deny", result="fail", address="cluster/aws_eks_cluster.main", message="it is public",
    remedy="empty cloud.endpoint.public_cidrs", source="AWS",
)  # fmt: skip
VERDICT = Verdict(outcomes=(), findings=(), strict=False)


def planned(**changes: object) -> PlanResult:
    """A plan of two stacks, the second of which waits for the first."""
    result = PlanResult(
        name="contract-qa", environment="prod", folder=".inferform/contract-qa/prod", digest="d" * 64, first=False,
        stacks=(
            StackPlan(stack="network", state="saved", changes=CHANGES[:1], config_digest="c" * 64, plan_digest="p" * 64),
            StackPlan(stack="nodes", state="after", waits_for=("network",), changes=CHANGES[1:], config_digest="c" * 64),
        ),
        counts=Counts(create=1, update=1),
        cost=CostDifference(before_usd_per_month=10000.0, after_usd_per_month=12500.0, difference_usd_per_month=2500.0, budget_usd_per_month=13000.0,
                            by_pool_usd_per_month={"llama-70b/aggregated": (8000.0, 10500.0)}),
        risks=(Risk(level="red", code="pool-replaced", address="nodes/x", message="2 nodes are replaced", nodes=2, remedy="drain first"),),
        allowed=True, verdict=VERDICT, warnings=("the burst rides on spot",), adapted=("network: aws_vpc.x",),
    )  # fmt: skip
    return result.model_copy(update=changes)


def test_a_plan_shows_changes_cost_risks_and_verdict() -> None:
    """Each change with its stack and attributes, the difference in cost in all and by pool, risks with remedy, the total."""
    text = plan_result_text(planned())
    assert 100 >= max(len(line) for line in text.splitlines())
    assert "network  create  aws_vpc.main" in text
    assert "scaling_config, labels" in " ".join(text.split())
    assert "nodes: at most these; its values are only known once network is applied" in " ".join(text.split())
    assert "$12,500 (budget $13,000), before $10,000: +$2,500" in text
    assert "+$2,500: $8,000 to $10,500" in text
    assert "red: 2 nodes are replaced; drain first (nodes/x)" in text
    assert "Warnings\n  - the burst rides on spot" in text
    assert text.endswith("1 to create, 1 to update. The verdict allows it.")


def test_a_denied_plan_says_so() -> None:
    """A denying verdict lists what denies, with the remedy, and ends the report."""
    denied = planned(allowed=False, verdict=Verdict(outcomes=(), findings=(FINDING,), strict=False))
    text = plan_result_text(denied)
    assert "Denied\n  - SEC001 cluster/aws_eks_cluster.main: it is public; empty cloud.endpoint.public_cidrs" in text
    assert text.endswith("The verdict denies it.")


def test_a_plan_without_changes_says_so() -> None:
    """Nothing to do is one sentence."""
    text = plan_result_text(planned(stacks=(), counts=Counts(), risks=()))
    assert "No changes." in text
    assert "nothing to change." in text


def test_long_plans_are_cut() -> None:
    """Forty changes are shown, the rest is counted."""
    many = tuple(Change(address=f"aws_subnet.s{n}", type="aws_subnet", action="create") for n in range(50))
    text = plan_result_text(planned(stacks=(StackPlan(stack="network", state="saved", changes=many, config_digest="c" * 64),)))
    assert "aws_subnet.s39" in text
    assert "aws_subnet.s40" not in text
    assert "and 10 more; --format json lists them all" in text


def test_what_is_cut_is_the_least_of_it() -> None:
    """Node groups and what goes stand before fifty creations, with their nodes."""
    many = [Change(address=f"aws_subnet.s{n}", type="aws_subnet", action="create") for n in range(50)]
    gone = Change(address="aws_kms_key.z", type="aws_kms_key", action="delete")
    pool = Change(address="aws_eks_node_group.z", type="aws_eks_node_group", action="create", model="z", pool="aggregated", nodes=2)
    text = plan_result_text(planned(stacks=(StackPlan(stack="nodes", state="saved", changes=(*many, gone, pool), config_digest="c" * 64),)))
    rows = [line.split(maxsplit=2)[1:] for line in text.splitlines() if line.startswith("nodes ")]
    assert [["create", "aws_eks_node_group.z (2 nodes)"], ["delete", "aws_kms_key.z"], ["create", "aws_subnet.s0"]] == rows[:3]


def test_what_the_cloud_would_refuse_ends_the_report() -> None:
    """FC-10: a plan that the verdict allows and the cloud would not take says that apply will not run."""
    risk = Risk(level="block", code="min-above-desired", address="nodes/x", message="min rises to 5", nodes=5, remedy="set desired first")
    text = plan_result_text(planned(risks=(risk,)))
    assert "block: min rises to 5; set desired first" in text
    assert text.endswith("The verdict allows it. The cloud would refuse 1 of it, so apply will not run before that is mended.")


def test_a_rollback_says_what_it_brings_back() -> None:
    """Plan and apply of a rollback name the apply by its number."""
    assert "prod: rollback to apply 3, plan dddd" in plan_result_text(planned(rollback_to=3))
    done = ApplyResult(name="a", environment="dev", folder="f", digest="d" * 64, resumed=False, stacks=STACKS, counts=Counts(), outputs={}, rollback_to=3)
    assert "applied plan dddddddddddd, a rollback to apply 3" in apply_text(done)


STACKS = (
    StackResult(stack="network", state="applied", counts=Counts(create=3), seconds=12.4),
    StackResult(stack="nodes", state="done_before", counts=Counts(), seconds=0.0),
)


def test_apply_and_destroy_list_their_stacks() -> None:
    """One row a stack with its state, counts and time, and the total."""
    applied = apply_text(
        ApplyResult(name="a", environment="dev", folder="f", digest="d" * 64, resumed=True, stacks=STACKS, counts=Counts(create=3), outputs={})
    )
    assert "completing an interrupted apply" in applied
    assert ["network", "applied", "3", "0", "0", "0", "12", "s"] == applied.splitlines()[3].split()
    assert "done before" in applied
    gone = destroy_text(DestroyResult(name="a", environment="dev", folder="f", stacks=STACKS[:1], counts=Counts(delete=3)))
    assert gone.endswith("3 deleted.")
    assert applied.endswith("3 created.")
