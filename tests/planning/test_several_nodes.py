"""Replicas of several nodes: which engines can, what each member is told, and which cannot and why."""

from __future__ import annotations

from typing import Any

import pytest
from inferform.errors import InputError
from inferform.render import render
from rendered import option, pods

from tests.planning.specs import model, plan

HUGE = "meta-llama/Meta-Llama-3.1-405B"
WIDE: dict[str, Any] = {
    "quantization": "bf16", "parallelism": {"tp": 8, "pp": 2}, "slo": {"ttft_p95": "20s", "tpot_p95": "200ms"}, "hardware": {"instance_types": ["p5.48xlarge"]},
}  # fmt: skip


def test_tensorrt_llm_over_nodes_is_refused_by_the_plan() -> None:
    """Its ranks on other nodes are started by MPI, and pods have neither ssh nor exec rights; the reason stands at the engine's field."""
    with pytest.raises(
        InputError, match=r"models\.m\.engine: a replica on 2 x p5\.48xlarge: tensorrt-llm starts ranks on other nodes by MPI.*use vllm or sglang"
    ):
        plan({"m": model(HUGE, engine="tensorrt-llm", **WIDE)})


@pytest.mark.parametrize(
    ("engine", "flags"),
    [
        ("vllm", {"--nnodes": "2", "-r": "{rank}", "--master-addr": "$(LWS_LEADER_ADDRESS)", "--pipeline-parallel-size": "2", "--tensor-parallel-size": "8"}),
        ("sglang", {"--nnodes": "2", "--node-rank": "{rank}", "--dist-init-addr": "$(LWS_LEADER_ADDRESS):29501", "--pp-size": "2", "--tp-size": "8"}),
    ],
)
def test_members_of_a_group_find_each_other(engine: str, flags: dict[str, str]) -> None:
    """Leader and worker name the same group of two, their own rank and the leader's address; both have GPUs, EFA, huge pages and shared memory."""
    made = plan({"m": model(HUGE, engine=engine, **WIDE)})
    leader, worker = pods(render(made), "m-aggregated")
    for pod, rank in ((leader, "0"), (worker, "$(LWS_WORKER_INDEX)")):
        assert {flag: value.format(rank=rank) for flag, value in flags.items()} == {flag: option(pod, flag) for flag in flags}
        limits = pod["containers"][0]["resources"]["limits"]
        assert (8, 32) == (limits["nvidia.com/gpu"], limits["vpc.amazonaws.com/efa"])
        assert {"FI_PROVIDER", "NCCL_SOCKET_IFNAME"} <= {e["name"] for e in pod["containers"][0]["env"]}
        assert "shm" in [v["name"] for v in pod["volumes"]]
    assert "readinessProbe" in leader["containers"][0]
    assert "readinessProbe" not in worker["containers"][0]


def test_caches_over_plain_networks_are_told() -> None:
    """Prefill and decode without EFA: NIXL goes over TCP, with the time of a long prompt; with EFA nothing is said."""
    split = {"topology": {"prefill": 1, "decode": 2}, "parallelism": {"tp": 4}, "slo": {"ttft_p95": "4s"}, "hardware": {"instance_types": ["p5.48xlarge"]}}
    plain, fast = (plan({"m": model("meta-llama/Llama-3.3-70B-Instruct", nodes={"efa": efa, "zones": ["use1-az6"]}, **split)}) for efa in (False, True))
    (text,) = [w for w in plain.warnings if "NIXL hands caches over by TCP" in w]
    assert "p5.48xlarge here has no EFA" in text
    assert " ms for a long prompt" in text
    assert not [w for w in fast.warnings if "NIXL hands caches over by TCP" in w]
