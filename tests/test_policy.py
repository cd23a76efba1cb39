"""Judging whole documents: the sample plan's real outputs, what is unknown, what is missing, own rules, secrets."""

from __future__ import annotations

import copy
import json
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from inferform.errors import InputError
from inferform.policy import judge
from inferform.policy_document import load_document
from inferform.render import render
from inferform.verdict import Verdict
from inferform.waivers import load_waivers
from samples import sample_plan
from synthesis import stacks_of

TODAY = date(2026, 12, 1)


@cache
def outputs() -> tuple[dict[str, Any], dict[str, str], dict[str, Any]]:
    """Plan, rendered files and stacks of the sample plan."""
    plan = sample_plan()
    return plan.model_dump(mode="json"), render(plan), stacks_of(plan)


def judged(*, strict: bool = False, **changes: Any) -> Verdict:
    """The verdict on the sample plan's outputs; `changes` replace whole sections."""
    plan, files, stacks = outputs()
    plan = copy.deepcopy(plan)
    # The sample's prices are made up and far above its made-up budget.
    plan["cost"] |= {"budget_usd_per_month": None, "by_pool": {f"{model}/aggregated": 30.0 for model in plan["models"]}}
    sections = {"plan": plan, "rendered": files, "synthesized": stacks, **changes}
    return judge(load_document(**sections), today=TODAY, strict=strict)


def denied(verdict: Verdict) -> set[str]:
    return {f.id for f in verdict.findings if verdict.denies(f)}


def stacks_with(stack: str, kind: str, name: str, change: Any) -> dict[str, Any]:
    """The sample's stacks with one resource changed by `change`."""
    stacks = copy.deepcopy(outputs()[2])
    change(stacks[stack]["resource"][kind][name])
    return stacks


def test_the_sample_plans_real_outputs_pass_every_rule() -> None:
    """Nothing that render and synth make is denied, and most rules had something to look at."""
    verdict = judged()
    assert set() == denied(verdict), [f"{f.id} {f.address} {f.message}" for f in verdict.findings if verdict.denies(f)]
    assert verdict.counts()["passed"] >= 40


def test_fc13_efa_pool_without_its_egress_rule_is_denied() -> None:
    """A security group rule to itself that is missing on the way out is found, whatever the open egress rule says."""
    stacks = copy.deepcopy(outputs()[2])
    del stacks["nodes"]["resource"]["aws_security_group_rule"]["llama-405b-aggregated-efa-egress"]
    assert denied(judged(synthesized=stacks)) - denied(judged())


def test_fc14_daemonset_without_the_gpu_toleration_is_denied() -> None:
    """The device plugin without a toleration for the pool's taint is found."""
    files = dict(outputs()[1])
    path = next(p for p in files if p.endswith("nvidia-device-plugin.yaml"))
    assert "nvidia.com/gpu" in files[path]
    files[path] = files[path].replace("tolerations:", "tolerationsGone:")
    assert denied(judged(rendered=files)) - denied(judged())


def test_fc33_unknown_after_apply_is_neither_pass_nor_fail() -> None:
    """A metadata setting that is only known after apply is unknown: no denial by itself, a denial when strict."""

    def hide(template: dict[str, Any]) -> None:
        template["metadata_options"]["http_tokens"] = "${var.tokens}"

    stacks = stacks_with("nodes", "aws_launch_template", "llama-70b-aggregated", hide)
    verdict = judged(synthesized=stacks)
    assert ["SEC001"] == sorted({f.id for f in verdict.findings if f.result == "unknown"})
    assert not verdict.denied
    assert judged(synthesized=stacks, strict=True).denied


def test_fc33_plain_value_of_the_same_setting_is_a_failure() -> None:
    """The same setting written out wrong is denied with its address."""

    def open_up(template: dict[str, Any]) -> None:
        template["metadata_options"]["http_tokens"] = "optional"

    verdict = judged(synthesized=stacks_with("nodes", "aws_launch_template", "llama-70b-aggregated", open_up))
    found = [f for f in verdict.findings if f.id == "SEC001"]
    assert ["nodes/aws_launch_template.llama-70b-aggregated"] == [f.address for f in found]
    assert verdict.denied


def test_fc33_deleted_resources_and_nested_modules_in_a_terraform_plan() -> None:
    """A pure delete is skipped; a resource deep in a module is judged by its full address."""
    bad = {"metadata_options": [{"http_tokens": "optional", "http_endpoint": "enabled", "http_put_response_hop_limit": 1}]}
    deep = {"address": "module.a.module.b.aws_launch_template.x", "mode": "managed", "type": "aws_launch_template", "name": "x",
            "change": {"actions": ["create"], "before": None, "after": bad, "after_unknown": {}}}  # fmt: skip
    gone = {**deep, "address": "aws_launch_template.gone", "change": {"actions": ["delete"], "before": bad, "after": None, "after_unknown": {}}}
    plans = {"nodes": {"format_version": "1.2", "resource_changes": [deep, gone], "configuration": {"root_module": {}}}}
    verdict = judge(load_document(plan=outputs()[0], terraform_plans=plans), today=TODAY)
    assert ["nodes/module.a.module.b.aws_launch_template.x"] == [f.address for f in verdict.findings if f.id == "SEC001"]


def test_fc34_token_shaped_text_in_any_output_is_denied_and_not_shown() -> None:
    """A hub token in a rendered file is found; the finding names the place, never the token."""
    token = "hf_" + "a1B2" * 9
    files = {**outputs()[1], "serving/extra.yaml": f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: x, namespace: y}}\ndata: {{t: {token}}}\n"}
    verdict = judged(rendered=files)
    assert denied(verdict) - denied(judged())
    assert token not in verdict.model_dump_json()


@pytest.mark.parametrize(
    ("stack", "kind"), [("nodes", "aws_launch_template"), ("model_store", "aws_s3_bucket_server_side_encryption_configuration"), ("cluster", "aws_eks_cluster")]
)
def test_a_rule_fails_when_what_it_watches_is_gone(stack: str, kind: str) -> None:
    """Removing every subject of a rule is noticed, not taken for compliance."""
    stacks = copy.deepcopy(outputs()[2])
    del stacks[stack]["resource"][kind]
    assert denied(judged(synthesized=stacks)) - denied(judged())


def test_without_terraform_its_rules_say_that_they_were_not_judged() -> None:
    """No stacks given: Terraform rules are not applicable with the reason, never passed."""
    verdict = judged(synthesized={})
    skipped = {o.rule.id: o.why for o in verdict.outcomes if "terraform" in o.rule.needs}
    assert "SEC001" in skipped
    assert all(o.result == "not_applicable" for o in verdict.outcomes if "terraform" in o.rule.needs)
    assert "terraform" in skipped["SEC001"]


def test_own_rules_are_judged_beside_the_shipped_ones(tmp_path: Path) -> None:
    """A folder of the same shape adds its rule; its finding denies."""
    folder = tmp_path / "house" / "HSE001"
    folder.mkdir(parents=True)
    (folder / "rule.rego").write_text(
        "package inferform.rules.HSE001\n\nimport rego.v1\n\nabout := {\n"
        '\t"title": "Deployments belong to the data team",\n\t"severity": "deny",\n\t"needs": ["plan"],\n'
        '\t"remedy": "Set tenant to data.",\n\t"source": "House rule 1",\n}\n\n'
        'subjects := [input.plan.tenant]\n\nfail contains {"address": "plan", "message": "another tenant"} if input.plan.tenant != "data"\n\nunknown := set()\n'
    )
    verdict = judge(load_document(plan=outputs()[0]), today=TODAY, rule_folders=[tmp_path])
    assert "HSE001" in denied(verdict)


def test_a_broken_own_rule_is_bad_input_with_its_place(tmp_path: Path) -> None:
    """Rego that cannot be parsed is an InputError that names the file and the line."""
    folder = tmp_path / "house" / "HSE001"
    folder.mkdir(parents=True)
    (folder / "rule.rego").write_text("package inferform.rules.HSE001\n\nimport rego.v1\n\nabout := {{{\n")
    with pytest.raises(InputError) as caught:
        judge(load_document(plan=outputs()[0]), today=TODAY, rule_folders=[tmp_path])
    assert "HSE001/rule.rego" in str(caught.value)
    assert caught.value.problems[0].line


WAIVER = """waivers:
  - rule: SCL005
    address: plan/*
    owner: platform-team
    reason: pilots only
    expires: {expires}
"""


def waived(tmp_path: Path, expires: str) -> Verdict:
    """A verdict on the sample with a waiver for its one warning."""
    path = tmp_path / "waivers.yaml"
    path.write_text(WAIVER.format(expires=expires))
    plan = copy.deepcopy(outputs()[0])
    plan["cost"]["budget_usd_per_month"] = None
    return judge(load_document(plan=plan), load_waivers(path, ["SCL005"]), today=TODAY)


def test_a_waiver_holds_through_its_last_day(tmp_path: Path) -> None:
    """On the day it expires a waiver still covers its finding, with its owner's name."""
    found = [f for f in waived(tmp_path, "2026-12-01").findings if f.id == "SCL005"]
    assert found
    assert {"platform-team"} == {f.waived_by for f in found}


def test_an_expired_waiver_denies(tmp_path: Path) -> None:
    """The day after, the waiver itself denies and says when it ended."""
    verdict = waived(tmp_path, "2026-11-30")
    assert "WVR001" in denied(verdict)
    assert "2026-11-30" in next(f.message for f in verdict.findings if f.id == "WVR001")


def test_a_malformed_waiver_names_every_problem(tmp_path: Path) -> None:
    """Unknown rule, missing owner and a wrong date are told at once, each at its line."""
    path = tmp_path / "waivers.yaml"
    path.write_text("waivers:\n  - rule: SCL00\n    address: '*'\n    reason: x\n    expires: soon\n")
    with pytest.raises(InputError) as caught:
        load_waivers(path, ["SCL005"])
    text = str(caught.value)
    assert len(caught.value.problems) >= 3
    assert "SCL005" in text
    assert "owner" in text
    assert "expires" in text


def test_hostile_text_in_a_document_is_data() -> None:
    """Quotes, Rego and template syntax in names neither break nor steer the verdict."""
    plan = copy.deepcopy(outputs()[0])
    plan["tenant"] = '"} fail contains {"address": "x", "message": "y"} if true # ${env} {{ x }} \\ \n\u2028'
    plan["cost"]["budget_usd_per_month"] = None
    verdict = judge(load_document(plan=plan), today=TODAY)
    assert [] == [f for f in verdict.findings if f.address == "x"]
    assert json.loads(verdict.model_dump_json())
