"""Cold starts by hand."""

from __future__ import annotations

import pytest
from inferform.catalog.instances import find_instance
from inferform.catalog.models import find_model
from inferform.planning.loading import checkpoint_bytes, load_plan

LLAMA_70B = find_model("meta-llama/Llama-3.3-70B-Instruct")


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


def test_a_small_network_is_the_limit() -> None:
    """g6.xlarge has 2.5 Gbit/s: 16 GB at 0.25 GB/s take 64 s."""
    load = load_plan(find_model("meta-llama/Meta-Llama-3.1-8B"), find_instance("g6.xlarge"), 16 * 10**9, nodes_per_replica=1, enforce_eager=True)
    assert load.download_s == pytest.approx(16e9 / (find_instance("g6.xlarge").network_bytes_per_s * 0.8), abs=0.1)
    assert 15.0 == load.warmup_s


def test_nodes_of_a_replica_share_the_reading() -> None:
    """Two nodes each download everything and read half of it into GPU memory."""
    one, two = (load_plan(LLAMA_70B, find_instance("p5.48xlarge"), 140 * 10**9, nodes_per_replica=n, enforce_eager=False) for n in (1, 2))
    assert (one.download_s, one.load_s / 2) == (two.download_s, two.load_s)
