"""The verdict on whole documents: the real outputs of the sample plan, what is missing from them, waivers, own rules, unknowns."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import samples
from inferform.errors import InputError, ToolFailedError
from inferform.plan import DeploymentPlan
from inferform.policy import REPORT, evaluate, judge, rules
from inferform.policy_document import Document, load_document
from inferform.verdict import Finding, Verdict
from inferform.waivers import Waiver
from rego_packs import LIBRARIES, RULES, ordered

TODAY = date(2026, 12, 1)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Document:
    """The sample plan, rendered and synthesized, with its cost lines complete and a spare replica for every model."""
    from inferform.render import render
    from inferform.stacks.app import synthesize

    data = samples.plan_data()
    data["cost"] |= {"budget_usd_per_month": 100000.0, "by_pool": {f"{m}/{p}": 1.0 for m, model in data["models"].items() for p in model["pools"]}}
    plan = DeploymentPlan.model_validate(data)
    out = tmp_path_factory.mktemp("synth")
    stacks = {s.name: json.loads((out / s.path).read_text(encoding="utf-8")) for s in synthesize(plan, out).stacks}
    spec = {"models": {name: {} for name in data["models"]}, "capacity": {"warm_standby": 1}, "budget": {"usd_per_month": 100000.0}}
    return load_document(spec=spec, plan=plan.model_dump(mode="json"), rendered=render(plan), synthesized=stacks)


def shown(findings: tuple[Finding, ...]) -> list[str]:
    return [f"{f.id} {f.result} {f.address}: {f.message}" for f in findings]


def test_the_outputs_of_the_sample_plan_pass_every_rule(whole: Document) -> None:
    """What is rendered and synthesized from a plan has no finding at all, and no rule sits idle but those for what this plan does not have."""
    verdict = judge(whole, today=TODAY, strict=True)
    assert [] == shown(verdict.findings)
    assert not verdict.denied
    idle = {o.rule.id: o.why for o in verdict.outcomes if o.result == "not_applicable"}
    assert {"CAP005", "CAP006", "CAP008", "NET005", "SRV010"} == set(idle)
    assert {"nothing of the kind is planned"} == set(idle.values())
    assert all(o.subjects > 0 for o in verdict.outcomes if o.result == "pass")


def of_types(*types: str) -> Callable[[dict[str, Any]], None]:
    """Takes Terraform resources of these types out of a document."""

    def take(sections: dict[str, Any]) -> None:
        for stack in sections["terraform"].values():
            stack["resource_changes"] = [c for c in stack["resource_changes"] if c["type"] not in types]

    return take


def of_kinds(*kinds: str) -> Callable[[dict[str, Any]], None]:
    """Takes Kubernetes objects of these kinds out of a document."""

    def take(sections: dict[str, Any]) -> None:
        sections["objects"] = [o for o in sections["objects"] if o["kind"] not in kinds]

    return take


def pools_without_gpus(sections: dict[str, Any]) -> None:
    for model in sections["plan"]["models"].values():
        for pool in model["pools"].values():
            pool["infrastructure"]["gpus_per_node"] = 0


def part(section: str, *path: str) -> Callable[[dict[str, Any]], None]:
    """Takes one part out of a document."""

    def take(sections: dict[str, Any]) -> None:
        holder = sections[section]
        for key in path[:-1]:
            holder = holder[key]
        holder[path[-1]] = None if path[-1].startswith("budget") else {}

    return take


WORKLOADS = of_kinds("Deployment", "LeaderWorkerSet")
# What each rule looks at, or looks for; taking it away must be noticed.
SUBJECTS: dict[str, Callable[[dict[str, Any]], None]] = {
    **dict.fromkeys(("SEC001", "SEC002", "SEC003", "NET006"), of_types("aws_launch_template")),
    **dict.fromkeys(("SEC004", "SEC005", "SEC006", "SEC007"), of_types("aws_s3_bucket")),
    "SEC008": lambda sections: [stack["settings"].pop("backend") for stack in sections["terraform"].values()] and None,
    "SEC009": of_types("aws_security_group", "aws_security_group_rule", "aws_default_security_group"),
    "SEC010": of_types("aws_iam_role_policy", "aws_iam_policy"),
    "SEC011": of_types("aws_iam_role"),
    **dict.fromkeys(("SEC012", "SEC013", "SEC014"), of_types("aws_eks_cluster")),
    "SEC015": of_types("aws_kms_key"),
    "SEC016": lambda sections: sections.update(files={}),
    "SEC017": of_kinds("Job"),
    **dict.fromkeys(("SEC018", "SRV002", "SRV003", "SRV004", "SRV006", "SRV007", "SRV009", "SCL002", "NET003"), WORKLOADS),
    "SRV001": of_kinds("Deployment", "LeaderWorkerSet", "DaemonSet", "Job"),
    "SRV005": of_kinds("PodDisruptionBudget"),
    "OPS001": of_kinds("PodMonitor", "ServiceMonitor"),
    "OPS002": of_kinds("PrometheusRule"),
    **dict.fromkeys(("SCL001", "SCL003", "SCL004"), of_kinds("ScaledObject")),
    "NET004": of_kinds("HTTPRoute"),
    "CAP004": of_types("aws_eks_node_group"),
    "CAP007": of_kinds("DaemonSet"),
    "CAP003": of_kinds("Deployment", "LeaderWorkerSet", "DaemonSet"),
    **dict.fromkeys(("SIZ001", "SIZ002", "SIZ003", "SIZ005"), pools_without_gpus),
    "CST001": part("plan", "cost", "budget_usd_per_month"),
    "CST002": part("plan", "cost", "by_pool"),
}
# These look at what a deployment may or may not have: no pool need be coupled, wait for people, buy blocks, or be published.
OPTIONAL = {"CAP001", "CAP002", "CAP005", "CAP006", "CAP008", "NET001", "NET002", "NET005", "SCL005", "SIZ004", "SIZ006", "SRV008", "SRV010"}


def test_every_rule_is_in_one_of_the_two_tables() -> None:
    """A new rule is either proven to notice that its subject is gone, or listed as one whose subject is optional."""
    assert {rule.rule_id for rule in RULES} == set(SUBJECTS) | OPTIONAL
    assert set() == set(SUBJECTS) & OPTIONAL


@pytest.mark.parametrize("rule", sorted(SUBJECTS))
def test_a_subject_that_is_gone_is_noticed(whole: Document, rule: str) -> None:
    """Deleting what a rule checks makes it fail, not pass."""
    sections = copy.deepcopy(whole.sections())
    SUBJECTS[rule](sections)
    module = next(m for m in RULES if m.rule_id == rule)
    results = evaluate([*LIBRARIES, module], sections, REPORT)["results"]
    assert [rule] == sorted({item["id"] for item in results if item["result"] == "fail"})


def test_without_stacks_terraform_rules_are_not_applicable(whole: Document) -> None:
    """Rules that need Terraform say so when nobody gave any; they neither pass nor fail."""
    verdict = judge(Document(spec=whole.spec, plan=whole.plan, objects=whole.objects, files=whole.files), today=TODAY)
    skipped = {o.rule.id: o.why for o in verdict.outcomes if o.result == "not_applicable"}
    needing = {rule.id for rule in rules() if "terraform" in rule.needs}
    assert needing <= set(skipped)
    assert {"the document has no terraform"} == {skipped[rule] for rule in needing}
    assert [] == shown(verdict.findings)


def test_inferform_and_opa_users_get_the_same_report(whole: Document) -> None:
    """The report that rules are asked for one by one is the report of `data.inferform.main.report`."""
    sections = {name: section for name, section in whole.sections().items() if name in ("plan", "spec")}
    report = evaluate([*LIBRARIES, *RULES], sections, REPORT)
    verdict = judge(Document(plan=whole.plan, spec=whole.spec), today=TODAY)
    assert ordered([{"id": o.rule.id, "subjects": o.subjects} for o in verdict.outcomes]) == ordered(
        [{"id": r["id"], "subjects": r["subjects"]} for r in report["rules"]]
    )
    assert sorted({r["id"] for r in report["results"] if r["result"] == "not_applicable"}) == sorted(
        o.rule.id for o in verdict.outcomes if o.result == "not_applicable"
    )


def test_conftest_gets_messages_by_severity() -> None:
    """`deny` and `warn` of inferform.main are what conftest looks for: sets of objects with `msg`."""
    document = {"plan": {"models": {}, "gateway": {"enabled": True, "internal": False, "tls_secret": None, "host": None}}}
    chosen = [m for m in RULES if m.rule_id in ("NET001", "NET002")]
    found = {name: evaluate([*LIBRARIES, *chosen], document, f"data.inferform.main.{name}") for name in ("deny", "warn")}
    assert ["NET002 plan/gateway: answers on the internet without TLS"] == [item["msg"] for item in found["deny"]]
    assert ["NET001"] == [item["id"] for item in found["warn"]]


KEY = {
    "address": "module.platform.module.eks.aws_eks_cluster.main", "mode": "managed", "type": "aws_eks_cluster", "name": "main",
    "change": {
        "actions": ["create"],
        "after": {"encryption_config": [{"resources": ["secrets"], "provider": [{}]}]},
        "after_unknown": {"encryption_config": [{"resources": [False], "provider": [{"key_arn": True}]}]},
    },
}  # fmt: skip


def planned(change: dict[str, Any], expressions: dict[str, Any]) -> Document:
    inner = {"resources": [{"address": "aws_eks_cluster.main", "expressions": expressions}]}
    calls = {"platform": {"module": {"module_calls": {"eks": {"module": inner}}}}}
    return load_document(terraform_plans={"cluster": {"resource_changes": [change], "configuration": {"root_module": {"module_calls": calls}}}})


def sec013(verdict: Verdict) -> str:
    return next(o.result for o in verdict.outcomes if o.rule.id == "SEC013")


def test_fc33_unknown_with_its_reference_passes() -> None:
    """A key that is known after apply, in a nested module, passes where the configuration shows the reference."""
    wired = {"encryption_config": [{"provider": [{"key_arn": {"references": ["aws_kms_key.cluster.arn", "aws_kms_key.cluster"]}}]}]}
    assert "pass" == sec013(judge(planned(KEY, wired), today=TODAY))


def test_fc33_unknown_without_a_reference_is_the_third_state() -> None:
    """Without the reference it is unknown: reported, allowed by default, denied in strict mode."""
    relaxed = judge(planned(KEY, {}), today=TODAY)
    assert "unknown" == sec013(relaxed)
    assert "unknown" == next(f.result for f in relaxed.findings if f.id == "SEC013")
    assert not any(relaxed.denies(f) for f in relaxed.findings if f.id == "SEC013")
    strict = judge(planned(KEY, {}), today=TODAY, strict=True)
    assert strict.denied
    assert any(strict.denies(f) for f in strict.findings if f.id == "SEC013")


def test_fc33_deleted_resources_are_left_out() -> None:
    """A cluster that is destroyed without encryption is no finding; replaced, it is one."""
    bare = {**KEY, "change": {"actions": ["delete"], "before": {"name": "main"}, "after": None, "after_unknown": {}}}
    assert "not_applicable" == sec013(judge(planned(bare, {}), today=TODAY))
    replaced = {**KEY, "change": {"actions": ["delete", "create"], "before": {}, "after": {"encryption_config": []}, "after_unknown": {}}}
    assert "fail" == sec013(judge(planned(replaced, {}), today=TODAY))


def test_fc13_efa_without_the_egress_rule_is_denied(whole: Document) -> None:
    """Taking the rule to itself off the EFA group of the real stacks is found, though the open egress rule of the nodes stays."""
    sections = copy.deepcopy(whole.sections())
    stack = sections["terraform"]["nodes"]
    stack["resource_changes"] = [c for c in stack["resource_changes"] if c["address"] != "aws_security_group_rule.llama-405b-aggregated-efa-egress"]
    results = evaluate([*LIBRARIES, next(m for m in RULES if m.rule_id == "NET006")], sections, REPORT)["results"]
    assert [("nodes/aws_launch_template.llama-405b-aggregated", "no group of its EFA interfaces lets all traffic out to itself")] == [
        (r["address"], r["message"]) for r in results if r["result"] == "fail"
    ]


def test_fc14_an_agent_without_the_toleration_is_denied(whole: Document) -> None:
    """Taking the toleration off the rendered GPU metrics agent is found for each GPU pool that it would run on."""
    sections = copy.deepcopy(whole.sections())
    agent = next(o for o in sections["objects"] if o["kind"] == "DaemonSet" and o["metadata"]["name"] == "dcgm-exporter")
    del agent["spec"]["template"]["spec"]["tolerations"]
    results = evaluate([*LIBRARIES, next(m for m in RULES if m.rule_id == "CAP003")], sections, REPORT)["results"]
    assert {f"does not tolerate the taint nvidia.com/gpu of {name}/aggregated" for name in ("llama-8b", "llama-70b", "llama-405b")} == {
        r["message"] for r in results if r["result"] == "fail"
    }


def test_fc34_a_token_in_any_output_is_denied_and_not_repeated(whole: Document) -> None:
    """A token in a rendered script, a stack or a plan is found by file and line; no message holds it."""
    token = "hf_" + "abcdefghijklmnopqrstuvwx"
    document = load_document(
        rendered={"scripts/run.sh": f"set -e\nexport HF_TOKEN={token}\n"},
        synthesized={"cluster": {"resource": {"aws_instance": {"a": {"user_data": token}}}}},
        terraform_plans={"cluster": {"resource_changes": [{"address": "aws_instance.a", "change": {"after": {"user_data": token}}}]}},
    )
    verdict = judge(document, today=TODAY)
    found = [f for f in verdict.findings if f.id == "SEC016"]
    assert {"scripts/run.sh:2", "stacks/cluster/cdk.tf.json:5", "terraform plan of cluster:6"} == {f.address for f in found}
    assert {"scripts/run.sh", "stacks/cluster/cdk.tf.json", "terraform plan of cluster"} == {f.file for f in found}
    assert token not in verdict.model_dump_json()


GATEWAY = {"plan": {"models": {}, "gateway": {"enabled": True, "internal": False, "tls_secret": None, "host": None}}}


def waiver(rule: str, expires: str) -> Waiver:
    return Waiver(rule=rule, address="plan/gateway", owner="ann", reason="public demo", expires=date.fromisoformat(expires))


def gateway(*waivers: Waiver) -> Verdict:
    return judge(Document(plan=GATEWAY["plan"]), waivers, today=TODAY)


def test_a_waiver_lifts_a_denial_until_it_expires() -> None:
    """Waived, the finding no longer denies and names its owner; the day after the waiver's last it denies again, and says why."""
    assert gateway().denied
    waived = gateway(waiver("NET002", "2026-12-01"))
    assert {"ann"} == {f.waived_by for f in waived.findings if f.id == "NET002"}
    assert not any(waived.denies(f) for f in waived.findings if f.id == "NET002")
    expired = gateway(waiver("NET002", "2026-11-30"))
    assert expired.denied
    assert ["WVR001"] == [f.id for f in expired.findings if "expired on 2026-11-30" in f.message]


OWN = """package inferform.rules.ORG001

import rego.v1

about := {
	"title": "Names start with our team",
	"severity": "deny",
	"needs": ["plan"],
	"remedy": "Rename the deployment.",
	"source": "house rule",
}

subjects := [input.plan.name]

fail contains {"address": "plan", "message": sprintf("%s is not a name of ours", [name])} if {
	some name in subjects
	CONDITION
}

unknown := set()
"""


def own(tmp_path: Path, condition: str) -> str:
    folder = tmp_path / "house" / "ORG001"
    folder.mkdir(parents=True)
    (folder / "rule.rego").write_text(OWN.replace("CONDITION", condition), encoding="utf-8")
    return str(tmp_path)


def test_own_rules_are_judged_beside_the_shipped_ones(tmp_path: Path) -> None:
    """A rule from `--policy` denies under its own id; hostile text in the document comes out as it went in."""
    name = 'evil"${x}\n\\u0041</script>{{y}}'
    verdict = judge(Document(plan={"name": name, "models": {}}), today=TODAY, rule_folders=[own(tmp_path, 'not startswith(name, "acme-")')])
    (found,) = [f for f in verdict.findings if f.id == "ORG001"]
    assert f"{name} is not a name of ours" == found.message
    assert verdict.denies(found)


@pytest.mark.parametrize(
    ("condition", "message", "line"),
    [
        ("name ==", "no Rego that can be used", 17),
        ("foo(", "there is no function foo", 17),
        ('x := data.house.missing with input as {"l": 1}', "`with` is not carried", 17),
    ],
)
def test_a_broken_own_rule_is_a_bad_input_with_file_and_line(tmp_path: Path, condition: str, message: str, line: int) -> None:
    """What cannot be evaluated is refused before any verdict, naming the file and the line."""
    with pytest.raises(InputError) as caught:
        judge(Document(plan={"name": "a", "models": {}}), today=TODAY, rule_folders=[own(tmp_path, condition)])
    (problem,) = caught.value.problems
    assert message in problem.message
    assert problem.file.endswith("house/ORG001/rule.rego")
    assert line == problem.line


def test_a_rule_that_contradicts_itself_is_named(tmp_path: Path) -> None:
    """Where the engine does not say which rule is at fault, the one that fails alone is named."""
    folder = own(tmp_path, "twice == 3")
    rule = Path(folder) / "house" / "ORG001" / "rule.rego"
    rule.write_text(rule.read_text(encoding="utf-8") + "\ntwice := 1\n\ntwice := 2 if input.plan.name\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"the rule ORG001 cannot be evaluated"):
        judge(Document(plan={"name": "a", "models": {}}), today=TODAY, rule_folders=[folder])


def test_a_limit_that_all_rules_pass_is_an_error_of_the_tool() -> None:
    """When nothing comes back in time and no single rule is slow, the failure is told as such."""
    with pytest.raises((ToolFailedError, InputError), match="took more than"):
        judge(Document(plan=GATEWAY["plan"]), today=TODAY, timeout_s=0.001)


def test_findings_come_in_a_fixed_order(whole: Document) -> None:
    """The same document gives the same verdict, byte for byte."""
    broken = copy.deepcopy(dict(whole.plan or {}))
    for model in broken["models"].values():
        for pool in model["pools"].values():
            pool["tp"] = 64
    first, second = (judge(Document(plan=broken), today=TODAY).model_dump_json() for _ in range(2))
    assert first == second
    assert 3 < first.count('"SIZ003"')
