"""Communication buffers, context growth and CUDA graphs."""

from __future__ import annotations

import pytest
from inferform.catalog.gpus import find_gpu
from inferform.catalog.models import find_model
from inferform.sizing.memory_constants import read_version
from inferform.sizing.runtime import cuda_graph_bytes, default_interconnect, non_torch_bytes

GIB = 2**30


@pytest.mark.parametrize(
    ("tp", "pp", "interconnect", "version", "printed"),
    [
        (1, 1, "nvlink", "0.11.0", 0.13),
        (1, 1, "nvlink", "0.19.0", 0.25),
        (2, 1, "nvlink", "0.11.0", 0.55),
        (2, 1, "nvlink", "0.19.0", 2.09),
        (4, 1, "nvswitch", "0.19.0", 2.17),
        (2, 1, "pcie", "0.10.2", 0.22),
        (4, 1, "pcie", "0.33.0", 1.70),
        (1, 2, "nvlink", "0.19.0", 0.07),
        (1, 1, "none", "0.7.2", 0.05),
    ],
)
def test_non_torch_memory(tp: int, pp: int, interconnect: str, version: str, printed: float) -> None:
    """Within 0.1 GiB of start-up logs, by tensor parallelism, link and version."""
    assert printed == pytest.approx(non_torch_bytes(tp=tp, pp=pp, interconnect=interconnect, version=read_version(version)) / GIB, abs=0.1)


@pytest.mark.parametrize(
    ("name", "printed"),
    [("google/gemma-3-4b-it", 0.67), ("google/gemma-3-12b-it", 0.94), ("google/gemma-3-27b-it", 1.14), ("meta-llama/Llama-3.1-8B", 0.91)],
)
def test_graphs(name: str, printed: float) -> None:
    """Captured graphs of 0.19 on an H100 within 0.25 GiB of what was printed."""
    assert printed == pytest.approx(cuda_graph_bytes(find_model(name), max_num_seqs=1024, enforce_eager=False) / GIB, abs=0.25)


def test_eager_captures_nothing_and_few_sequences_little() -> None:
    """Eager mode has no graphs; 32 sequences capture an eighth of the batch sizes."""
    model = find_model("google/gemma-3-27b-it")
    assert 0 == cuda_graph_bytes(model, max_num_seqs=1024, enforce_eager=True)
    full, few = (cuda_graph_bytes(model, max_num_seqs=n, enforce_eager=False) for n in (256, 32))
    assert few == pytest.approx(full / 8, rel=0.01)


def test_link_of_a_card() -> None:
    """NVLink by the card; an unknown card of 70 GiB and more is taken to have it."""
    assert ("nvlink", "pcie") == (default_interconnect(find_gpu("H100"), 1), default_interconnect(find_gpu("L40S"), 1))
    assert ("nvlink", "pcie") == (default_interconnect(None, 79 * GIB), default_interconnect(None, 24 * GIB))
