"""A matrix of deployments, from the planner to the built tree: engines x topologies x tenants x kinds of scaling.

Each render is checked by the components' own schemas where the reference data lies beside this checkout, by those of Kubernetes
everywhere, and by kustomize where kubectl is installed.
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import rendered
import yaml
from inferform.plan import DeploymentPlan
from inferform.render import compatibility, render, tree

from tests.planning.specs import SMALL, model, plan

ACCEPT = Path(__file__).resolve().parents[2] / "../shared/accept/manifests.py"
LOAD: dict[str, Any] = {"burst": 3.0, "peak_rps": 30}
BIG = "meta-llama/Meta-Llama-3.1-405B"
GROUP: dict[str, Any] = {"parallelism": {"tp": 8, "pp": 2}, "workload": {**LOAD, "peak_rps": 6}, "slo": {"ttft_p95": "5s", "tpot_p95": "100ms"}}
LONG = {"peak_rps": 20, "burst": 2.0, "input_tokens": {"mean": 8000, "p95": 8000}, "output_tokens": {"mean": 200, "p95": 200}}
SPLIT: dict[str, Any] = {"max_model_len": 32768, "workload": LONG, "slo": {"ttft_p95": "3s", "tpot_p95": "15ms"}, "quantization": "fp8"}
TOPOLOGIES: dict[str, dict[str, Any]] = {
    "vllm": model(workload=LOAD),
    "vllm-older": model(workload=LOAD, engine_version="0.19.0"),
    "sglang": model(engine="sglang", workload=LOAD),
    "tensorrt-llm": model(engine="tensorrt-llm", workload=LOAD),
    "data-parallel": model(parallelism={"tp": 1, "dp": 2}, workload=LOAD, hardware={"instance_types": ["g6e.48xlarge"]}),
    "experts": model("openai/gpt-oss-120b", parallelism={"tp": 1, "dp": 2, "ep": 2}, workload={**LOAD, "peak_rps": 60}),
    "experts-sglang": model("openai/gpt-oss-120b", engine="sglang", parallelism={"tp": 2, "ep": 2}, workload={**LOAD, "peak_rps": 60}),
    "group": model(BIG, **GROUP),
    "group-sglang": model(BIG, engine="sglang", **GROUP),
    "group-queued": model(BIG, nodes={"closeness": {"scheduler": "kueue", "required": True}}, **GROUP),
    "router": model(SMALL, **SPLIT, topology={"prefill": 2, "decode": 1}),
    "dynamo": model(SMALL, **SPLIT, topology={"prefill": 2, "decode": 1, "runtime": "dynamo"}, engine_version="0.31.0"),
    "mig": model(workload=LOAD, hardware={"gpus": ["H100"], "sharing": {"mode": "mig", "profile": "3g.40gb"}}),
    "karpenter": model(workload=LOAD, nodes={"kind": "karpenter"}),
    "bottlerocket": model(workload=LOAD, nodes={"os": "bottlerocket"}),
    "embeddings": model(
        "BAAI/bge-large-en-v1.5", max_model_len=512,
        workload={"burst": 3.0, "peak_rps": 60, "input_tokens": {"mean": 100, "p95": 200}, "output_tokens": {"mean": 1, "p95": 1}},
    ),
}  # fmt: skip
TENANTS: dict[str, dict[str, Any]] = {
    "one": {},
    "strict": {"isolation": {"tier": "enterprise", "dedicated": True}},
    "many": {
        "isolation": {"tier": "free"},
        "gateway": {
            "host": "llm.example.com",
            "tls_secret": "llm-tls",
            "auth": {"jwt": {"issuer": "https://login.example.com/", "jwks_uri": "https://login.example.com/keys", "audiences": ["llm"]}},
            "limits": {"tokens_per_hour": 100_000, "requests_per_minute": 60, "store": "redis.redis-system.svc:6379"},
        },
    },
}
HOURS = {"timezone": "Europe/Berlin", "windows": {"day": {"days": ["mon", "tue"], "start": "08:00", "end": "18:00"}}}
SCALING: dict[str, dict[str, Any]] = {
    "keda": {},
    "hpa": {"scaling": {"hpa": {}}},
    "fixed": {"scaling": {"fixed": True}},
    "zero": {"scaling": {"min": 0}},
    "hours": {},
}
# Which kinds go with which topology: a split model has no zero, and its pools have their own signals.
CASES = [
    (topology, tenant, kind)
    for at, topology in enumerate(TOPOLOGIES)
    for step, kind in enumerate(SCALING)
    if not (kind == "zero" and topology in ("router", "dynamo"))
    for tenant in [tuple(TENANTS)[(at + step) % len(TENANTS)]]
]


@cache
def files_of(topology: str, tenant: str, kind: str) -> dict[str, str]:
    given = TOPOLOGIES[topology]
    if kind == "hours":
        given = {**given, "workload": {**given["workload"], "schedule": HOURS}}
    made = plan({"m": given}, **TENANTS[tenant], **SCALING[kind])
    scalers = {pool.scaling.kind for pool in made.models["m"].pools.values()}
    # What needs no scaler, such as embeddings on one node, has none.
    assert scalers <= {{"hpa": "hpa", "fixed": "fixed"}.get(kind, "keda"), "fixed"}
    return render(DeploymentPlan.model_validate(made.model_dump()))


@cache
def accept() -> Any:
    spec = importlib.util.spec_from_file_location("accept_manifests", ACCEPT)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_matrix_is_wide_enough() -> None:
    """At least forty renders, with every engine, topology, kind of tenant and kind of scaling among them."""
    assert len(set(CASES)) == len(CASES) >= 40
    for at, names in enumerate((TOPOLOGIES, TENANTS, SCALING)):
        assert set(names) == {case[at] for case in CASES}


@pytest.mark.slow
def test_every_render_is_accepted_by_the_components_schemas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """0 faults over the matrix: core and custom schemas, engine flags, triggers, pinned images, no secrets."""
    if not ACCEPT.exists():
        pytest.skip(rendered.NO_REFERENCE)
    checker = accept()
    found: dict[str, str] = {}
    seen: set[str] = set()
    for case in CASES:
        folder = tmp_path / "-".join(case)
        for path, text in files_of(*case).items():
            # A file that another case has just so was checked there.
            if path.endswith(".yaml") and not path.endswith("kustomization.yaml") and text not in seen:
                seen.add(text)
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_text(text)
        checker.faults.clear()
        monkeypatch.setattr(sys, "argv", ["manifests.py", str(folder)])
        checker.main()
        told = capsys.readouterr().out
        if checker.faults or " 0 faults" not in told:
            found["-".join(case)] = told[:2000]
    assert {} == found


@pytest.mark.slow
def test_every_core_object_meets_the_kubernetes_schema() -> None:
    """Strictly, at the version that the plan's cluster runs, without any data beside this checkout."""
    seen: set[str] = set()
    for case in CASES:
        for path, text in files_of(*case).items():
            if not path.endswith(".yaml") or path.endswith(("kustomization.yaml", "-values.yaml")) or text in seen:
                continue
            seen.add(text)
            for item in yaml.load_all(text, rendered.LOADER):
                if compatibility.target(item["apiVersion"]).component == "kubernetes":
                    kubernetes_validate.validate(item, "1.35", strict=True)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
def test_kustomize_builds_every_tree(tmp_path: Path) -> None:
    """kubectl kustomize gives exactly the rendered objects of every case."""

    def key(item: dict[str, Any]) -> tuple[str, str, str, str]:
        return item["apiVersion"], item["kind"], item["metadata"].get("namespace", ""), item["metadata"]["name"]

    for case in CASES:
        files = files_of(*case)
        folder = tmp_path / "-".join(case)
        tree.write(files, folder)
        built = subprocess.run(["kubectl", "kustomize", str(folder)], text=True, capture_output=True, check=False)
        assert 0 == built.returncode, (case, built.stderr)
        assert sorted(map(key, rendered.objects(files))) == sorted(map(key, yaml.load_all(built.stdout, rendered.LOADER))), case


@pytest.mark.slow
def test_trees_are_stable_sorted_and_owned() -> None:
    """A second render has the same bytes, files are sorted, and every object says whose it is."""
    for case in CASES:
        files = files_of(*case)
        assert list(files) == sorted(files)
        assert files == files_of.__wrapped__(*case), case
        for item in rendered.objects(files):
            labels = item["metadata"]["labels"]
            owned = {"app.kubernetes.io/managed-by": "inferform", "app.kubernetes.io/part-of": "demo", "inferform.dev/tenant": "acme"}
            assert owned.items() <= labels.items(), (case, item["kind"], item["metadata"]["name"])
