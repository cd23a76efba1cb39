"""The whole way on the sandbox with the real terraform and AWS provider: one life, told in `life.py`, looked at from many sides."""

from __future__ import annotations

from typing import Any

import pytest
from sandbox.life import run
from sandbox.once import lived_once

# Unloaded it lives about two and a half minutes.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]
Json = dict[str, Any]


@pytest.fixture(scope="session")
def life(tmp_path_factory: pytest.TempPathFactory) -> Json:
    """What was found in one life of a fleet."""
    return lived_once(tmp_path_factory, "life", run)


def states(result: Json) -> list[tuple[str, str]]:
    return [(s["stack"], s["state"]) for s in result["stacks"]]


def test_first_plan_is_allowed_and_saves_the_first_stacks(life: Json) -> None:
    """The real policy allows the fleet; network and model store have saved plans, the rest waits and only creates."""
    plan = life["plan"]
    assert plan["allowed"]
    assert plan["first"]
    assert [("network", "saved"), ("cluster", "after"), ("model_store", "saved"), ("identity", "after"), ("nodes", "after")] == states(plan)
    assert {"create"} == {c["action"] for s in plan["stacks"] for c in s["changes"]}
    pools = {c["pool"]: c["nodes"] for s in plan["stacks"] for c in s["changes"] if c["model"] == "llama-405b"}
    assert {"aggregated": 2} == pools


def test_killed_inferform_leaves_a_journal(life: Json) -> None:
    """kill -9 of inferform in the middle of the network leaves a journal that says so."""
    assert {"network": "started"} == life["after_kill"]["stacks"]


def test_killed_terraform_is_told(life: Json) -> None:
    """kill -9 of terraform in the middle of the cluster: apply says what is done and that it goes on from there."""
    assert "cluster: terraform apply failed: exit code -9" in life["killed_terraform"]
    assert "run inferform apply again: it goes on from there" in life["killed_terraform"]


def test_the_next_apply_completes(life: Json) -> None:
    """After both kills one apply finishes everything; what cannot be adopted by name is told."""
    apply = life["apply"]
    assert apply["resumed"]
    assert [("network", "done_before"), ("cluster", "applied"), ("model_store", "applied"), ("identity", "applied"), ("nodes", "applied")] == states(apply)
    # Only a key has no name to adopt it by; whether it was under way when terraform was killed depends on the moment.
    assert all("while it made aws_kms_key.cluster" in warning for warning in apply["warnings"])
    assert apply["digest"] == life["plan"]["digest"]
    assert "contract-qa-prod" == apply["outputs"]["cluster"]["cluster_name"]


def test_everything_exists_once(life: Json) -> None:
    """The cloud has the fleet, nothing twice: networks, cluster, groups of every kind, placement group, roles."""
    cloud = life["cloud"]
    assert (1, 6, 3, 3) == (cloud["vpcs"], cloud["subnets"], cloud["nat_gateways"], cloud["addresses"])
    assert ["contract-qa-prod"] == cloud["clusters"]
    assert ["bge-aggregated", "llama-405b-aggregated", "llama-70b-aggregated", "system"] == cloud["node_groups"]
    assert ["contract-qa-prod-llama-8b-aggregated"] == cloud["scaling_groups"]
    assert ["contract-qa-prod-llama-405b-aggregated"] == cloud["placement_groups"]
    # The scaling group's three steady nodes; node groups are EKS's own and moto starts none.
    assert 3 == cloud["instances"]
    assert {"vpc-cni", "coredns", "kube-proxy", "eks-pod-identity-agent"} <= set(cloud["addons"])
    assert len(cloud["roles"]) == len(set(cloud["roles"]))
    assert ["contract-qa-prod-models-0a1b2c3d"] == cloud["buckets"]


def test_second_plan_has_no_changes(life: Json) -> None:
    """Right after apply terraform finds nothing to do in any stack."""
    second = life["second_plan"]
    assert [] == [c["address"] for s in second["stacks"] for c in s["changes"]]
    assert {"saved"} == {s["state"] for s in second["stacks"]}
    assert [] == [s["stack"] for s in second["stacks"] if s["outputs_change"]]
    assert not second["first"]
    assert 0 == second["cost"]["difference_usd_per_month"]


def test_drift_made_behind_its_back_is_found(life: Json) -> None:
    """A tag and a deleted bucket policy are drift, each with its attributes; nothing else is."""
    drift = life["drift"]
    assert drift["drifted"]
    found = {(r["stack"], r["address"]): [a["path"] for a in r["attributes"]] for r in drift["resources"]}
    assert {
        ("model_store", "aws_s3_bucket_policy.models"): ["policy"],
        ("nodes", "aws_security_group.llama-405b-aggregated-efa"): ["tags.owner", "tags_all.owner"],
    } == found


def test_fc10_the_autoscalers_count_is_expected(life: Json) -> None:
    """FC-10: a node more, set by an autoscaler, is listed apart and is no drift."""
    rows = [(r["address"], r["owner"], [(a["path"], a["before"], a["after"]) for a in r["attributes"]]) for r in life["drift"]["expected"]]
    assert [("aws_eks_node_group.llama-70b-aggregated", "the node autoscaler", [("scaling_config[0].desired_size", 1, 2)])] == rows


def test_fc37_destroy_leaves_nothing(life: Json) -> None:
    """FC-37: backwards through the stacks, and the cloud has nothing left but what was made twice by the kill."""
    assert [("nodes", "destroyed"), ("identity", "destroyed"), ("model_store", "destroyed"), ("cluster", "destroyed"), ("network", "destroyed")] == states(
        life["destroy"]
    )
    left = {kind: things for kind, things in life["left"].items() if things}
    # A key that was under way when terraform was killed is the one that apply told about.
    expected = {"keys": ["Kubernetes secrets and control plane logs"]} if life["apply"]["warnings"] and left else {}
    assert expected == left


def test_what_the_old_provider_could_not_see_is_told(life: Json) -> None:
    """The plan says what was taken out for provider 3.39, so that nobody takes the run for a proof of those parts."""
    lines = life["plan"]["adapted"]
    print(*lines, sep="\n")
    assert "nodes: aws_launch_template.llama-405b-aggregated: network_interfaces.network_card_index is not in provider 3.39.0" in lines
    assert life["second_plan"]["adapted"] == lines
