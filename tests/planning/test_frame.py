"""What surrounds the pools."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inferform.errors import InputError
from inferform.planning.frame import bucket_name

from tests.planning.specs import model, plan

NAMES = st.from_regex(r"[a-z]([-a-z0-9]{0,28}[a-z0-9])?", fullmatch=True)


@settings(max_examples=50, deadline=None)
@given(NAMES, NAMES, NAMES)
def test_bucket_names_are_legal_and_belong_to_one_deployment(tenant: str, name: str, environment: str) -> None:
    """At most 63 lower-case letters, digits and dashes; another tenant, environment or purpose gets another name."""
    made = bucket_name("models", tenant=tenant, name=name, environment=environment, region="us-east-1")
    assert re.fullmatch(r"[a-z0-9][a-z0-9-]{1,61}[a-z0-9]", made)
    assert made == bucket_name("models", tenant=tenant, name=name, environment=environment, region="us-east-1")
    assert made != bucket_name("models", tenant=tenant + "x", name=name, environment=environment, region="us-east-1")
    assert made != bucket_name("state", tenant=tenant, name=name, environment=environment, region="us-east-1")


def test_fc23_a_timeout_shorter_than_an_answer_is_refused() -> None:
    """The message names the model, its longest answer and the least that would do."""
    with pytest.raises(InputError, match=r"gateway\.timeout: cuts chat: its longest answer of 4000 tokens.*set at least"):
        plan({"chat": model(workload={"output_tokens": {"mean": 400, "p95": 4000}})}, gateway={"timeout": "20s"})


def test_fc23_no_timeout_stays_unlimited_and_a_long_one_is_kept() -> None:
    """None renders 0s; 30 minutes are 1,800 s."""
    assert plan().gateway.timeout_s is None
    assert 1800 == plan(gateway={"timeout": "30m"}).gateway.timeout_s


def test_fc23_the_idle_timeout_outlasts_the_first_token() -> None:
    """One second of silence while the first token may take 1.5 s."""
    with pytest.raises(InputError, match=r"gateway\.stream_idle_timeout"):
        plan(gateway={"stream_idle_timeout": "1s"})


@pytest.mark.parametrize(("length", "buffer"), [(8192, 50 * 2**20), (10_000_000, 80_000_000)])
def test_fc24_buffers_hold_the_longest_prompt(length: int, buffer: int) -> None:
    """Eight bytes a token, at least 50 MiB."""
    from inferform.planning.frame import gateway_plan

    made = plan()
    stretched = made.models["chat"].model_copy(
        update={"pools": {"aggregated": made.models["chat"].pools["aggregated"].model_copy(update={"max_model_len": length})}}
    )
    assert buffer == gateway_plan(_gateway(), {"chat": stretched}, []).buffer_limit_bytes


def _gateway():  # type: ignore[no-untyped-def]
    from inferform.spec_platform import Gateway

    return Gateway()


def test_the_platform_is_priced() -> None:
    """Control plane, system nodes with disks, a NAT gateway and its address a zone, and the load balancer stand beside the pools in the bill."""
    made = plan(cloud={"kubernetes_version": "1.35"})
    pool, parts = made.cloud.system_pool, made.cost.by_pool
    assert 3 == len(made.cloud.zones)
    assert 0.10 == parts["platform/eks"]
    # Three gateways of $0.045 and three addresses of $0.005.
    assert (0.135, 0.015, 0.0225) == (parts["platform/nat-gateway"], parts["platform/public-ipv4"], parts["platform/load-balancer"])
    assert parts["platform/system"] == pytest.approx(pool.nodes.steady * pool.usd_per_hour)
    # Two nodes of 100 GiB at $0.08 a GB-month of 730 hours.
    assert parts["platform/system-disks"] == pytest.approx(2 * 100 * 0.08 / 730, abs=1e-6)
    assert all(part.source and part.as_of for part in made.cost.platform)
    assert "platform/load-balancer" not in plan(gateway={"enabled": False}).cost.by_pool


def test_extended_support_of_kubernetes_is_in_the_bill() -> None:
    """1.33 left standard support in July 2026: six times the price, with a warning that names the saving; a supported version has neither."""
    old, new = plan(cloud={"kubernetes_version": "1.33"}), plan(cloud={"kubernetes_version": "1.35"})
    assert (0.60, 0.10) == (old.cost.by_pool["platform/eks"], new.cost.by_pool["platform/eks"])
    # 0.50 x 730 hours.
    assert any("1.33 left standard support" in text and "$365 a month" in text for text in old.warnings)
    assert not any("standard support" in text for text in new.warnings)


def test_fewer_zones_need_fewer_gateways() -> None:
    """Two listed zones have two NAT gateways."""
    assert 0.09 == plan(cloud={"zones": ["use1-az1", "use1-az2"]}).cost.by_pool["platform/nat-gateway"]


def test_system_nodes_count_towards_the_standard_quota() -> None:
    """Four m7i.2xlarge at most need 32 vCPUs of the standard family."""
    need = next(q for q in plan().quotas if q.family == "Standard")
    assert 32 == need.vcpus
