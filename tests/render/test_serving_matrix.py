"""Every way to serve (degrees, nodes, roles, tiers, quantization, routers) of every engine: what is rendered is what a cluster takes."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import rendered
from inferform.plan import DeploymentPlan
from inferform.render import render, tree
from inferform.schemas import check_schemas
from inferform.schemas_custom import CustomKinds, from_folder
from rendered import objects

from tests.planning.specs import LARGE, SMALL, model, plan

HUGE = "meta-llama/Meta-Llama-3.1-405B"
P5: dict[str, Any] = {"hardware": {"instance_types": ["p5.48xlarge"]}}
WIDE: dict[str, Any] = {"quantization": "bf16", "parallelism": {"tp": 8, "pp": 2}, "slo": {"ttft_p95": "20s", "tpot_p95": "200ms"}, **P5}
SPLIT: dict[str, Any] = {"topology": {"prefill": 1, "decode": 2}, "parallelism": {"tp": 4}, "slo": {"ttft_p95": "4s"}, "quantization": "bf16", **P5}
DYNAMO: dict[str, Any] = {**SPLIT, "topology": {"prefill": 1, "decode": 2, "runtime": "dynamo"}, "engine_version": "0.31.0"}
TIERS = {"kv_tiers": {"cpu": "100Gi", "disk": "300Gi"}}
QUANTIZE = {"quantize": {"method": "gptq", "data": {"uri": "s3://acme-data/p.jsonl"}}}
EMBED = {"max_model_len": 512, "workload": {"peak_rps": 50, "input_tokens": {"mean": 100, "p95": 200}, "output_tokens": {"mean": 1, "p95": 1}}}
SHAPES: dict[str, dict[str, Any]] = {
    "vllm": model(SMALL),
    "vllm-tp": model(LARGE, parallelism={"tp": 4}, **P5),
    "vllm-nodes": model(HUGE, **WIDE),
    "vllm-dp": model(SMALL, parallelism={"tp": 1, "dp": 2}, hardware={"instance_types": ["g6e.48xlarge"]}),
    "vllm-experts": model("openai/gpt-oss-120b", parallelism={"tp": 1, "dp": 2, "ep": 2}),
    "vllm-router": model(LARGE, **SPLIT),
    "vllm-router-tiers": model(LARGE, **SPLIT, **TIERS),
    "dynamo": model(LARGE, **DYNAMO),
    "dynamo-tiers": model(LARGE, **DYNAMO, **TIERS),
    "vllm-tiers": model(SMALL, **P5, **TIERS),
    "vllm-quantize": model(SMALL, **QUANTIZE),
    "vllm-prefix": model(SMALL, routing="prefix"),
    "vllm-prefix-nodes": model(HUGE, routing="prefix", **WIDE),
    "embeddings": model("BAAI/bge-large-en-v1.5", **EMBED),
    "sglang": model(SMALL, engine="sglang"),
    "sglang-nodes": model(HUGE, engine="sglang", **WIDE),
    "sglang-tiers": model(SMALL, engine="sglang", quantization="bf16", **P5, **TIERS),
    "tensorrt-llm": model(SMALL, engine="tensorrt-llm", quantization="bf16"),
    "tensorrt-llm-tiers": model(SMALL, engine="tensorrt-llm", quantization="bf16", kv_tiers={"cpu": "100Gi"}, **P5),
}
KINDS = ("keda", "fixed")
CASES = [(name, kind) for name in SHAPES for kind in KINDS]


@cache
def planned(name: str) -> DeploymentPlan:
    """Tenants take turns, so that names of several stand in the objects."""
    tenant = ("acme", "globex", "initech")[list(SHAPES).index(name) % 3]
    return plan({"m": SHAPES[name]}, tenant=tenant, isolation={"dedicated": tenant == "globex"})


@cache
def files(name: str, kind: str) -> dict[str, str]:
    data = planned(name).model_dump(mode="json")
    for pool in data["models"]["m"]["pools"].values():
        pool["scaling"]["kind"] = kind
    return render(DeploymentPlan.model_validate(data))


@cache
def definitions() -> CustomKinds:
    return from_folder(rendered.REFERENCE / "crds")


@pytest.mark.skipif(not rendered.REFERENCE.exists(), reason=rendered.NO_REFERENCE)
@pytest.mark.parametrize(("name", "kind"), CASES)
def test_a_cluster_takes_every_object(name: str, kind: str) -> None:
    """No fault against the schemas of Kubernetes and of every component, no object twice, and each says who owns it."""
    made = files(name, kind)
    checked = check_schemas(made, planned(name).cloud.kubernetes_version, definitions())
    assert [] == list(checked.faults)
    assert checked.objects > 15
    for item in objects(made):
        assert "inferform" == item["metadata"]["labels"]["app.kubernetes.io/managed-by"], item["metadata"]["name"]
    keys = [(o["apiVersion"], o["kind"], o["metadata"].get("namespace"), o["metadata"]["name"]) for o in objects(made)]
    assert len(keys) == len(set(keys))
    assert list(made) == sorted(made)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
@pytest.mark.parametrize("name", SHAPES)
def test_kustomize_builds_every_tree(name: str, tmp_path: Path) -> None:
    """kubectl builds the whole tree to as many objects as it holds."""
    tree.write(files(name, "keda"), tmp_path / "out")
    built = subprocess.run(["kubectl", "kustomize", str(tmp_path / "out")], capture_output=True, text=True, check=False)
    assert 0 == built.returncode, built.stderr
    assert len(objects(files(name, "keda"))) == sum(line.startswith("kind: ") for line in built.stdout.splitlines())
