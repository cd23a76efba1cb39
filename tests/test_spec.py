"""The rules that a spec can be held to on its own, before anything is looked up or sized."""

from __future__ import annotations

from pathlib import Path

import pytest
from inferform.errors import InputError, Problem
from inferform.load import load_spec
from inferform.load_fields import parts
from inferform.names import WANTS
from inferform.spec import DeploymentSpec
from inferform.spec_cluster import Endpoint
from inferform.spec_platform import Cloud
from inferform.spec_scaling import HpaScaling, KedaScaling, Scaling
from pydantic import BaseModel, ValidationError
from specs import MINIMAL, with_model, write


def problems(folder: Path, text: str) -> list[Problem]:
    """What is wrong with a spec; empty where it loads."""
    try:
        load_spec(write(folder, text))
    except InputError as err:
        return list(err.problems)
    return []


@pytest.mark.parametrize(("scaling", "field"), [("{idle: 1, min: 2, max: 8}", "idle"), ("{idle: 1, min: 1}", "idle"), ("{idle: 0, min: 0}", "idle")])
def test_fc26_idle_is_only_possible_as_zero_below_one(tmp_path: Path, scaling: str, field: str) -> None:
    """FC-26: an idle count other than 0, or 0 beside min 0, is refused with what to do instead."""
    found = problems(tmp_path, MINIMAL + f"scaling: {scaling}\n")
    assert [(f"scaling.{field}", 12)] == [(p.field, p.line) for p in found]
    assert "drop idle and set min" in found[0].message or "leave idle out" in found[0].message


def test_fc26_min_and_max_without_idle_load(tmp_path: Path) -> None:
    """FC-26: {min: 1, max: 8} has no idle count, and idle 0 with min 1 is accepted."""
    assert load_spec(write(tmp_path, MINIMAL + "scaling: {min: 1, max: 8}\n")).spec.scaling.idle is None
    assert 0 == load_spec(write(tmp_path, MINIMAL + "scaling: {idle: 0, min: 1, max: 8}\n")).spec.scaling.idle


def test_fc26_min_is_at_most_max(tmp_path: Path) -> None:
    """FC-26: min above max is refused."""
    assert ["min 3 is above max 2"] == [p.message for p in problems(tmp_path, MINIMAL + "scaling: {min: 3, max: 2}\n")]


def test_fc28_one_scaler_for_one_target(tmp_path: Path) -> None:
    """FC-28: keda and hpa together, or a scaler beside fixed, are refused and both are named."""
    both = problems(tmp_path, MINIMAL + "scaling: {keda: {}, hpa: {}}\n")
    assert ["scaling.hpa"] == [p.field for p in both]
    assert "keda" in both[0].message
    assert ["scaling.fixed"] == [p.field for p in problems(tmp_path, MINIMAL + "scaling: {fixed: true, keda: {}}\n")]


def test_fc28_two_scaling_entries_for_one_deployment_are_refused(tmp_path: Path) -> None:
    """FC-28: a second `scaling` of the same model is a duplicate key."""
    found = problems(tmp_path, with_model("scaling: {keda: {}}\nscaling: {hpa: {}}"))
    assert ["`scaling` is given twice"] == [p.message for p in found]


def test_fc27_a_fallback_needs_a_trigger_it_works_with(tmp_path: Path) -> None:
    """FC-27: only cpu triggers are refused, and the fallback lies between min and max."""
    assert ["scaling.keda.triggers"] == [p.field for p in problems(tmp_path, MINIMAL + "scaling: {keda: {triggers: [{signal: cpu}]}}\n")]
    outside = problems(tmp_path, MINIMAL + "scaling: {min: 1, max: 4, keda: {fallback: {replicas: 6}}}\n")
    assert ["fallback.replicas 6 is outside min 1 to max 4"] == [p.message for p in outside]
    assert [] == problems(tmp_path, MINIMAL + "scaling: {min: 1, max: 8, keda: {triggers: [{signal: queue}, {signal: cpu}], fallback: {replicas: 6}}}\n")


def test_fc19_batch_budget_without_chunked_prefill(tmp_path: Path) -> None:
    """FC-19: with chunked prefill off the budget must hold the longest prompt; on or unset 8192 below 131072 is accepted as it is."""
    pair = "max_model_len: 131072\nmax_num_batched_tokens: 8192\n"
    off = problems(tmp_path, with_model(pair + "chunked_prefill: false"))
    assert [("models.llama-8b.max_num_batched_tokens", 13)] == [(p.field, p.line) for p in off]
    for chunked in ("chunked_prefill: true", "enforce_eager: false"):
        model = load_spec(write(tmp_path, with_model(pair + chunked))).spec.models["llama-8b"]
        assert (131072, 8192) == (model.max_model_len, model.max_num_batched_tokens)
    few = problems(tmp_path, with_model("max_num_seqs: 512\nmax_num_batched_tokens: 256"))
    assert ["max_num_batched_tokens 256 is below max_num_seqs 512"] == [p.message for p in few]


def test_fc03_a_context_that_no_model_has_is_a_number_out_of_range(tmp_path: Path) -> None:
    """FC-03: max_model_len keeps to whole positive token counts; what fits is decided by sizing."""
    assert ["must be at least 16"] == [p.message for p in problems(tmp_path, with_model("max_model_len: 0"))]
    assert ["must be at most 0.98"] == [p.message for p in problems(tmp_path, with_model("gpu_memory_utilization: 0.99"))]


def test_fc10_minimum_desired_and_maximum_are_in_order(tmp_path: Path) -> None:
    """FC-10: min <= desired <= max, each pair that is out of order named at its field."""
    found = problems(tmp_path, MINIMAL + "capacity: {min_nodes: 5, desired_nodes: 3, max_nodes: 2}\n")
    assert [("capacity.min_nodes", "min_nodes 5 is above desired_nodes 3; min <= desired <= max"),
            ("capacity.desired_nodes", "desired_nodes 3 is above max_nodes 2; min <= desired <= max")] == [(p.field, p.message) for p in found]  # fmt: skip
    assert ["capacity.min_nodes"] == [p.field for p in problems(tmp_path, MINIMAL + "capacity: {min_nodes: 5, max_nodes: 2}\n")]


def test_fc08_a_capacity_block_names_reservation_zone_and_count(tmp_path: Path) -> None:
    """FC-08: a capacity block without id, zone or count is refused at spec level."""
    found = problems(tmp_path, MINIMAL + "capacity: {purchase: [{kind: capacity_block, reservation_id: cr-0123456789abcdef0}]}\n")
    assert ["capacity.purchase[0].kind"] == [p.field for p in found]


def test_fc36_state_is_always_locked(tmp_path: Path) -> None:
    """FC-36: lock: false is rejected."""
    assert ["state.lock"] == [p.field for p in problems(tmp_path, MINIMAL + "state: {lock: false}\n")]


def test_an_hpa_does_not_scale_to_zero(tmp_path: Path) -> None:
    """min 0 with a plain HPA is refused: only KEDA reaches zero."""
    assert ["scaling.hpa"] == [p.field for p in problems(tmp_path, MINIMAL + "scaling: {min: 0, max: 4, hpa: {}}\n")]


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ("name: demo", "name: ../etc", "name"),
        ("name: demo", "name: " + "a" * 31, "name"),
        ("name: demo", "name: '${self.x}'", "name"),
        ("  llama-8b:", "  ../../x:", "models.../../x"),
        ("region: us-east-1", "region: us-east-1a", "cloud.region"),
        ("region: us-east-1", "region: us-east-1, zones: [us-east-1a]", "cloud.zones[0]"),
        ("region: us-east-1", "region: us-east-1, vpc_cidr: 10.0.0.0/99", "cloud.vpc_cidr"),
        ("region: us-east-1", "region: us-east-1, vpc_cidr: 10.0.0.0/28", "cloud.vpc_cidr"),
        ("region: us-east-1", "region: us-east-1, endpoint: {public_cidrs: [everyone]}", "cloud.endpoint.public_cidrs[0]"),
        ("region: us-east-1", "region: us-east-1, admins: [root]", "cloud.admins[0]"),
        ("region: us-east-1", "region: us-east-1, kubernetes_version: '1.٣٣'", "cloud.kubernetes_version"),
        ("{name: hf-token}", "{name: hf-token, key: 'a b'}", "models.llama-8b.hf_token_secret.key"),
    ],
)  # fmt: skip
def test_names_and_addresses_have_a_form(tmp_path: Path, old: str, new: str, field: str) -> None:
    """Names, zones, ranges and ARNs that would break a resource name or a policy are refused at their field, in words."""
    found = problems(tmp_path, MINIMAL.replace(old, new, 1))
    assert [field] == [p.field for p in found]
    assert "^" not in found[0].message


@pytest.mark.parametrize("image", ["vllm/vllm-openai:v0.33.0", "reg.example.com:5000/a/b:1.0", "a/b@sha256:" + "0" * 64, "a/b:1@sha256:" + "0" * 64])
def test_images_with_tag_or_digest_load(tmp_path: Path, image: str) -> None:
    """A registry with port, a tag, a digest or both are images."""
    assert [] == problems(tmp_path, with_model(f"image: '{image}'"))


@pytest.mark.parametrize("image", ["vllm/vllm-openai", "a b:1", "a/b:$(id)", "-x:1", "a/b@sha256:12"])
def test_images_without_a_version_or_with_odd_characters_are_refused(tmp_path: Path, image: str) -> None:
    """An image says which version it is, in characters that need no quoting."""
    assert ["models.llama-8b.image"] == [p.field for p in problems(tmp_path, with_model(f"image: '{image}'"))]


def test_every_field_is_described() -> None:
    """Schema, starters and reference pages come from the descriptions, so no field lacks one."""
    missing = [f"{path or 'spec'}.{name}" for path, part in parts().items() for name, info in part.model_fields.items() if not info.description]
    assert [] == missing


def test_every_part_is_described() -> None:
    """Every part of the spec has a first sentence of its own."""
    assert [] == [part.__name__ for part in parts().values() if not (part.__doc__ or "").strip() or part.__doc__ == BaseModel.__doc__]


def test_every_pattern_has_words() -> None:
    """A pattern is never shown to a person: each has a description."""
    patterns = set(_patterns(DeploymentSpec.model_json_schema()))
    # Durations and sizes explain themselves in their own message.
    assert {p for p in patterns if "ms|s|m" not in p and "Ki|Mi" not in p} <= set(WANTS)
    assert all(WANTS.values())


def _patterns(schema: object) -> list[str]:
    if isinstance(schema, dict):
        own = [schema["pattern"]] if isinstance(schema.get("pattern"), str) else []
        return own + [p for value in schema.values() for p in _patterns(value)]
    return [p for value in schema for p in _patterns(value)] if isinstance(schema, list) else []


def test_contradictions_are_reported_together() -> None:
    """A part with three contradictions tells all three."""
    scaling = Scaling.model_construct(min=3, max=1, idle=2, fixed=False, keda=KedaScaling(), hpa=HpaScaling())
    assert ["hpa", "idle", "min"] == [name for name, _ in scaling.faults()]


@pytest.mark.parametrize("cidr", ["10.0.0.0/8", "192.168.1.0/24", "100.64.0.0/16", "169.254.0.0/16"])
def test_the_public_endpoint_is_for_public_addresses(cidr: str) -> None:
    """EKS refuses reserved ranges in public_access_cidrs, so the spec does before a network is made."""
    with pytest.raises(ValidationError, match="EKS refuses it"):
        Endpoint(public_cidrs=(cidr,))
    assert Endpoint(public_cidrs=("203.0.113.0/24",)).public_cidrs


@pytest.mark.parametrize(("cidr", "told"), [("10.0.0.0/24", "/16 to /22"), ("169.254.0.0/16", "hosts keep to themselves"), ("127.0.0.0/16", "hosts keep")])
def test_a_network_that_no_vpc_can_have_is_refused(cidr: str, told: str) -> None:
    """Too small for the subnets, or addresses that every host uses for itself."""
    with pytest.raises(ValidationError, match=told):
        Cloud.model_validate({"provider": "aws", "region": "us-east-1", "vpc_cidr": cidr})
