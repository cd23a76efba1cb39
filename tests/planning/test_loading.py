"""Cold starts by hand."""

from __future__ import annotations

import pytest
from inferform.catalog.instances import find_instance
from inferform.catalog.models import find_model
from inferform.plan_nodes import LoadPlan
from inferform.plan_store import LustrePlan
from inferform.planning.loading import Sources, checkpoint_bytes, load_plan

from tests.planning.specs import model, plan

LLAMA_70B, LLAMA_8B = find_model("meta-llama/Llama-3.3-70B-Instruct"), find_model("meta-llama/Meta-Llama-3.1-8B")


def load_70b(**sources: object) -> LoadPlan:
    """140 GB on p5.48xlarge."""
    wanted = Sources(**sources)  # type: ignore[arg-type]
    return load_plan(LLAMA_70B, find_instance("p5.48xlarge"), 140 * 10**9, nodes_per_replica=1, enforce_eager=False, sources=wanted)


def lustre(storage_gib: int, tier: int) -> LustrePlan:
    return LustrePlan(storage_gib=storage_gib, mb_per_s_per_tib=tier, zone="use1-az4")


def test_the_published_checkpoint_is_what_travels() -> None:
    """70.55 B parameters in 16 bit are 141.1 GB, also when the engine makes FP8 of them while loading; an awq checkpoint is 39 GB.

    awq: (70.55 - 2.10) B x 0.516 bytes + 2.10 B x 2 bytes = 35.3 + 4.2 GB.
    """
    assert checkpoint_bytes(LLAMA_70B, "fp8", as_published=True) == pytest.approx(141.1e9, rel=1e-3)
    assert checkpoint_bytes(LLAMA_70B, "awq", as_published=False) == pytest.approx(39.5e9, rel=1e-2)


def test_a_large_node_loads_at_disk_speed() -> None:
    """140 GB on p5.48xlarge: 28 s from S3 at 5 GB/s, 20 s from eight disks at 7 GB/s, 80 s of warm-up for 80 layers."""
    load = load_plan(LLAMA_70B, find_instance("p5.48xlarge"), 140 * 10**9, nodes_per_replica=1, enforce_eager=False)
    assert (28.0, 20.0, 80.0, 128.0) == (load.download_s, load.load_s, load.warmup_s, load.total_s)
    # With image and weights on the node only reading and warming up are left.
    assert 100.0 == load.warm_s


def test_a_small_network_is_the_limit() -> None:
    """g6.xlarge has 2.5 Gbit/s: 16 GB at 0.25 GB/s take 64 s."""
    load = load_plan(LLAMA_8B, find_instance("g6.xlarge"), 16 * 10**9, nodes_per_replica=1, enforce_eager=True)
    assert load.download_s == pytest.approx(16e9 / (find_instance("g6.xlarge").network_bytes_per_s * 0.8), abs=0.1)
    assert 15.0 == load.warmup_s


def test_nodes_of_a_replica_share_the_reading() -> None:
    """Two nodes each download everything and read half of it into GPU memory."""
    one, two = (load_plan(LLAMA_70B, find_instance("p5.48xlarge"), 140 * 10**9, nodes_per_replica=n, enforce_eager=False) for n in (1, 2))
    assert (one.download_s, one.load_s / 2) == (two.download_s, two.load_s)


def test_the_image_is_pulled_while_weights_arrive() -> None:
    """12.6 GB of vLLM at 17.5 GB in five minutes take 216 s; with agents 28 s of download hide behind them, without agents nothing does.

    With: 216 + 20 + 80 = 316 s. Without: 216 + 28 + 20 + 80 = 344 s.
    """
    with_agents, without = load_70b(), load_70b(agents=False)
    assert (216.0, 316.0, 344.0) == (with_agents.image_s, with_agents.ready_s, without.ready_s)
    assert (28.0, 0.0) == (with_agents.paths[0].overlap_s, without.paths[0].overlap_s)
    # The probe starts when the image is there, so what a pod's start may take is the same.
    assert 128.0 == with_agents.total_s == without.total_s


def test_without_local_disks_the_root_volume_is_the_limit() -> None:
    """c7i.4xlarge: 1.3 GB through a volume of 125 MB/s take 10.4 s, and are read back from memory at 7 GB/s in 0.2 s.

    30 GB do not fit half of its 32 GiB: 240 s to write and 240 s to read.
    """
    small, large = (load_plan(LLAMA_8B, find_instance("c7i.4xlarge"), int(gb * 1e9), nodes_per_replica=1, enforce_eager=True) for gb in (1.3, 30))
    assert ("root_volume", 10.4, 0.2) == (small.path, small.download_s, small.load_s)
    assert (240.0, 240.0) == (large.download_s, large.load_s)


def test_a_large_file_system_is_faster_and_taken() -> None:
    """9,600 GiB at 1,000 MB/s a TiB give 9.4 GB/s, more than a loader's 7: 20 s, and nothing is downloaded. The small one gives 0.29 GB/s."""
    large, small = load_70b(lustre=lustre(9600, 1000)), load_70b(lustre=lustre(1200, 250))
    # The image hides the download, so both ways take the same time, and the bucket needs no file system.
    assert ({"disk", "lustre", "peers"}, 316.0) == ({p.kind for p in large.paths}, large.ready_s)
    assert "disk" == small.path
    assert (0.0, 477.9) == next((p.download_s, p.load_s) for p in small.paths if p.kind == "lustre")
    alone = load_70b(lustre=lustre(9600, 1000), agents=False)
    assert ("lustre", 0.0, 20.0, 100.0) == (alone.path, alone.download_s, alone.load_s, alone.total_s)
    assert "disk 344 s" in alone.why


def test_what_is_asked_for_is_taken() -> None:
    """The store, other nodes or the file system, whatever is faster; the plan still shows the others."""
    both = lustre(9600, 1000)
    assert ["disk", "peers", "lustre"] == [load_70b(wanted=w, lustre=both).path for w in ("store", "peers", "lustre")]
    assert load_70b(wanted="peers").why.startswith("asked for in the spec; beside it disk")


def test_peers_spare_the_bucket_and_not_the_time() -> None:
    """Four connections of 5 Gbit/s carry 2.5 GB/s, half of what the bucket gives: 56 s, which auto never takes."""
    load = load_70b()
    peers = next(p for p in load.paths if p.kind == "peers")
    assert (2.5e9, 56.0) == (peers.bandwidth_bytes_per_s, peers.download_s)
    assert "disk" == load.path
    assert "spares the bucket, not time" in load.why


def test_the_fastest_way_stands_first_and_is_the_one_taken() -> None:
    """Paths are in order of time; the plan's own figures are those of its path, and the probe covers twice what they add up to (FC-20)."""
    made = plan({"chat": model()})
    load = made.models["chat"].load
    times = [p.ready_s for p in load.paths]
    assert sorted(times) == times
    taken = next(p for p in load.paths if p.kind == load.path)
    assert (taken.download_s, taken.load_s, taken.warmup_s, taken.ready_s) == (load.download_s, load.load_s, load.warmup_s, load.ready_s)
    assert load.total_s == pytest.approx(taken.download_s + taken.load_s + taken.warmup_s, abs=0.1)
    assert made.models["chat"].pools["aggregated"].lifecycle.startup_failure_threshold >= load.total_s * 2 / 10
