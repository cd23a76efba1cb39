"""Terraform plans and synthesized stacks in the shape that rules read (FC-33)."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from inferform.policy_terraform import from_plan, from_synth


def change(found: dict[str, Any], address: str) -> dict[str, Any]:
    return next(c for c in found["resource_changes"] if c["address"] == address)


SYNTH = {
    "terraform": {"backend": {"s3": {"bucket": "b", "encrypt": True}}, "required_version": ">= 1.10"},
    "resource": {
        "aws_s3_bucket": {"weights": {"bucket": "contract-qa-models", "tags": {"Name": "a $${literal}"}, "lifecycle": {"prevent_destroy": True}}},
        "aws_launch_template": {
            "pool": {
                "network_interfaces": [
                    {"interface_type": "efa", "security_groups": ["${aws_security_group.efa.id}", "sg-0a"]},
                    {"interface_type": "efa-only", "security_groups": ["${aws_security_group.efa.id}"]},
                ],
                "metadata_options": {"http_tokens": "required"},
                "dynamic": {"tag_specifications": {"for_each": "${var.tags}", "content": {}}},
            }
        },
        "aws_s3_bucket_policy": {
            "weights": {"bucket": "${aws_s3_bucket.weights.id}", "policy": '{"Resource": "${aws_s3_bucket.weights.arn}/*", "Effect": "Deny"}'}
        },
    },
    "data": {"aws_iam_policy_document": {"trust": {"statement": [{"actions": ["*"], "resources": ["*"]}]}}},
}


def test_fc33_literals_of_a_synthesized_stack_are_known() -> None:
    """Encryption flags, names and tokens stay checkable before any terraform plan exists; escaped templates are literals."""
    made = change(from_synth(SYNTH), "aws_s3_bucket.weights")
    assert {"bucket": "contract-qa-models", "tags": {"Name": "a ${literal}"}} == made["change"]["after"]
    assert {} == made["change"]["after_unknown"]
    assert ["create"] == made["change"]["actions"]


def test_fc33_references_of_a_synthesized_stack_are_unknown() -> None:
    """An expression is left out of `after`, true in `after_unknown`, and stands with its references in `config`."""
    made = change(from_synth(SYNTH), "aws_launch_template.pool")
    first = made["change"]["after"]["network_interfaces"][0]
    assert {"interface_type": "efa", "security_groups": [None, "sg-0a"]} == first
    unknown = made["change"]["after_unknown"]
    assert [{"security_groups": [True, False]}, {"security_groups": [True]}] == unknown["network_interfaces"]
    assert ["aws_security_group.efa.id"] == made["config"]["network_interfaces"][0]["security_groups"]["references"]
    # A dynamic block is known as little as the list it is made from.
    assert True is unknown["tag_specifications"]


def test_a_text_with_a_reference_keeps_its_template() -> None:
    """A policy document with one unknown ARN is unknown as a value and readable as it is written."""
    made = change(from_synth(SYNTH), "aws_s3_bucket_policy.weights")
    assert {"policy": True, "bucket": True} == made["change"]["after_unknown"]
    assert '"Effect": "Deny"' in made["config"]["policy"]["template"]
    assert ["aws_s3_bucket.weights.arn"] == made["config"]["policy"]["references"]


def test_settings_and_data_sources_are_kept() -> None:
    """The backend, which no plan holds, and policy documents come along."""
    found = from_synth(SYNTH)
    assert "b" == found["settings"]["backend"]["s3"]["bucket"]
    assert "data" == change(found, "data.aws_iam_policy_document.trust")["mode"]


PLAN = {
    "resource_changes": [
        {"address": "aws_eks_cluster.main", "mode": "managed", "type": "aws_eks_cluster", "name": "main", "change": {"actions": ["create"], "after": {}, "after_unknown": {}}},
        {
            "address": 'module.a["x"].module.b[0].aws_kms_key.k["y"]', "module_address": 'module.a["x"].module.b[0]', "mode": "managed", "type": "aws_kms_key", "name": "k",
            "change": {"actions": ["create"], "after": {}, "after_unknown": {"arn": True}},
        },
    ],
    "configuration": {
        "root_module": {
            "resources": [{"address": "aws_eks_cluster.main", "expressions": {"role_arn": {"references": ["aws_iam_role.r.arn", "aws_iam_role.r"]}}}],
            "module_calls": {
                "a": {"module": {"module_calls": {"b": {"module": {"resources": [{"address": "aws_kms_key.k", "expressions": {"policy": {"references": ["var.p"]}}}]}}}}}
            },
        }
    },
}  # fmt: skip


def test_fc33_modules_of_any_depth_are_read() -> None:
    """A resource two modules down, with instance keys on the way, is a resource like any other and has its expressions."""
    found = from_plan(PLAN)
    assert ["var.p"] == change(found, 'module.a["x"].module.b[0].aws_kms_key.k["y"]')["config"]["policy"]["references"]
    assert ["aws_iam_role.r.arn", "aws_iam_role.r"] == change(found, "aws_eks_cluster.main")["config"]["role_arn"]["references"]
    assert "plan" == found["from"]


def test_the_synthesized_text_completes_a_plan() -> None:
    """With both at hand a plan's change carries the template, the backend and the data sources of the synthesized stack."""
    plan = {
        "resource_changes": [{"address": "aws_s3_bucket_policy.weights", "mode": "managed", "type": "aws_s3_bucket_policy", "name": "weights", "change": {}}]
    }
    found = from_plan(plan, SYNTH)
    assert '"Deny"' in change(found, "aws_s3_bucket_policy.weights")["config"]["policy"]["template"]
    assert True is found["settings"]["backend"]["s3"]["encrypt"]
    assert [{"actions": ["*"], "resources": ["*"]}] == change(found, "data.aws_iam_policy_document.trust")["change"]["after"]["statement"]


def test_an_empty_plan_has_no_changes() -> None:
    """A plan of terraform without any resource is a document without any."""
    assert {"from": "plan", "resource_changes": [], "settings": {}} == from_plan({"format_version": "1.2"})


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=12) | st.sampled_from(["${a.b.c}", "x${local.y}z", "$${no}"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(st.text(min_size=1, max_size=6), json_values, max_size=5))
@settings(max_examples=150, deadline=None)
def test_nothing_that_holds_an_expression_is_taken_as_known(body: dict[str, Any]) -> None:
    """Whatever a block holds, no text with an expression in it is left in `after`."""

    def texts(value: Any) -> list[str]:
        if isinstance(value, dict):
            return [t for v in value.values() for t in texts(v)]
        if isinstance(value, list):
            return [t for v in value for t in texts(v)]
        return [value] if isinstance(value, str) else []

    made = from_synth({"resource": {"aws_x": {"y": body}}})["resource_changes"][0]["change"]["after"]
    written = set(texts(made))
    assert not written & {"${a.b.c}", "x${local.y}z"}
