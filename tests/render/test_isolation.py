"""The isolation family: closed by default, with the openings that serving needs."""

from __future__ import annotations

from typing import Any

import pytest
import rendered
import samples
from inferform.plan import DeploymentPlan
from rendered import objects, one, one_pool, pods

SAMPLE = samples.sample_plan()


def policy(name: str) -> dict[str, Any]:
    spec: dict[str, Any] = one(SAMPLE, "NetworkPolicy", name)["spec"]
    return spec


def test_everything_is_closed_by_default() -> None:
    """One policy selects every pod and allows nothing either way."""
    assert {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]} == policy("default-deny")


def test_only_the_gateway_the_namespace_and_prometheus_reach_engines() -> None:
    """Requests come from the gateway's namespace or our own, scrapes from Prometheus; only to the engine's port."""
    (rule,) = policy("allow-requests")["ingress"]
    assert [{"podSelector": {}}, {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "envoy-gateway-system"}}}] == rule["from"]
    assert [{"protocol": "TCP", "port": 8000}] == rule["ports"]
    (rule,) = policy("allow-metrics")["ingress"]
    assert [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}] == rule["from"]


def test_weights_are_fetched_without_reaching_instance_metadata() -> None:
    """Out goes HTTPS and the credential agent; the node's own credentials stay out of reach."""
    https, agent = policy("allow-weights")["egress"]
    assert {"cidr": "0.0.0.0/0", "except": ["169.254.169.254/32"]} == https["to"][0]["ipBlock"]
    assert (443, "169.254.170.23/32", 80) == (https["ports"][0]["port"], agent["to"][0]["ipBlock"]["cidr"], agent["ports"][0]["port"])


def test_only_groups_talk_among_themselves() -> None:
    """Members of llama-405b's groups may talk on any port; no other workload gets that."""
    groups = [o["metadata"]["name"] for o in objects(SAMPLE, "NetworkPolicy") if o["metadata"]["name"].startswith("allow-group-")]
    assert ["allow-group-llama-405b-aggregated"] == groups
    spec = policy(groups[0])
    assert spec["podSelector"] == spec["ingress"][0]["from"][0]["podSelector"] == spec["egress"][0]["to"][0]["podSelector"]


def test_the_quota_holds_the_largest_fleet_and_its_surge() -> None:
    """GPUs: llama-70b 4+1 replicas x 4, llama-405b 2+1 groups x 2 pods x 8, llama-8b 6+1 x 1 = 20 + 48 + 7 = 75; pods: 5 + 6 + 7 + bge 3 + 4 imports."""
    hard = one(SAMPLE, "ResourceQuota", "capacity")["spec"]["hard"]
    assert ("75", "25", "192") == (hard["requests.nvidia.com/gpu"], hard["pods"], hard["requests.vpc.amazonaws.com/efa"])
    assert ("0", "0", "4") == (hard["services.loadbalancers"], hard["services.nodeports"], hard["persistentvolumeclaims"])
    recreate = rendered.one_pool(lifecycle={"strategy": "Recreate"}, scaling={"kind": "fixed", "max": 1}, replicas={"max": 1})
    assert "4" == one(recreate, "ResourceQuota", "capacity")["spec"]["hard"]["requests.nvidia.com/gpu"]


def tenant(**isolation: Any) -> DeploymentPlan:
    """One model of the tenant acme; its nodes are acme's alone where that is planned."""
    nodes = {"tenant": "acme"} if isolation.get("dedicated") else {}
    data = one_pool(infrastructure=nodes).model_dump()
    return DeploymentPlan.model_validate({**data, "isolation": isolation})


@pytest.mark.parametrize(("tier", "own"), [("enterprise", "inferform-enterprise"), ("standard", "inferform-serving"), ("free", "inferform-free")])
def test_a_tier_is_a_priority_that_others_may_not_claim(tier: str, own: str) -> None:
    """Pods carry the class of their tenant's tier; a quota of no pods holds for every other class and for those of the cluster's agents."""
    plan = tenant(tier=tier)
    assert own == pods(plan, "m-aggregated")[0]["priorityClassName"]
    quota = one(plan, "ResourceQuota", "priorities")["spec"]
    (scope,) = quota["scopeSelector"]["matchExpressions"]
    others = {"inferform-enterprise", "inferform-serving", "inferform-free", "inferform-batch"} - {own}
    assert ({"pods": "0"}, "PriorityClass", "In") == (quota["hard"], scope["scopeName"], scope["operator"])
    assert {*others, "system-cluster-critical", "system-node-critical"} == set(scope["values"])
    classes = {o["metadata"]["name"]: o for o in objects(plan, "PriorityClass")}
    assert own in classes


def test_who_takes_room_from_whom() -> None:
    """Enterprise and standard take room from all below them; batch and free wait. Nobody comes near the cluster's own agents."""
    classes = {o["metadata"]["name"]: (o["value"], o["preemptionPolicy"]) for o in objects(SAMPLE, "PriorityClass")}
    order = ["inferform-enterprise", "inferform-serving", "inferform-batch", "inferform-free"]
    assert order == sorted(classes, key=lambda name: -classes[name][0])
    assert ["PreemptLowerPriority", "PreemptLowerPriority", "Never", "Never"] == [classes[name][1] for name in order]
    assert max(value for value, _ in classes.values()) <= 1_000_000_000


def test_batch_work_of_a_tenant_waits() -> None:
    """A batch model has the batch class, of a free tenant the free one; the namespace may then use both of its classes."""
    data = one_pool({"profile": "batch"}).model_dump()
    for tier, own in (("enterprise", "inferform-batch"), ("free", "inferform-free")):
        plan = DeploymentPlan.model_validate({**data, "isolation": {"tier": tier}})
        assert own == pods(plan, "m-aggregated")[0]["priorityClassName"]
        assert own not in one(plan, "ResourceQuota", "priorities")["spec"]["scopeSelector"]["matchExpressions"][0]["values"]


def test_a_strict_tenants_pods_run_on_its_own_nodes_only() -> None:
    """Toleration of the tenant's taint by its value, and affinity to its nodes; agents that make GPUs usable tolerate it as well (FC-14)."""
    plan = tenant(dedicated=True)
    (pod,) = pods(plan, "m-aggregated")
    own = {"key": "inferform.dev/tenant", "operator": "Equal", "value": "acme", "effect": "NoSchedule"}
    assert own in pod["tolerations"]
    (term,) = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert [{"key": "inferform.dev/tenant", "operator": "In", "values": ["acme"]}] == term["matchExpressions"]
    for agent in objects(plan, "DaemonSet"):
        assert own in agent["spec"]["template"]["spec"]["tolerations"], agent["metadata"]["name"]
    (shared,) = pods(tenant(), "m-aggregated")
    assert "affinity" not in shared and [t["key"] for t in shared["tolerations"]] == ["nvidia.com/gpu"]


def test_a_namespace_takes_no_more_than_its_plan() -> None:
    """Claims add up to the caches of weights, 90 + 500 + 20 + 3 GiB; no claim is above the largest, no container above the largest pod."""
    hard = one(SAMPLE, "ResourceQuota", "capacity")["spec"]["hard"]
    assert ("613Gi", "4") == (hard["requests.storage"], hard["persistentvolumeclaims"])
    container, volume = one(SAMPLE, "LimitRange")["spec"]["limits"]
    assert ("500Gi", "1900Gi") == (volume["max"]["storage"], container["max"]["memory"])
    # A limit on a device would refuse every container that names none.
    assert {"memory"} == set(container["max"])


def test_embeddings_run_apart_from_chat() -> None:
    """The CPU pool's pods ask for no GPU, land on nodes of their own and leave GPU nodes alone."""
    (pod,) = pods(SAMPLE, "bge-aggregated")
    assert not any(key.startswith("nvidia.com/") for key in pod["containers"][0]["resources"]["limits"])
    assert {"inferform.dev/model": "bge", "inferform.dev/pool": "aggregated"} == pod["nodeSelector"]


def test_every_namespace_is_restricted_but_the_agents() -> None:
    """Tenants' namespaces enforce the restricted standard for all engines and topologies; only the agents' may use host paths and devices."""
    levels = {o["metadata"]["name"]: o["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] for o in objects(SAMPLE, "Namespace")}
    assert {"acme-contract-qa": "restricted", "inferform-system": "privileged"} == levels
