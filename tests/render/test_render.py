"""The whole tree: accepted by the real schemas, stable, owned, and true to any value a plan may hold."""

from __future__ import annotations

import copy
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import golden
import kubernetes_validate
import pytest
import rendered
import samples
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from inferform.errors import InputError
from inferform.plan import DeploymentPlan
from inferform.render import FAMILIES, compatibility, render, tree

ACCEPT = Path(__file__).resolve().parents[2] / "../shared/accept/manifests.py"
SIGNALS = [
    {"signal": s, "target": t, "why": ""}
    for s, t in (("queue", 8.0), ("kv_use", 0.8), ("in_flight_tokens", 5e5), ("ttft_p95", 0.96), ("cpu", 80.0), ("request_rate", 3.818))
]
LIMITS = {
    "auth": {"api_keys_secret": "llm-keys", "jwt": None},
    "limits": {"tokens_per_hour": 100_000, "requests_per_minute": 600, "store": "redis.redis-system.svc:6379"},
}
JWT = {
    "api_keys_secret": None,
    "jwt": {"issuer": "https://login.example.com/", "jwks_uri": "https://login.example.com/keys", "audiences": ["llm"], "tenant_claim": "sub"},
}


def pools(**changes: Any) -> Callable[[dict[str, Any]], None]:
    def change(data: dict[str, Any]) -> None:
        for model in data["models"].values():
            for pool in model["pools"].values():
                for key, value in changes.items():
                    pool[key] = {**pool[key], **value} if isinstance(value, dict) else value

    return change


def gateway(**changes: Any) -> Callable[[dict[str, Any]], None]:
    return lambda data: data["gateway"].update(changes)


def old_engines(data: dict[str, Any]) -> None:
    del data["models"]["llama-405b"], data["models"]["bge"]
    for model in data["models"].values():
        model.update(engine_version="0.16.0", image="vllm/vllm-openai:v0.16.0")


ENGINES = {"sglang": ("0.5.23", "lmsysorg/sglang:v0.5.23"), "tensorrt-llm": ("1.3.0rc22", "nvcr.io/nvidia/tensorrt-llm/release:1.3.0rc22")}


def engine(name: str, *names: str) -> Callable[[dict[str, Any]], None]:
    """Another engine for these models, or for all that generate; TensorRT-LLM spans no nodes."""

    def change(data: dict[str, Any]) -> None:
        version, image = ENGINES[name]
        if name == "tensorrt-llm" and not names:
            del data["models"]["llama-405b"]
        for key, model in data["models"].items():
            if key in names or (not names and model["task"] == "generate"):
                model.update(engine=name, engine_version=version, image=image, checkpoint_quantized=True)
                for pool in model["pools"].values():
                    pool["lifecycle"] = {**pool["lifecycle"], "shutdown_timeout_s": None}

    return change


def disaggregated(data: dict[str, Any]) -> None:
    """llama-70b with one prefill and four decode replicas, each kind scaled on its own signals."""
    own = {"prefill": SIGNALS[:1] + SIGNALS[3:4], "decode": SIGNALS[1:3]}
    sizes = {"prefill": {"min": 1, "steady": 1, "max": 2}, "decode": {"min": 4, "steady": 4, "max": 8}}
    data["models"]["llama-70b"].update(
        topology="disaggregated",
        disaggregation="vllm-router",
        pools={
            role: samples.pool(
                role=role, replicas=size, scaling={"min": size["min"], "max": size["max"], "fallback_replicas": size["steady"], "triggers": own[role]}
            )
            for role, size in sizes.items()
        },
    )


def dynamo(data: dict[str, Any]) -> None:
    disaggregated(data)
    data["models"]["llama-70b"].update(disaggregation="dynamo", engine_version="0.31.0", image="vllm/vllm-openai:v0.31.0")


def both(*changes: Callable[[dict[str, Any]], None]) -> Callable[[dict[str, Any]], None]:
    return lambda data: [change(data) for change in changes] and None


CASES: dict[str, Callable[[dict[str, Any]], None]] = {
    "sample": lambda _: None,
    "hpa": pools(scaling={"kind": "hpa", "triggers": SIGNALS}),
    "all-signals": pools(scaling={"triggers": SIGNALS}),
    "to-zero": pools(scaling={"min": 0, "triggers": SIGNALS}),
    "idle": pools(scaling={"idle": 0}),
    "fixed": pools(scaling={"kind": "fixed"}),
    "limits": gateway(**LIMITS),
    "request-limits": gateway(**{**LIMITS, "limits": {**LIMITS["limits"], "tokens_per_hour": None}}),
    "jwt": gateway(auth=JWT),
    "plain-gateway": gateway(host=None, tls_secret=None, internal=False, timeout_s=1800.0),
    "no-gateway": gateway(enabled=False),
    "no-observability": lambda data: data["observability"].update(enabled=False),
    "bottlerocket": pools(infrastructure={"os": "bottlerocket"}),
    "custom-taint": pools(infrastructure={"taint_key": "team.example/gpu"}),
    "recreate": pools(lifecycle={"strategy": "Recreate"}),
    "batch": lambda data: [model.update(profile="batch") for model in data["models"].values()] and None,
    "old-engines": old_engines,
    "sglang": engine("sglang"),
    "sglang-hpa": both(engine("sglang"), pools(scaling={"kind": "hpa", "triggers": SIGNALS})),
    "sglang-to-zero": both(engine("sglang"), pools(scaling={"min": 0, "triggers": SIGNALS})),
    "tensorrt-llm": engine("tensorrt-llm"),
    "tensorrt-llm-hpa": both(engine("tensorrt-llm"), pools(scaling={"kind": "hpa", "triggers": SIGNALS})),
    "tensorrt-llm-all-signals": both(engine("tensorrt-llm"), pools(scaling={"triggers": SIGNALS})),
    "three-engines": both(engine("tensorrt-llm", "llama-70b"), engine("sglang", "llama-8b"), gateway(**LIMITS)),
    "disaggregated": disaggregated,
    "disaggregated-with-efa": both(
        disaggregated,
        lambda data: [p["infrastructure"].update(efa={"network_cards": 32, "interfaces": 32}) for p in data["models"]["llama-70b"]["pools"].values()] and None,
    ),
    "disaggregated-fixed": both(disaggregated, pools(scaling={"kind": "fixed"})),
    "disaggregated-with-limits": both(disaggregated, gateway(**LIMITS)),
    "dynamo": dynamo,
    "dynamo-fixed": both(dynamo, pools(scaling={"kind": "fixed"})),
    "dynamo-with-limits": both(dynamo, gateway(**LIMITS)),
    "only-embeddings": lambda data: data.update(models={"bge": data["models"]["bge"]}),
}


GOLDEN = {
    "sample": samples.sample_plan,
    "one-model-with-hpa-and-limits": lambda: rendered.one_pool(scaling={"kind": "hpa", "triggers": SIGNALS}).model_copy(
        update={"gateway": rendered.plan(CASES["limits"]).gateway}
    ),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_golden(name: str, golden_write: bool) -> None:
    """The tree of the case is what was reviewed."""
    golden.check(render(GOLDEN[name]()), Path(__file__).parent / "golden" / name, write=golden_write)


def changed_files(name: str) -> dict[str, str]:
    """Files of a case that the sample does not have just so; checking the others again would find nothing new."""
    files, base = render(rendered.plan(CASES[name])), render(samples.sample_plan())
    return {path: text for path, text in files.items() if name == "sample" or base.get(path) != text}


@pytest.mark.parametrize("name", ["sample", "hpa", "fixed", "recreate", "disaggregated", "tensorrt-llm"])
def test_core_objects_meet_the_kubernetes_schema(name: str) -> None:
    """Every core object passes the strict OpenAPI schema of the targeted Kubernetes version."""
    core = [item for item in rendered.objects(changed_files(name)) if compatibility.target(item["apiVersion"]).component == "kubernetes"]
    assert core
    for item in core:
        kubernetes_validate.validate(item, "1.33", strict=True)


@pytest.mark.parametrize("name", CASES)
def test_every_object_meets_its_components_schema(name: str, tmp_path: Path) -> None:
    """The acceptance check finds no fault: core and custom schemas, engine flags, triggers, pinned images, no secrets."""
    if not ACCEPT.exists():
        pytest.skip(rendered.NO_REFERENCE)
    for path, text in changed_files(name).items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    done = subprocess.run([sys.executable, str(ACCEPT), str(tmp_path)], text=True, capture_output=True, check=False)
    assert 0 == done.returncode, done.stdout + done.stderr
    assert " 0 faults" in done.stdout


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
@pytest.mark.parametrize("name", ["sample", "limits", "hpa", "disaggregated", "dynamo", "three-engines"])
def test_kustomize_builds_the_tree(name: str, tmp_path: Path) -> None:
    """kubectl kustomize gives exactly the rendered objects, for the whole and for each family."""
    files = render(rendered.plan(CASES[name]))
    tree.write(files, tmp_path / "out")
    built = subprocess.run(["kubectl", "kustomize", str(tmp_path / "out")], text=True, capture_output=True, check=True)

    def key(item: dict[str, Any]) -> tuple[str, str, str]:
        return item["apiVersion"], item["kind"], item["metadata"]["name"]

    assert sorted(map(key, rendered.objects(files))) == sorted(map(key, yaml.safe_load_all(built.stdout)))
    for family in yaml.safe_load(files["kustomization.yaml"])["resources"] if name == "limits" else ():
        subprocess.run(["kubectl", "kustomize", str(tmp_path / "out" / family)], capture_output=True, check=True)


@pytest.mark.parametrize("name", CASES)
def test_every_object_is_owned_and_in_its_place(name: str) -> None:
    """Every object carries owner labels, reads apiVersion, kind, metadata first, and stands in the tenant's or the agents' namespace."""
    plan = rendered.plan(CASES[name])
    cluster_wide = {"Namespace", "PersistentVolume", "PriorityClass", "GatewayClass"}
    seen = set()
    for item in rendered.objects(plan):
        assert ["apiVersion", "kind", "metadata"] == list(item)[:3]
        owned = {"app.kubernetes.io/managed-by": "inferform", "app.kubernetes.io/part-of": "contract-qa", "inferform.dev/tenant": "acme"}
        assert owned.items() <= item["metadata"]["labels"].items(), item["metadata"]["name"]
        assert (item["kind"] in cluster_wide) == ("namespace" not in item["metadata"])
        assert item["metadata"].get("namespace") in (None, "acme-contract-qa", "inferform-system")
        identity = (item["kind"], item["metadata"].get("namespace"), item["metadata"]["name"])
        assert identity not in seen
        seen.add(identity)


def test_the_index_lists_every_file_and_need() -> None:
    """index.json names the deployment, each file with its digest, and the components with the versions that the objects are for."""
    files = render(rendered.plan(CASES["limits"]))
    index = json.loads(files["index.json"])
    assert set(files) - {"index.json"} == set(index["files"])
    assert ("contract-qa", "prod", "0" * 64) == (index["deployment"], index["environment"], index["spec_digest"])
    needs = {compatibility.target(o["apiVersion"]) for o in rendered.objects(files)}
    assert dict(needs) == index["needs"]
    assert {"keda": "2.20.2", "lws": "0.10.0", "envoy-ai-gateway": "1.1.0"}.items() <= index["needs"].items()


def test_versions_are_those_of_the_published_schemas() -> None:
    """The compatibility table names the release that each custom kind's schema was read at."""
    path = rendered.REFERENCE / "crds/index.json"
    if not path.exists():
        pytest.skip(rendered.NO_REFERENCE)
    rows = json.loads(path.read_text())
    refs = {(row["apiVersion"], row["kind"]): row["ref"].removeprefix("v") for row in rows["schemas"]}
    for name in ("limits", "hpa", "sample"):
        for item in rendered.objects(rendered.plan(CASES[name])):
            found = compatibility.target(item["apiVersion"])
            if found.component != "kubernetes":
                assert found.version == refs[item["apiVersion"], item["kind"]]


def test_same_plan_same_bytes_everywhere(tmp_path: Path) -> None:
    """Another process with another hash seed in another folder renders the same bytes."""
    program = "import sys, json, samples; from inferform.render import render; sys.stdout.write(json.dumps(render(samples.sample_plan())))"
    outputs = set()
    for seed in ("1", "2"):
        folder = tmp_path / seed
        folder.mkdir()
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(samples.__file__).parent)}
        outputs.add(subprocess.run([sys.executable, "-c", program], cwd=folder, env=environment, text=True, capture_output=True, check=True).stdout)
    assert {json.dumps(render(samples.sample_plan()))} == outputs


def test_files_end_with_one_newline_and_hold_no_tabs() -> None:
    """Every file is text as editors and diff tools like it."""
    for path, text in render(rendered.plan(CASES["limits"])).items():
        assert text.endswith("\n"), path
        assert not text.endswith("\n\n"), path
        assert "\t" not in text, path
        assert [] == [line for line in text.splitlines() if line != line.rstrip()], path


def test_families_come_in_order() -> None:
    """The root kustomization lists the families that were rendered, agents first; one that has only values of charts is not for kustomize."""
    files = render(samples.sample_plan())
    assert "nodes/node-termination-values.yaml" in files
    assert [family for family in FAMILIES if family != "nodes"] == yaml.safe_load(files["kustomization.yaml"])["resources"]
    assert {path.split("/")[0] for path in files if "/" in path} == set(FAMILIES)


HOSTILE = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30),
    st.sampled_from(
        [
            "on",
            "1e3",
            "null",
            "~",
            "{{ 7*7 }}",
            "${HOME}",
            "$(HOME)",
            "%{x}",
            "a: b",
            "x\ny: z",
            "- a",
            '"',
            "'",
            "\\",
            "\x00",
            "../../etc",
            "\u2028",
            "é",
            "a #b",
            "---\nkind: Secret",
            "`id`",
            "; rm -rf /",
        ]
    ),
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.tuples(*[HOSTILE] * 7))
def test_any_value_of_a_plan_comes_back_as_it_was(values: tuple[str, ...]) -> None:
    """Whatever stands in a plan, the YAML is valid, holds exactly those values, nothing is evaluated, and no path leaves the tree."""
    name, model, tenant, bucket, host, source, extra = values
    data = copy.deepcopy(samples.plan_data())
    only = samples.model({"aggregated": samples.pool()}, served_name=model, source=source, gated=False, extra_args=["--chat-template", f"x{extra}"])
    data.update(name=name, tenant=tenant, models={model: only}, model_store={"bucket": bucket})
    data["gateway"]["host"] = host
    files = render(DeploymentPlan.model_validate(data))
    tree._check_paths(files)
    found = rendered.objects(files)
    deployment = rendered.one(found, "Deployment")
    assert tenant == deployment["metadata"]["labels"]["inferform.dev/tenant"]
    assert f"{model}-aggregated" == deployment["metadata"]["name"]
    pod = deployment["spec"]["template"]["spec"]
    args = [word.replace("$$", "$") for word in pod["containers"][0]["args"]]
    named = [f"--served-model-name={model}"] if model.startswith("-") else ["--served-model-name", model]
    assert ["/models/weights", *named] == args[: 1 + len(named)]
    assert ["--chat-template", f"x{extra}"] == args[-2:]
    environment = {e["name"]: e["value"].replace("$$", "$") for e in pod["initContainers"][0]["env"]}
    assert f"s3://{bucket}/models/{model}" == environment["STORE"]
    assert [host] == rendered.one(found, "HTTPRoute")["spec"]["hostnames"]
    assert name == rendered.one(found, "Gateway")["metadata"]["name"]
    assert [] == rendered.objects(found, "Secret")


def test_every_contradiction_is_reported_at_once() -> None:
    """A plan with three faults gives three problems in one error."""
    with pytest.raises(InputError) as error:
        render(rendered.one_pool(lifecycle={"grace_s": 1, "progress_deadline_s": 1}))
    assert ["grace_s", "progress_deadline_s"] == [p.field.rsplit(".", 1)[1] for p in error.value.problems]
