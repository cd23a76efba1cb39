"""The isolation family: closed by default, with the openings that serving needs."""

from __future__ import annotations

from typing import Any

import rendered
import samples
from rendered import objects, one

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
    hard = one(SAMPLE, "ResourceQuota")["spec"]["hard"]
    assert ("75", "25", "192") == (hard["requests.nvidia.com/gpu"], hard["pods"], hard["requests.vpc.amazonaws.com/efa"])
    assert ("0", "0", "4") == (hard["services.loadbalancers"], hard["services.nodeports"], hard["persistentvolumeclaims"])
    recreate = rendered.one_pool(lifecycle={"strategy": "Recreate"}, scaling={"kind": "fixed", "max": 1}, replicas={"max": 1})
    assert "4" == one(recreate, "ResourceQuota")["spec"]["hard"]["requests.nvidia.com/gpu"]
