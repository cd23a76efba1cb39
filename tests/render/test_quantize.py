"""The quantization job as rendered: steps in order, data as data, the gate, room in quota and network, and nodes of its own."""

from __future__ import annotations

from typing import Any

from inferform.render import render
from rendered import objects, one
from synthesis import stacks_of

from tests.planning.specs import SMALL, model, plan

S3 = {"method": "gptq", "group_size": 64, "data": {"uri": "s3://acme-data/p.jsonl", "field": "prompt"}}


def made(**changes: Any) -> Any:
    return plan({"m": model(SMALL, quantize=S3, **changes)})


def job(source: Any) -> dict[str, Any]:
    (found,) = [o for o in objects(source, "Job") if "-quantize-" in o["metadata"]["name"]]
    return dict(found)


def steps(source: Any) -> dict[str, dict[str, Any]]:
    pod = job(source)["spec"]["template"]["spec"]
    return {c["name"]: c for c in [*pod["initContainers"], *pod["containers"]]}


def values(step: dict[str, Any]) -> dict[str, str]:
    return {e["name"]: e.get("value", "") for e in step["env"]}


def test_steps_run_one_after_the_other() -> None:
    """Data and original come first, then the GPU works, then the result is published; only one step holds a GPU."""
    found = steps(made())
    assert ["fetch", "base", "quantize", "publish"] == list(found)
    assert ["quantize"] == [name for name, step in found.items() if "nvidia.com/gpu" in step["resources"]["limits"]]
    assert {"fetch", "run", "publish"} == {step["command"][-1] for name, step in found.items() if name != "base"}
    run = values(found["quantize"])
    expected = {"METHOD": "gptq", "GROUP_SIZE": "64", "SAMPLES": "256", "DATA_FIELD": "prompt", "DATA_URI": "s3://acme-data/p.jsonl", "BASE": "/models/weights"}
    assert expected == {key: run[key] for key in expected}


def test_pods_load_only_what_passed() -> None:
    """The import and the job's own fetch use base/; the publishing step writes where serving pods read, behind the share."""
    files = render(made())
    found = steps(files)
    store = values(found["publish"])["STORE"]
    (imported,) = [o for o in objects(files, "Job") if "-import-" in o["metadata"]["name"]]
    assert f"{store}/base" == values(imported["spec"]["template"]["spec"]["containers"][0])["STORE"] == values(found["base"])["STORE"]
    serving = one(files, "Deployment", "m-aggregated")["spec"]["template"]["spec"]["initContainers"][0]
    assert store == values(serving)["STORE"]
    assert "0.96" == values(found["publish"])["MIN_SCORE_SHARE"]
    # Without a job the import fills the store itself.
    (plain,) = objects(plan({"m": model()}), "Job")
    assert not values(plain["spec"]["template"]["spec"]["containers"][0])["STORE"].endswith("/base")


def test_its_name_follows_its_inputs() -> None:
    """A job cannot be changed: other data, another method or another share make another job; another load does not."""
    names = {
        job(plan({"m": model(SMALL, quantize={**S3, **change})}))["metadata"]["name"]
        for change in ({}, {"method": "awq"}, {"samples": 128}, {"data": {"hub": "o/p"}}, {"evaluation": {"min_score_share": 0.9}})
    }
    assert 5 == len(names)
    assert job(made())["metadata"]["name"] == job(made(workload={"burst": 1.5}))["metadata"]["name"]


def test_the_pod_meets_the_restricted_standard() -> None:
    """No root, no privileges, no writable root, no account token; the account is the one that may write the model's prefix."""
    pod = job(made())["spec"]["template"]["spec"]
    assert ("m-import", False, True) == (pod["serviceAccountName"], pod["automountServiceAccountToken"], pod["securityContext"]["runAsNonRoot"])
    for step in steps(made()).values():
        assert {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}} == step["securityContext"]


def test_a_token_comes_by_reference_where_the_hub_is_asked() -> None:
    """FC-34: HF_TOKEN from the Secret for data of the hub, none for data in S3."""
    hub = steps(plan({"m": model(SMALL, quantize={"method": "fp8", "data": {"hub": "o/p"}})}))["quantize"]
    (token,) = [e for e in hub["env"] if e["name"] == "HF_TOKEN"]
    assert {"secretKeyRef": {"name": "hf-token", "key": "token"}} == token["valueFrom"]
    assert "HF_TOKEN" not in values(steps(made())["quantize"])


def test_quota_limits_and_network_have_room_for_it() -> None:
    """One pod, one GPU and its memory more; its container is below the limit of the namespace; it may reach the store."""
    with_job, without = ({k: o for o in objects(p) for k in [(o["kind"], o["metadata"]["name"])]} for p in (made(), plan({"m": model(quantization="gptq")})))
    hard = [found[("ResourceQuota", "capacity")]["spec"]["hard"] for found in (with_job, without)]
    assert (1, 1) == tuple(int(hard[0][key]) - int(hard[1][key]) for key in ("pods", "requests.nvidia.com/gpu"))
    most = with_job[("LimitRange", "defaults")]["spec"]["limits"][0]["max"]["memory"]
    assert mebi(most) >= mebi(steps(made())["quantize"]["resources"]["limits"]["memory"])
    (reach,) = [o for (kind, name), o in with_job.items() if kind == "NetworkPolicy" and name == "allow-weights"]
    assert "model-quantize" in reach["spec"]["podSelector"]["matchExpressions"][0]["values"]


def mebi(text: str) -> int:
    return int(text.removesuffix("Mi")) if text.endswith("Mi") else int(text.removesuffix("Gi")) * 1024


def test_its_nodes_stand_at_zero_until_it_waits() -> None:
    """A managed group of the chosen type, none to one node, with the labels that the job asks for and the taint it tolerates."""
    source = made()
    wanted = source.models["m"].quantize
    groups = stacks_of(source)["nodes"]["resource"]["aws_eks_node_group"]
    group = groups["m-quantize"]
    assert {"min_size": 0, "desired_size": 0, "max_size": 1} == group["scaling_config"]
    assert ([wanted.instance_type], "ON_DEMAND") == (group["instance_types"], group["capacity_type"])
    pod = job(source)["spec"]["template"]["spec"]
    assert pod["nodeSelector"].items() <= group["labels"].items()
    assert {t["key"] for t in group["taint"]} == {t["key"] for t in pod["tolerations"]}
    assert ["scaling_config[0].desired_size"] == group["lifecycle"]["ignore_changes"]
    # The autoscaler learns of the disk that the job asks for from a tag.
    disk = int(group["tags"]["k8s.io/cluster-autoscaler/node-template/resources/ephemeral-storage"])
    asked = next(c["resources"]["requests"]["ephemeral-storage"] for c in pod["initContainers"] if c["name"] == "quantize")
    assert disk >= mebi(asked) * 2**20
    assert "m-quantize" not in stacks_of(plan({"m": model()}))["nodes"]["resource"]["aws_eks_node_group"]


def test_its_group_is_scaled_where_karpenter_owns_every_pool() -> None:
    """Only the Cluster Autoscaler can start its node: the role is there with the job, and not without it."""
    role = "cluster-autoscaler"
    karpenter = {"nodes": {"kind": "karpenter"}}
    assert role in stacks_of(made(**karpenter))["identity"]["resource"]["aws_eks_pod_identity_association"]
    assert role not in stacks_of(plan({"m": model(SMALL, **karpenter)}))["identity"]["resource"]["aws_eks_pod_identity_association"]


def test_it_may_read_its_data_and_nothing_else() -> None:
    """The account that writes weights gets that one object."""
    policies = stacks_of(made())["identity"]["resource"]["aws_iam_role_policy"]
    text = policies["m-import-write-weights"]["policy"]
    assert '"arn:aws:s3:::acme-data/p.jsonl"' in text
    assert "acme-data" not in policies["m-serving-read-weights"]["policy"]
