"""Nodes of scaling groups end drained: EKS does that for managed groups and Karpenter for its own, so only self-managed groups need a hand."""

from __future__ import annotations

from collections.abc import Mapping

from inferform.plan import PoolPlan
from inferform.plan_termination import TerminationPlan

# aws/aws-node-termination-handler, config/helm: chart 0.27.6 runs 1.25.6 (read 2026-12-01).
CHART_VERSION = "0.27.6"
# Time for the notice to arrive and for the node to be cordoned, beside the pods' own grace.
_MARGIN_S = 60
# A lifecycle hook waits at most two hours without a heartbeat. Source: EC2 Auto Scaling API, PutLifecycleHook (read 2026-12-01).
_LONGEST_S = 7200


def termination_plan(prefix: str, pools: Mapping[str, PoolPlan]) -> TerminationPlan | None:
    """The controller of a deployment; None where no pool is a self-managed group. `prefix` begins every name of the deployment; pools by model-pool."""
    # Each group waits for its own pool, so that no pool changes another's group (FC-38).
    drain_s = {key: min(pool.lifecycle.grace_s + _MARGIN_S, _LONGEST_S) for key, pool in sorted(pools.items()) if pool.infrastructure.kind == "self_managed"}
    if not drain_s:
        return None
    return TerminationPlan(
        chart_version=CHART_VERSION, namespace="kube-system", service_account="aws-node-termination-handler", queue=f"{prefix}-node-termination",
        tag=f"aws-node-termination-handler/{prefix}", drain_s=drain_s,
    )  # fmt: skip
