"""`inferform render --tenants`: one template, a tree a tenant."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from specs import MINIMAL, write

Run = Callable[..., Any]
CSV = """\
tenant,models.llama-8b.workload.peak_rps,isolation.tier,isolation.dedicated
acme,2,enterprise,true
beta,4,,
gamma,200,free,
delta,,,
epsilon,1,standard,false
"""
NAMES = ["acme", "beta", "gamma", "delta", "epsilon"]


def tree(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Content and time of change of every file."""
    return {p.relative_to(folder).as_posix(): (p.read_bytes(), p.stat().st_mtime_ns) for p in sorted(folder.rglob("*")) if p.is_file()}


def documents(folder: Path, path: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((folder / path).read_text()))


def test_each_tenant_gets_a_whole_tree_with_its_values(tmp_path: Path, inferform: Run) -> None:
    """Five tenants: namespace, owner labels, priority and replicas are each tenant's own; what a cell leaves empty is the template's."""
    out = tmp_path / "out"
    ran = inferform("render", write(tmp_path, MINIMAL), "--tenants", write(tmp_path, CSV, "t.csv"), "--out", out, "--format", "json")
    assert (0, sorted(NAMES), NAMES) == (ran.code, ran.data["tenants"], ran.data["written"])
    most = {}
    for name in NAMES:
        (namespace,) = documents(out, f"{name}/serving/namespace.yaml")
        assert (f"{name}-demo", name) == (namespace["metadata"]["name"], namespace["metadata"]["labels"]["inferform.dev/tenant"])
        (deployment,) = documents(out, f"{name}/serving/llama-8b-aggregated.yaml")
        pod = deployment["spec"]["template"]["spec"]
        classes = {"acme": "inferform-enterprise", "gamma": "inferform-free"}
        assert classes.get(name, "inferform-serving") == pod["priorityClassName"]
        assert (name == "acme") == any(t["key"] == "inferform.dev/tenant" for t in pod["tolerations"])
        quota = documents(out, f"{name}/isolation/resource-quota.yaml")[0]
        most[name] = int(quota["spec"]["hard"]["requests.nvidia.com/gpu"])
    assert most["gamma"] > most["delta"]
    assert most["delta"] == most["acme"]


def test_what_has_not_changed_is_not_touched(tmp_path: Path, inferform: Run) -> None:
    """A second run writes nothing; changing, adding and removing one tenant leaves every file of the others as it was, in content and time."""
    spec, out = write(tmp_path, MINIMAL), tmp_path / "out"
    inferform("render", spec, "--tenants", write(tmp_path, CSV, "t.csv"), "--out", out)
    before = tree(out)
    time.sleep(0.02)
    again = inferform("render", spec, "--tenants", tmp_path / "t.csv", "--out", out, "--format", "json").data
    assert ([], sorted(NAMES), []) == (again["written"], sorted(again["unchanged"]), again["removed"])
    assert before == tree(out)
    changed = CSV.replace("beta,4,,", "beta,4,free,").replace("delta,,,\n", "zeta,3,,\n")
    third = inferform("render", spec, "--tenants", write(tmp_path, changed, "t.csv"), "--out", out, "--format", "json").data
    assert (["beta", "zeta"], ["acme", "epsilon", "gamma"], ["delta"]) == (sorted(third["written"]), sorted(third["unchanged"]), third["removed"])
    after = tree(out)
    kept = [path for path in before if path.split("/")[0] in ("acme", "gamma", "epsilon")]
    assert kept and all(before[path] == after[path] for path in kept)
    assert not (out / "delta").exists() and (out / "zeta/kustomization.yaml").exists()


def test_yaml_says_the_same_as_csv(tmp_path: Path, inferform: Run) -> None:
    """The same values in either form give the same bytes; a tenant without values takes the template."""
    entries = {
        "acme": {"models": {"llama-8b": {"workload": {"peak_rps": 2}}}, "isolation": {"tier": "enterprise", "dedicated": True}},
        "beta": {"models": {"llama-8b": {"workload": {"peak_rps": 4}}}},
        "gamma": {"models": {"llama-8b": {"workload": {"peak_rps": 200}}}, "isolation": {"tier": "free"}},
        "delta": None,
        "epsilon": {"models": {"llama-8b": {"workload": {"peak_rps": 1}}}, "isolation": {"tier": "standard", "dedicated": False}},
    }
    spec = write(tmp_path, MINIMAL)
    inferform("render", spec, "--tenants", write(tmp_path, CSV, "t.csv"), "--out", tmp_path / "a")
    assert 0 == inferform("render", spec, "--tenants", write(tmp_path, yaml.safe_dump({"tenants": entries}), "t.yaml"), "--out", tmp_path / "b").code
    assert {p: content for p, (content, _) in tree(tmp_path / "a").items()} == {p: content for p, (content, _) in tree(tmp_path / "b").items()}


@pytest.mark.parametrize(
    ("name", "text", "field", "message"),
    [
        ("t.csv", "tenant,isolation.tier\nacme,gold\n", "tenants.acme.isolation.tier", "enterprise"),
        ("t.csv", "tenant,isolation.teir\nacme,free\n", "tenants.acme.isolation.teir", "tier"),
        ("t.csv", "tenant,models.m\nacme\n", "row", "1 cells for 2 columns"),
        ("t.csv", "name,isolation.tier\nacme,free\n", "columns", "has no column tenant"),
        ("t.csv", "tenant\nacme\nacme\n", "tenants", "stands twice"),
        ("t.csv", "tenant\nAcme_1\n", "tenants", "is no name"),
        ("t.csv", "tenant,environments.x\nacme,1\n", "tenants.acme.environments", "cannot be set for a tenant"),
        ("t.csv", "tenant,isolation,isolation.tier\nacme,free,free\n", "isolation.tier", "has no fields"),
        ("t.csv", "tenant\n", "tenants", "names no tenant"),
        ("t.yaml", "tenants: {acme: {tenant: beta}}\n", "tenants.acme.tenant", "cannot be set for a tenant"),
        ("t.yaml", "tenants: {acme: [1]}\n", "tenants.acme", "wants a mapping"),
        ("t.yaml", "acme: {}\n", "acme", "is not known here"),
    ],
)
def test_what_is_wrong_is_told_at_its_place(tmp_path: Path, inferform: Run, *, name: str, text: str, field: str, message: str) -> None:
    """File, line, field and the nearest fix; nothing is written."""
    ran = inferform("render", write(tmp_path, MINIMAL), "--tenants", write(tmp_path, text, name), "--out", tmp_path / "out", "--format", "json")
    assert 2 == ran.code
    problem = next(p for p in ran.error["problems"] if p["field"] == field)
    assert message in str(problem) and problem["file"].endswith(name)
    assert not (tmp_path / "out").exists()


def test_every_tenants_problems_are_told_at_once(tmp_path: Path, inferform: Run) -> None:
    """Two tenants that cannot be sized are both named, and a third that could be is not written either."""
    text = "tenant,models.llama-8b.hardware.gpus\nacme,[H999]\nbeta,[L4]\ngamma,[H998]\n"
    ran = inferform("render", write(tmp_path, MINIMAL), "--tenants", write(tmp_path, text, "t.csv"), "--out", tmp_path / "out", "--format", "json")
    told = str(ran.error["problems"])
    assert 2 == ran.code and "for tenant acme" in told and "for tenant gamma" in told and "tenant beta" not in told
    assert not (tmp_path / "out").exists()


def test_a_folder_of_somebody_else_is_left_alone(tmp_path: Path, inferform: Run) -> None:
    """A folder with other files, and a single tree, are refused; so is a tenant's tree with files that were added."""
    spec, table = write(tmp_path, MINIMAL), write(tmp_path, "tenant\nacme\n", "t.csv")
    single = tmp_path / "single"
    inferform("render", spec, "--out", single)
    assert 2 == inferform("render", spec, "--tenants", table, "--out", single).code
    out = tmp_path / "out"
    inferform("render", spec, "--tenants", table, "--out", out)
    (out / "acme/notes.txt").write_text("mine")
    ran = inferform("render", spec, "--tenants", write(tmp_path, "tenant\nbeta\n", "u.csv"), "--out", out)
    assert (2, "mine", False) == (ran.code, (out / "acme/notes.txt").read_text(), (out / "beta").exists())


def test_trees_for_one_cluster_are_warned_about(tmp_path: Path, inferform: Run) -> None:
    """Whole trees would overwrite each other's platform objects in one cluster; tenants with names of their own have clusters of their own."""
    spec = write(tmp_path, MINIMAL)
    same = inferform("render", spec, "--tenants", write(tmp_path, "tenant\na\nb\n", "same.csv"), "--out", tmp_path / "same")
    assert "a, b share the cluster name demo-default in us-east-1" in same.err
    own = inferform("render", spec, "--tenants", write(tmp_path, "tenant,name\na,demo-a\nb,demo-b\n", "own.csv"), "--out", tmp_path / "own")
    assert (0, False) == (own.code, "share the cluster name" in own.err)
