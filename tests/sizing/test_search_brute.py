"""The search against brute force: every candidate of the same space evaluated, on thirty generated specs."""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import replace

import pytest
from inferform.catalog.gpus import find_gpu
from inferform.catalog.instances import gpu_instances
from inferform.catalog.models import find_model
from inferform.catalog.prices import price
from inferform.catalog.types import Instance, Model
from inferform.sizing.layouts import SEQUENCE_STEPS, STEP_TOKENS, Cut, Engine, Fit, evaluate
from inferform.sizing.lengths import Lengths
from inferform.sizing.search import Degrees, Fleet, Space, search
from inferform.sizing.workload import Demand

SOURCES = ("meta-llama/Meta-Llama-3.1-8B", "meta-llama/Llama-3.3-70B-Instruct", "openai/gpt-oss-120b", "Qwen/Qwen3-32B", "Qwen/Qwen3-30B-A3B")
TYPES = tuple(i for i in gpu_instances() if i.arch == "x86_64" and find_gpu(i.gpu or "").fp16_flops and find_gpu(i.gpu or "").device_memory_bytes)
HOP = {"nvswitch": 300e9, "nvlink": 100e9, "pcie": 20e9, "none": 20e9}


def listed(instance: Instance, fleet: Fleet) -> float | str:
    """The on-demand price in us-east-1."""
    found = price(instance.name, "us-east-1", "on_demand")
    return "no price" if found is None else fleet.nodes[1] * found.usd_per_hour


def spec_of(seed: int) -> tuple[Model, Demand, Engine, tuple[Instance, ...], tuple[str, ...], Degrees | None]:
    """Model, traffic, objectives, allowed types, precisions and degrees of one generated spec."""
    rng = random.Random(seed)  # noqa: S311 - the same thirty specs on every run
    model = find_model(rng.choice(SOURCES))
    prompt, output = rng.choice((64, 300, 1000, 4000, 9000)), rng.choice((20, 150, 400, 1200))
    demand = Demand(
        rng.choice(("interactive", "agentic", "batch")), rng.choice((0.3, 2.0, 9.0, 40.0)), Lengths(prompt, prompt * rng.choice((1, 2, 3))),
        Lengths(output, output * rng.choice((1, 2))), rng.choice((0, prompt // 2)), rng.choice((1.0, 2.5)), rng.choice((None, 0.6, 2.0)), rng.choice((None, 0.03, 0.08)),
    )  # fmt: skip
    engine = Engine("vllm", "0.33.0", "auto", 32768, None, None, 0.9, enforce_eager=False, chunked_prefill=True, prefix_caching=True)
    types = tuple(sorted(rng.sample(TYPES, rng.choice((3, 8, 14))), key=lambda i: i.name))
    weights = ("mxfp4",) if model.quantization else rng.choice((("bf16",), ("fp8",), ("bf16", "fp8"), ("awq", "fp8")))
    degrees = rng.choice((None, None, None, Degrees(2, 1, 1), Degrees(1, 2, 1), Degrees(2, 1, 2)))
    return model, demand, engine, types, weights, degrees


def layouts(instance: Instance, model: Model, weights: tuple[str, ...], degrees: Degrees | None) -> list[tuple[Cut, int]]:
    """Every legal layout of a replica on a type, from the rules alone: TP within NVLink, stages over PCIe and nodes, ranks that share experts."""
    gpu, count, link = find_gpu(instance.gpu or ""), instance.gpu_count, instance.interconnect
    assert link != "neuronlink"
    found = []
    for kind in weights:
        if degrees is not None:
            ranks = degrees.tp * degrees.pp * degrees.dp
            if degrees.tp > count or (ranks > count and (ranks % count or count % degrees.tp)):
                continue
            nodes = max(1, -(-ranks // count))
            joined = link if degrees.tp * degrees.dp > 1 else "none"
            hop = instance.network_bytes_per_s if nodes > 1 else HOP[link]
            found.append((Cut(gpu, joined, degrees.tp, degrees.pp, kind, hop, degrees.dp, degrees.ep), nodes))
            continue
        wired = link in {"nvswitch", "nvlink"}
        for tp, pp, dp, nodes in itertools.product((1, 2, 4, 8, 16), (1, 2, 3, 4, 8), (1, 2, 4, 8), (1, 2, 3, 4)):
            ranks = tp * dp
            for ep in {1, ranks}:
                alone = nodes == 1 and tp * pp * dp <= count
                if dp > 1 and ep == 1:
                    continue
                if ep > 1 and not (model.moe and wired and pp == 1 and alone):
                    continue
                if tp > 1 and not wired:
                    continue
                if nodes == 1 and not (alone and (pp == 1 or (not wired and tp == 1 and pp in (2, 4, 8)))):
                    continue
                if nodes > 1 and not (wired and instance.efa_interfaces and tp == count and pp == nodes and dp == 1 and ep == 1 and count in (1, 2, 4, 8)):
                    continue
                hop = instance.network_bytes_per_s if nodes > 1 else HOP[link]
                found.append((Cut(gpu, link if ranks > 1 else ("none" if nodes == 1 else link), tp, pp, kind, hop, dp, ep), nodes))
    return found


def cheapest(model: Model, demand: Demand, engine: Engine, types: tuple[Instance, ...], *, weights: tuple[str, ...], degrees: Degrees | None) -> float | None:
    """USD an hour of the cheapest fleet of all candidates, by the arithmetic of capacity: busiest hour and headroom over what a replica carries."""
    best: float | None = None
    for instance in types:
        cost = listed(instance, Fleet((1, 1, 1), (1, 1, 1)))
        if isinstance(cost, str):
            continue
        for cut, nodes in layouts(instance, model, weights, degrees):
            fit = evaluate(model, demand, engine, cut)
            if not isinstance(fit, Fit):
                continue
            replicas = math.ceil(demand.requests_per_s * (1 + demand.defaults.headroom) / (fit.best.requests_per_s * cut.dp) - 1e-9)
            per_node = max(1, instance.gpu_count // (cut.tp * cut.pp * cut.dp)) if nodes == 1 else 1
            usd = math.ceil(replicas / per_node) * nodes * cost
            best = usd if best is None else min(best, usd)
    return best


@pytest.mark.parametrize("seed", range(30))
def test_the_search_finds_what_brute_force_finds(seed: int) -> None:
    """On each of thirty generated specs the price is that of the cheapest candidate of the whole space; where none carries the load, both say so."""
    model, demand, engine, types, weights, degrees = spec_of(seed)
    space = Space(types, weights, degrees, listed, lambda cut: None, spread_experts=model.moe is not None)
    found = search(model, demand, engine, space)
    expected = cheapest(model, demand, engine, types, weights=weights, degrees=degrees)
    if expected is None:
        assert not found.choices
    else:
        assert found.choices[0].usd_per_hour == pytest.approx(expected)


def test_generated_specs_are_of_every_kind() -> None:
    """Among the thirty some have a plan and some have none, with free and with given degrees."""
    outcomes = set()
    for seed in range(30):
        model, demand, engine, types, weights, degrees = spec_of(seed)
        space = Space(types, weights, degrees, listed, lambda cut: None, spread_experts=model.moe is not None)
        outcomes.add((bool(search(model, demand, engine, space).choices), degrees is None))
    assert 4 == len(outcomes)


@pytest.mark.parametrize("seed", range(0, 30, 3))
def test_batch_limits_are_the_best_of_all(seed: int) -> None:
    """No step budget that spares running streams and no number of sequences carries over two percent more than those chosen."""
    model, demand, engine, types, weights, _ = spec_of(seed)
    instance = next(i for i in types if i.gpu)
    for cut, _ in layouts(instance, model, weights[:1], None)[:4]:
        free = evaluate(model, demand, engine, cut)
        if not isinstance(free, Fit):
            continue
        tried = [
            evaluate(model, demand, replace(engine, max_num_seqs=sequences, max_num_batched_tokens=tokens), cut)
            for tokens in STEP_TOKENS if tokens <= free.max_num_batched_tokens or demand.tpot_p95_s is None
            for sequences in SEQUENCE_STEPS if demand.defaults.sequences <= sequences <= tokens
        ]  # fmt: skip
        assert free.best.requests_per_s * 1.025 >= max(t.best.requests_per_s for t in tried if isinstance(t, Fit))
