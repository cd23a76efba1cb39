"""What waits for what, read off the rendered objects alone: Services, probes, waiting containers, and who fills and reads the store."""

from __future__ import annotations

import itertools
from graphlib import TopologicalSorter
from typing import Any
from urllib.parse import urlsplit

import pytest
from inferform.render import render
from rendered import objects

from tests.planning.specs import LARGE, model, plan

SPLIT: dict[str, Any] = {"topology": {"prefill": 1, "decode": 2}, "parallelism": {"tp": 4}, "slo": {"ttft_p95": "4s"}}
GRAPH = {"topology": {**SPLIT["topology"], "runtime": "dynamo"}, "engine_version": "0.31.0"}
QUANTIZE = {"quantize": {"method": "fp8", "data": {"hub": "o/p"}}}


def pod_templates(item: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Pod templates of a workload by node name of the graph."""
    name, spec = item["metadata"]["name"], item.get("spec", {})
    if item["kind"] in ("Deployment", "Job"):
        return {name: spec["template"]}
    if item["kind"] == "LeaderWorkerSet":
        return {name: spec["leaderWorkerTemplate"]["leaderTemplate"]}
    return {f"{name}/{c['name']}": c["podTemplate"] for c in spec["components"]} if item["kind"] == "DynamoGraphDeployment" else {}


def graph(files: dict[str, str]) -> dict[str, set[str]]:
    """Workload -> workloads that must be ready, or done, before its main container starts."""
    found = objects(files)
    templates = {name: template for item in found for name, template in pod_templates(item).items()}
    services = {item["metadata"]["name"]: item["spec"] for item in found if item["kind"] == "Service"}
    edges: dict[str, set[str]] = {name: set() for name in templates}
    written = {values(c)["STORE"]: name for name, t in templates.items() for c in writers(t)}
    for name, template in templates.items():
        for container in template["spec"].get("initContainers", []):
            known = values(container)
            if "URL" in known:
                service = services[urlsplit(known["URL"]).hostname or ""]
                before = {n for n, t in templates.items() if service["selector"].items() <= t["metadata"]["labels"].items() and n != name}
                assert before, f"nothing answers behind {known['URL']}"
                # Only ready pods are behind a Service, so the wait is on readiness.
                assert not service.get("publishNotReadyAddresses")
                assert all("readinessProbe" in t["spec"]["containers"][0] for n, t in templates.items() if n in before)
                edges[name] |= before
            elif any("prefetch.sh" in word for word in container["command"]):
                edges[name].add(written[known["STORE"]])
    return edges


def writers(template: dict[str, Any]) -> list[dict[str, Any]]:
    return [c for c in template["spec"]["containers"] if any("import.sh" in w or w == "publish" for w in c.get("command", []))]


def values(container: dict[str, Any]) -> dict[str, str]:
    return {e["name"]: e.get("value", "") for e in container.get("env", [])}


@pytest.mark.parametrize(
    ("changes", "chain"),
    [
        ({"parallelism": {"tp": 4}}, ["m-import", "m-aggregated"]),
        (SPLIT, ["m-import", "m-prefill", "m-decode", "m-router"]),
        ({**SPLIT, "kv_tiers": {"cpu": "64Gi"}, "hardware": {"instance_types": ["p5.48xlarge"]}}, ["m-import", "m-prefill", "m-decode", "m-router"]),
        ({**SPLIT, **GRAPH}, ["m-import", "m/prefill", "m/decode", "m/frontend"]),
        ({**SPLIT, **QUANTIZE}, ["m-import", "m-quantize", "m-prefill", "m-decode", "m-router"]),
    ],
    ids=["aggregated", "router", "router with tiers", "dynamo", "quantized"],
)
def test_each_part_starts_when_the_one_before_is_ready(changes: dict[str, Any], chain: list[str]) -> None:
    """Weights, the KV store inside each prefill pod, prefill, decode, router: the graph has no circle and one order, which is that."""
    edges = graph(render(plan({"m": model(LARGE, **changes)})))
    order = list(TopologicalSorter(edges).static_order())
    named = [next(step for step in chain if name == step or name.startswith(f"{step}-")) for name in order]
    assert chain == named
    # Each waits for the one right before it, so there is no other order.
    for before, after in itertools.pairwise(chain):
        (waiting,) = [name for name in edges if name == after or name.startswith(f"{after}-")]
        assert any(name == before or name.startswith(f"{before}-") for name in edges[waiting]), (after, edges[waiting])
