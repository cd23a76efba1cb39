"""`inferform check` gives the verdict in four forms and ends with 3 where it denies."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from specs import MINIMAL, write

Run = Callable[..., object]
GOOD = MINIMAL + "capacity: {warm_standby: 1}\ngateway: {host: llm.example.com, tls_secret: llm-tls}\n"
PUBLISHED = GOOD.replace("gateway: {", "gateway: {internal: false, ").replace(", tls_secret: llm-tls", "")


def ids(data: object) -> set[str]:
    """Rules with a finding that denies."""
    return {f["id"] for f in data["findings"] if f["severity"] == "deny" and f["result"] == "fail" and not f["waived_by"]}  # type: ignore[index]


def test_a_sound_deployment_is_allowed(tmp_path: Path, inferform: Run) -> None:
    """Exit 0, the verdict on standard output, and a note on what was not given."""
    ran = inferform("check", write(tmp_path, GOOD))
    assert 0 == ran.code, ran.out
    assert "allowed: " in ran.out
    assert "--stacks" in ran.err
    assert 100 >= max(len(line) for line in ran.out.splitlines())


def test_a_published_gateway_without_tls_is_denied(tmp_path: Path, inferform: Run) -> None:
    """Exit 3, with the rule, where, and what to do, in every form."""
    path = write(tmp_path, PUBLISHED)
    data = inferform("check", path, "--format", "json")
    assert 3 == data.code
    denying = ids(data.data)
    assert denying
    text = inferform("check", path)
    assert (3, True) == (text.code, all(rule in text.out for rule in denying))
    sarif = inferform("check", path, "--format", "sarif")
    results = json.loads(sarif.out)["runs"][0]["results"]
    assert (3, True) == (sarif.code, denying <= {r["ruleId"] for r in results})
    junit = inferform("check", path, "--format", "junit")
    failed = {case.attrib["name"].split()[0] for case in ET.fromstring(junit.out).iter("testcase") if case.find("failure") is not None}  # noqa: S314 - our own output
    assert (3, True) == (junit.code, denying <= failed)


def test_waivers_hold_until_they_expire(tmp_path: Path, inferform: Run) -> None:
    """A waiver with owner and reason lets it pass and stays visible; one that has expired denies."""
    path = write(tmp_path, PUBLISHED)
    denying = ids(inferform("check", path, "--format", "json").data)

    def waived(expires: str) -> Path:
        rows = [
            f"  - {{rule: {rule}, address: '*', owner: ada@acme.example, reason: a demonstration for one day, expires: {expires}}}" for rule in sorted(denying)
        ]
        return write(tmp_path, "waivers:\n" + "\n".join(rows) + "\n", f"waivers-{expires}.yaml")

    held = inferform("check", path, "--waivers", waived("2999-01-01"), "--format", "json")
    assert (0, set()) == (held.code, ids(held.data))
    assert denying <= {f["id"] for f in held.data["findings"] if f["waived_by"] == "ada@acme.example"}
    assert 3 == inferform("check", path, "--waivers", waived("2020-01-01")).code


def test_stacks_are_judged_where_they_are_given(tmp_path: Path, inferform: Run) -> None:
    """With the tree of a synth the security rules are judged instead of passed over."""
    path = write(tmp_path, GOOD)
    assert 0 == inferform("synth", path, "--out", tmp_path / "tree").code
    without, judged = (inferform("check", path, *args, "--format", "json") for args in ((), ("--stacks", tmp_path / "tree")))
    assert (0, 0) == (without.code, judged.code)
    assert judged.data["counts"]["passed"] > without.data["counts"]["passed"] + 10
    assert "" == judged.err


def test_own_rules_are_judged_too(tmp_path: Path, inferform: Run) -> None:
    """A folder of rules that cannot be used is an input error that names the file."""
    folder = tmp_path / "rules" / "house" / "HSE001"
    folder.mkdir(parents=True)
    (folder / "rule.rego").write_text("package nothing\nnot rego at all")
    ran = inferform("check", write(tmp_path, GOOD), "--policy", tmp_path / "rules")
    assert 2 == ran.code
    assert "rule.rego" in ran.err


@pytest.mark.parametrize(("option", "words"), [("--stacks", "cdk.tf.json"), ("--terraform-plan", "STACK.json")])
def test_an_empty_folder_of_inputs_is_told(option: str, words: str, tmp_path: Path, inferform: Run) -> None:
    """A folder without what the option wants is an input error."""
    (tmp_path / "empty").mkdir()
    ran = inferform("check", write(tmp_path, GOOD), option, tmp_path / "empty")
    assert (2, "") == (ran.code, ran.out)
    assert words in ran.err


def test_fc36_terraform_output_that_is_no_json_is_told(tmp_path: Path, inferform: Run) -> None:
    """FC-36: a warning in front of the JSON is an input error with the file, not a verdict."""
    plans = tmp_path / "plans"
    plans.mkdir()
    (plans / "network.json").write_text('Warning: deprecated\n{"resource_changes": []}')
    ran = inferform("check", write(tmp_path, GOOD), "--terraform-plan", plans)
    assert 2 == ran.code
    assert "network.json" in ran.err


def test_no_cloud_library_is_loaded(tmp_path: Path) -> None:
    """Checking needs neither cdktf nor boto3."""
    heavy = "[m for m in sys.modules if m.split('.')[0] in ('cdktf', 'cdktn', 'jsii', 'boto3', 'botocore', 'moto')]"
    program = f"import sys; from inferform.cli.main import main; code = main(sys.argv[1:]); print({heavy}, file=sys.stderr); sys.exit(code)"
    ran = subprocess.run([sys.executable, "-c", program, "check", str(write(tmp_path, GOOD)), "-q"], text=True, capture_output=True, check=True)
    assert "[]" == ran.stderr.splitlines()[-1]


DEFINITIONS = Path(__file__).resolve().parents[2] / "../shared/reference/crds"


@pytest.mark.skipif(not DEFINITIONS.exists(), reason="the reference data is not beside this checkout")
def test_objects_are_held_against_schemas(tmp_path: Path, inferform: Run) -> None:
    """With the published definitions nothing is wrong; without KEDA's the cluster would refuse the scaler, and the verdict denies."""
    path = write(tmp_path, GOOD)
    ran = inferform("check", path, "--schemas", DEFINITIONS)
    assert 0 == ran.code, ran.out
    assert "objects were held against the schemas of Kubernetes 1.35" in ran.err
    some = tmp_path / "some"
    shutil.copytree(DEFINITIONS, some, ignore=shutil.ignore_patterns("keda.sh"))
    data = inferform("check", path, "--schemas", some, "--format", "json")
    assert 3 == data.code
    (found,) = [f for f in data.data["findings"] if f["id"] == "SCH001"]
    assert found["address"].startswith("ScaledObject/")
    assert "has no kind ScaledObject in keda.sh/v1alpha1" in found["message"]
    assert ("SCH001" in inferform("check", path, "--schemas", some).out, 3) == (True, inferform("check", path, "--schemas", some, "--format", "sarif").code)


def test_a_cluster_without_kubectl_is_a_missing_tool(tmp_path: Path, inferform: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit 5 names kubectl; a folder that is none is a wrong option."""
    path = write(tmp_path, GOOD)
    monkeypatch.setenv("PATH", str(tmp_path))
    ran = inferform("check", path, "--schemas", "cluster")
    assert (5, True) == (ran.code, "kubectl is not on the search path" in ran.err)
    wrong = inferform("check", path, "--schemas", tmp_path / "nowhere")
    assert (2, True) == (wrong.code, "--schemas: is no folder" in wrong.err)
