"""From a plan to a tree of stacks."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

import golden
import pytest
import samples
from hypothesis import given, settings
from hypothesis import strategies as st
from inferform.errors import InputError
from inferform.plan import DeploymentPlan
from inferform.stacks.app import assemble, stack_kinds, synthesize
from inferform.stacks.cdk import Library
from inferform.stacks.schema import SchemaError
from synthesis import changed, part, sample_stacks, stacks_of

GOLDEN = Path(__file__).parent / "golden"
TESTS = Path(__file__).resolve().parents[1]


def _edges(data: dict[str, Any]) -> None:
    """Local state, public gateway and API, Bottlerocket, an own image, a reservation with spot overflow, and a capacity block."""
    data["state"]["backend"] = "local"
    data["gateway"]["internal"] = False
    data["cloud"]["public_cidrs"] = ["203.0.113.0/24"]
    data["protected"] = True
    block = part("capacity_block", (0, 2, 2), reservation_id="cr-0bbbbbbbbbbbbbbbb", zone="use1-az4", ends_at="2026-12-24T11:30:00Z")
    reserved = part("reserved", (2, 2, 2), reservation_id="cr-0aaaaaaaaaaaaaaaa")
    self_managed = {"kind": "self_managed", "ami_type": None}
    pools = {
        "bottlerocket": samples.pool(infrastructure={"os": "bottlerocket", "ami_type": "BOTTLEROCKET_x86_64_NVIDIA", "taint_key": "example.com/gpu"}),
        "own-image": samples.pool(infrastructure={"ami_id": "ami-0123456789abcdef0", "ami_type": None, "autoscaled": False, "max_pods": 110}),
        "overflow": samples.pool(purchase=[reserved, part("on_demand", (0, 1, 1)), part("spot", (0, 0, 3))], infrastructure=self_managed),
        "training-block": samples.pool(purchase=[block], infrastructure=self_managed),
        "bare": samples.pool(infrastructure={**self_managed, "os": "bottlerocket"}),
    }
    data["models"] = {name: samples.model({"aggregated": pool}) for name, pool in pools.items()}


CASES: dict[str, Callable[[], DeploymentPlan]] = {"sample": samples.sample_plan, "edges": lambda: changed(_edges)}


@pytest.mark.parametrize("library", get_args(Library))
@pytest.mark.parametrize("case", CASES)
def test_golden(case: str, library: Library, tmp_path: Path, golden_write: bool) -> None:
    """Every stack of the case is what was reviewed, byte for byte, under both libraries."""
    pytest.importorskip(library)
    synthesize(CASES[case](), tmp_path, library)
    found = {p.relative_to(tmp_path).as_posix(): p.read_text(encoding="utf-8") for p in sorted(tmp_path.rglob("*.json"))}
    golden.check(found, GOLDEN / case, write=golden_write)


def test_fc37_stacks_stand_on_each_other(tmp_path: Path) -> None:
    """network <- cluster <- nodes; every stack comes after those it reads, and none holds Kubernetes or Helm resources."""
    manifest = synthesize(samples.sample_plan(), tmp_path)
    dependencies = {s.name: set(s.dependencies) for s in manifest.stacks}
    assert {
        "network": set(),
        "cluster": {"network"},
        "model_store": set(),
        "identity": {"cluster", "model_store"},
        "nodes": {"network", "cluster"},
    } == dependencies
    for position, name in enumerate(manifest.order):
        assert dependencies[name] <= set(manifest.order[:position])
    for name, stack in sample_stacks().items():
        assert set(stack.get("data", {}).get("terraform_remote_state", {})) <= dependencies[name]
        assert {"aws"} == set(stack["terraform"]["required_providers"])


def test_fc35_no_placeholder_is_left() -> None:
    """No token, creation stack or note of the library is in any file, and every list attribute is a list or one whole expression."""
    text = json.dumps(sample_stacks())
    assert not [mark for mark in ("TfToken[", "Token[", "creationStack", '"//"') if mark in text]
    for stack in sample_stacks().values():
        for group in stack["resource"].get("aws_eks_node_group", {}).values():
            assert isinstance(group["subnet_ids"], list) or (group["subnet_ids"].startswith("${") and group["subnet_ids"].endswith("}"))


def test_no_path_of_the_machine_is_left(tmp_path: Path) -> None:
    """Neither the working directory nor the output folder appears in what was written."""
    synthesize(CASES["edges"](), tmp_path)
    text = "".join(p.read_text(encoding="utf-8") for p in tmp_path.rglob("*.json"))
    assert not [p for p in (str(tmp_path), str(Path.cwd()), str(Path.home())) if p in text]


@pytest.mark.slow
def test_the_same_plan_gives_the_same_bytes(tmp_path: Path) -> None:
    """Another folder, process, hash seed, locale and set of cdktf variables change nothing."""
    program = "import sys; from pathlib import Path; import samples; from inferform.stacks.app import synthesize; synthesize(samples.sample_plan(), Path(sys.argv[1]))"
    trees = []
    for seed in ("0", "4242"):
        out = tmp_path / f"out-{seed}" / "deep"
        cwd = tmp_path / f"cwd-{seed}"
        cwd.mkdir()
        noise = {"CDKTF_OUTDIR": str(cwd), "SYNTH_HCL_OUTPUT": "true", "CDKTF_CONTEXT_JSON": '{"excludeStackIdFromLogicalIds": "true"}', "LC_ALL": "C"}
        env = {**os.environ, "PYTHONPATH": str(TESTS), "PYTHONHASHSEED": seed, **(noise if seed == "0" else {})}
        done = subprocess.run([sys.executable, "-c", program, str(out)], cwd=cwd, env=env, check=True, capture_output=True)
        assert (b"", b"") == (done.stdout, done.stderr)
        assert [] == list(cwd.iterdir())
        trees.append({p.relative_to(out).as_posix(): p.read_bytes() for p in out.rglob("*") if p.is_file()})
    assert trees[0] == trees[1]
    assert 6 == len(trees[0])


def test_a_plan_that_cannot_be_built_writes_nothing(tmp_path: Path) -> None:
    """An impossible pool leaves an earlier tree as it was, and no new one."""
    bad = changed(lambda d: d["cloud"].update(vpc_cidr="10.0.0.0/28"))
    with pytest.raises(InputError, match=r"cloud\.vpc_cidr"):
        synthesize(bad, tmp_path / "new")
    assert not (tmp_path / "new").exists()
    synthesize(samples.sample_plan(), tmp_path)
    before = {p: p.read_bytes() for p in tmp_path.rglob("*.json")}
    with pytest.raises(InputError):
        synthesize(bad, tmp_path)
    assert before == {p: p.read_bytes() for p in tmp_path.rglob("*.json")}


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from (key, *_strings(inner))
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)


@settings(max_examples=12, deadline=None)
@given(st.text(st.sampled_from('${}%[]"\\\n\r#aé'), min_size=1, max_size=12) | st.sampled_from(['${file("x")}', "%{for a in b}", "$${a}", "TfToken["]))
def test_what_stands_in_a_plan_is_never_evaluated(hostile: str) -> None:
    """Hostile text in tenant, admins and ranges comes out escaped, or is refused as a whole; it never opens an expression."""
    plan = changed(lambda d: d.update(tenant=hostile, cloud={**d["cloud"], "admins": [f"arn:aws:iam::1:role/{hostile}"], "public_cidrs": [hostile]}))
    try:
        stacks = stacks_of(plan)
    except InputError as err:
        assert "internal token" in str(err)
        return
    assert hostile == stacks["network"]["provider"]["aws"][0]["default_tags"][0]["tags"]["tenant"].replace("$${", "${").replace("%%{", "%{")
    ours = re.compile(r"\$\{(data\.|aws_|local\.|base64encode\(|matchkeys\(|sort\(|anytrue\(|values\()")
    for text in _strings(stacks):
        opened = re.findall(r"(?<!\$)\$\{", text.replace("$${", ""))
        assert len(opened) == len(ours.findall(text))


def test_every_stack_of_the_plan_is_assembled_by_the_library_itself(tmp_path: Path) -> None:
    """The library's own layout names the same stacks with the same dependencies, for users of its command line."""
    plan = samples.sample_plan()
    assemble(plan, tmp_path)
    stacks = json.loads((tmp_path / "manifest.json").read_text(encoding="utf-8"))["stacks"]
    assert {k.name: sorted(k.reads) for k in stack_kinds(plan)} == {n: sorted(s["dependencies"]) for n, s in stacks.items()}


def test_faults_of_all_stacks_come_at_once(tmp_path: Path) -> None:
    """When resources of two stacks do not fit the schema, synth fails with every fault and writes nothing."""
    plan = changed(lambda d: d.update(models={"m": d["models"]["bge"]}))
    # Copies are not validated, so wrong types reach the stacks.
    spoiled = plan.model_copy(update={"namespace": 7, "model_store": plan.model_store.model_copy(update={"bucket": 5})})
    with pytest.raises(SchemaError) as caught:
        synthesize(spoiled, tmp_path / "out")
    assert (
        "model_store: aws_s3_bucket.models.bucket: expected a string, found a number ('5')",
        "identity: aws_eks_pod_identity_association.m-serving.namespace: expected a string, found a number ('7')",
        "identity: aws_eks_pod_identity_association.m-import.namespace: expected a string, found a number ('7')",
    ) == caught.value.faults
    assert not (tmp_path / "out").exists()
