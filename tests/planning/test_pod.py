"""Resources of a serving pod."""

from __future__ import annotations

import pytest
from inferform.errors import InputError
from inferform.planning.pod import reserved_cpu_millis
from inferform.quantities import GIB

from tests.planning.specs import LARGE, model, plan


@pytest.mark.parametrize(("vcpus", "millis"), [(4, 80), (8, 90), (192, 550)])
def test_the_kubelet_keeps_its_share(vcpus: int, millis: int) -> None:
    """60 + 10 + 2 x 5 and 2.5 for each further core: 80 m of 4, 90 m of 8, 550 m of 192."""
    assert millis == reserved_cpu_millis(vcpus)


def test_pods_of_a_node_fit_it_together() -> None:
    """Requests of all pods on a node stay below what it has, and leave little."""
    for _, _, _, pool in plan({"big": model(LARGE), "chat": model()}).pool_items():
        node, pods = pool.infrastructure, pool.replicas_per_node
        assert 0.8 * node.vcpus * 1000 < pool.pod.cpu_millis * pods < node.vcpus * 1000
        assert 0.7 * node.memory_bytes < pool.pod.memory_bytes * pods < node.memory_bytes


def test_fc17_shared_memory_counts_towards_the_limit() -> None:
    """More than one GPU: a larger /dev/shm, inside the pod's memory."""
    one, several = (
        plan({"m": model(source, **more)}).models["m"].pools["aggregated"].pod
        for source, more in (("meta-llama/Meta-Llama-3.1-8B", {}), (LARGE, {"parallelism": {"tp": 4}, "hardware": {"instance_types": ["p5.48xlarge"]}}))
    )
    assert (2 * GIB, 16 * GIB) == (one.shm_bytes, several.shm_bytes)
    assert several.shm_bytes < several.memory_bytes


def test_fc17_tensor_parallelism_from_extra_args_counts() -> None:
    """tp 2 given as an engine flag reaches the plan's own field and its shared memory."""
    made = plan({"m": model(extra_args=["--tensor-parallel-size", "2"], hardware={"instance_types": ["g6.12xlarge"]})})
    pool = made.models["m"].pools["aggregated"]
    assert (2, 8 * GIB, ()) == (pool.tp, pool.pod.shm_bytes, made.models["m"].extra_args)
    assert any("tp 2 comes from extra_args" in text for text in made.models["m"].why)


def test_fc17_a_flag_against_its_field_is_refused() -> None:
    """--max-model-len 4096 beside max_model_len 8192."""
    with pytest.raises(InputError, match=r"models\.m\.extra_args: sets max_model_len to 4096, but the spec says 8192"):
        plan({"m": model(extra_args=["--max-model-len", "4096"])})


def test_fc16_a_cache_larger_than_the_disk_is_refused_with_both_figures() -> None:
    """700 GB of cache against a root volume of 100 GiB on a type without local disks."""
    bge = model(
        "BAAI/bge-large-en-v1.5",
        max_model_len=512,
        model_cache="700GB",
        workload={"input_tokens": {"mean": 100, "p95": 200}, "output_tokens": {"mean": 1, "p95": 1}},
    )
    with pytest.raises(InputError, match=r"models\.bge\.model_cache.*651\.9 GiB.*100\.0 GiB"):
        plan({"bge": {**bge, "hardware": {"instance_types": ["c7i.4xlarge"], "device": "cpu"}}})


def test_fc16_local_disks_are_the_budget() -> None:
    """p5.48xlarge: eight disks of 30.4 TB together hold a cache of 700 GB."""
    pool = plan({"m": model(model_cache="700GB", hardware={"instance_types": ["p5.48xlarge"]})}).models["m"].pools["aggregated"]
    assert 30_400 * 10**9 == pool.infrastructure.ephemeral_storage_bytes
    assert 700 * 10**9 == pool.pod.model_cache_bytes


def test_turns_on_one_card_leave_each_process_memory_to_live() -> None:
    """Eight engine processes on a node of 16 GiB have too little each, and the way out is named; two have enough."""
    embed = {
        "source": "BAAI/bge-large-en-v1.5", "task": "embed", "shm": "256Mi", "max_model_len": 512,
        "workload": {"peak_rps": 50, "input_tokens": {"mean": 120, "p95": 400}}, "slo": {"ttft_p95": "500ms"},
    }  # fmt: skip
    shared = {"instance_types": ["g6.xlarge"], "sharing": {"mode": "time-slicing", "replicas": 8}}
    with pytest.raises(InputError, match="leaves each engine process") as caught:
        plan({"m": {**embed, "hardware": shared}})
    assert ["models.m.hardware.sharing"] == [p.field for p in caught.value.problems]
    assert plan({"m": {**embed, "hardware": {**shared, "sharing": {"mode": "time-slicing", "replicas": 2}}}}).models


def test_a_slice_is_not_offered_more_gpus() -> None:
    """What does not fit a MIG instance is told without tensor parallelism or a free choice of it, which are refused there (FC-31)."""
    sliced = {"gpus": ["H100"], "sharing": {"mode": "mig", "profile": "3g.40gb"}}
    with pytest.raises(InputError) as caught:
        plan({"m": model("Qwen/Qwen3-32B", quality="reference", hardware=sliced)})
    assert "tensor parallelism" not in str(caught.value) and "parallelism chosen by the plan" not in str(caught.value)
