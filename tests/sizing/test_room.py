"""How many running requests a cache holds whose use does not grow in proportion to tokens."""

from __future__ import annotations

import math

import pytest
from inferform.catalog.gpus import find_gpu
from inferform.catalog.models import find_model, model_ids
from inferform.sizing.benchmark import saturated
from inferform.sizing.estimate_request import parse
from inferform.sizing.kv_cache import cache_pool
from inferform.sizing.layouts import Cut, Engine, Fit, evaluate
from inferform.sizing.lengths import Lengths
from inferform.sizing.memory import MemoryRequest, plan_memory
from inferform.sizing.performance import replica
from inferform.sizing.room import room_of
from inferform.sizing.workload import Demand

GEMMA, NEMOTRON, LLAMA = (find_model(name) for name in ("google/gemma-3-27b-it", "nvidia/Nemotron-H-56B-Base-8K", "meta-llama/Meta-Llama-3.1-8B"))
H100 = find_gpu("H100")


def batch(prompt: Lengths, output: Lengths) -> Demand:
    return Demand("batch", 20.0, prompt, output, 0, 1.0, None, None)


def fit(name: str, demand: Demand, *, tp: int = 1, context: int = 8192) -> Fit:
    engine = Engine("vllm", "0.33.0", "auto", context, None, None, 0.9, enforce_eager=False, chunked_prefill=True, prefix_caching=True)
    found = evaluate(find_model(name), demand, engine, Cut(H100, "nvswitch" if tp > 1 else "none", tp, 1, "bf16", 300e9))
    assert isinstance(found, Fit)
    return found


def request(name: str, *, tp: int = 1, context: int = 8192) -> MemoryRequest:
    return MemoryRequest(
        model=find_model(name), gpu=H100, tp=tp, weights="bf16", max_model_len=context, engine="vllm", engine_version="0.33.0", interconnect="nvswitch" if tp > 1 else None
    )  # fmt: skip


def test_windows_longer_than_the_request_hold_all_of_it() -> None:
    """gemma-3-27b in seven tables of blocks of 16: a request of 800 tokens holds 7 x 50.5 of them, not a share of a long request's tokens."""
    room = room_of(request(GEMMA.id, context=32768))
    assert room.cache is not None
    assert room.cache.requests(800, shared=0, step_tokens=2048) == pytest.approx(room.cache.blocks / (7 * 50.5))
    assert room.cache.requests(800, shared=0, step_tokens=2048) < 0.4 * room.memory.kv_cache_tokens / 800


def test_windows_shorter_than_the_request_end() -> None:
    """A request of 16,000 tokens holds 1,000.5 blocks in the table of full attention and 65 in each of six windows; one step's prompt tokens more."""
    room = room_of(request(GEMMA.id, context=32768))
    assert room.cache is not None
    assert room.cache.requests(16_000, shared=0, step_tokens=2048) == pytest.approx((room.cache.blocks - 6 * 128) / (1000.5 + 6 * 65))


def test_a_state_is_as_large_for_a_short_request() -> None:
    """Nemotron-H: a request of 300 tokens holds as many blocks as one of 8,192 but for those of attention, so half the batch fits that tokens would say."""
    room = room_of(request(NEMOTRON.id, tp=2))
    assert room.cache is not None
    held = room.cache.requests(300, shared=0, step_tokens=8192)
    assert room.memory.max_concurrency <= held <= 2 * room.memory.max_concurrency
    assert held < room.memory.kv_cache_tokens / 300 / 10


@pytest.mark.parametrize(
    ("name", "tp", "context", "prompt", "output"),
    [(NEMOTRON.id, 2, 8192, Lengths(100, 200), Lengths(200, 300)), (GEMMA.id, 1, 32768, Lengths(600, 800), Lengths(200, 200))],
)
def test_a_plan_runs_no_more_than_memory_holds(name: str, tp: int, context: int, prompt: Lengths, output: Lengths) -> None:
    """What is in flight at the planned limit fits the blocks that the pool has, by hand from the model's groups."""
    found = fit(name, batch(prompt, output), tp=tp, context=context)
    model = find_model(name)
    pool = cache_pool(model, tp, "auto", 0, model.layers)
    blocks = found.memory.kv_cache_bytes_per_gpu // pool.block_bytes
    tokens = prompt.mean + output.mean
    needed = sum(g.tables if g.kind == "mamba" else g.tables * math.ceil(min(tokens, g.window_tokens or tokens) / g.block_tokens) for g in pool.groups)
    assert 0.5 * blocks / needed < found.best.concurrency <= blocks / needed


def test_estimate_and_size_hold_the_same() -> None:
    """The highest throughput of `estimate` runs what the planner's limits hold, for windows and for states."""
    for name, tp in ((GEMMA.id, 1), (NEMOTRON.id, 2)):
        here = replica(
            parse(
                {
                    "model": name,
                    "gpu": "H100",
                    "tp": tp,
                    "weights": "bf16",
                    "input_tokens": 600,
                    "output_tokens": 200,
                    "max_model_len": 8192,
                    "max_num_seqs": 1024,
                }
            )
        )
        assert here.limits.cache is not None
        _, running = saturated(here.costs, here.limits, prompt=600, cached=0, output=200)
        assert running <= here.limits.cache.requests(800, shared=0, step_tokens=here.limits.step_tokens) < here.limits.kv_tokens / 800


def test_cache_of_one_kind_is_counted_in_tokens() -> None:
    """Where every layer keeps every token, and for encoders, nothing but tokens counts, for all models of the catalogue."""
    assert room_of(request(LLAMA.id)).cache is None
    for name in model_ids():
        model = find_model(name)
        kinds = {(g.kind, g.window_tokens) for g in model.attention if g.kind != "none"}
        room = room_of(MemoryRequest(model=model, gpu=find_gpu("B200"), tp=8, weights="fp8", max_model_len=2048, interconnect="nvswitch"))
        if kinds <= {("full", None), ("mla", None)}:
            assert room.cache is None, name
        elif kinds & {("mamba", None), ("linear", None)}:
            assert room.cache is not None, name


def test_a_shared_prefix_is_held_once() -> None:
    """Beside 4,096 shared tokens of full attention a request holds only its own."""
    room = room_of(request(GEMMA.id, context=32768))
    assert room.cache is not None
    alone, beside = (room.cache.requests(own, shared=shared, step_tokens=2048) for own, shared in ((4596, 0), (500, 4096)))
    assert beside > 1.5 * alone


def test_memory_plan_is_the_room_s() -> None:
    """The plan inside the room is the one that `memory` prints."""
    assert plan_memory(request(GEMMA.id)) == room_of(request(GEMMA.id)).memory
