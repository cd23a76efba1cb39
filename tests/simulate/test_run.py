"""A whole run: what its trace holds, that it repeats, and that a day takes no time."""

from __future__ import annotations

import dataclasses
import time
from typing import Any

import pytest
import samples
import yaml
from inferform.errors import InputError
from inferform.render import render
from inferform.simulate import arrivals
from inferform.simulate.fleet import pool_of
from inferform.simulate.run import Phases, run
from simulate.pools import pool

QUEUE = {
    "kind": "ScaledObject",
    "metadata": {"name": "m"},
    "spec": {
        "scaleTargetRef": {"name": "m"},
        "minReplicaCount": 1,
        "maxReplicaCount": 4,
        "triggers": [{"type": "prometheus", "metadata": {"serverAddress": "http://p", "query": "sum(vllm:num_requests_waiting)", "threshold": "8"}}],
    },
}


def test_a_step_in_numbers() -> None:
    """One replica takes 5 of 15 requests a second from 60 s on: 10 more wait each second.

    Scrapes at 60, 75, ... and syncs at 69, 84, ...: the scrape at 75 s shows 150 waiting, the sync at 84 s asks for
    150 / 8 = 19 and gets 4 (the maximum). The three new replicas serve from 184 s on and the backlog of their elder stays with it.
    """
    trace = run(QUEUE, pool(), arrivals.step(2, 15, 60), 10, replicas=1)
    rise = trace.decisions[0]
    assert (84, "hpa", 1, 4, "s0-prometheus 150/8 wants 19; 4 by window and limits") == dataclasses.astuple(rise)
    assert 24 == trace.first_rise_s(60)
    ready = {m.at_s: m.ready for m in trace.moments}
    assert (1, 4) == (ready[174], ready[189])
    assert (1, None) == (trace.least(0, 80), trace.first_rise_s(100))
    assert trace.arrived == pytest.approx(60 * 2 + 541 * 15)


def test_the_same_run_gives_the_same_trace() -> None:
    """Nothing depends on chance or on an earlier run."""
    load = arrivals.noisy(arrivals.constant(9), seed=5)
    assert run(QUEUE, pool(), load, 60) == run(QUEUE, pool(), load, 60)


def test_phases_move_the_controllers() -> None:
    """Syncs at 3, 18, ... and scrapes at 10, 25, ...: the step at 60 s is seen at 70 s and acted on at 78 s."""
    trace = run(QUEUE, pool(), arrivals.step(2, 15, 60), 5, replicas=1, phases=Phases(scrape_s=10, sync_s=3))
    assert (3, 78) == (trace.moments[0].at_s, trace.decisions[0].at_s)


def test_a_trace_prints_as_a_table() -> None:
    """A line a minute (8.6 requests of 2,000 tokens are 9 % of the cache), then what was decided and why; lines fit 100 columns."""
    text = str(run(QUEUE, pool(), arrivals.step(2, 15, 60), 5, replicas=1))
    lines = text.splitlines()
    assert "    time desired ready   req/s  waiting  running    kv  ttft s" == lines[0]
    assert " 0:00:09       1     1     2.0      0.0      8.6    9%    0.15" == lines[1]
    assert "decisions: 1" == lines[6]
    assert lines[7].startswith(" 0:01:24  hpa 1 -> 4: s0-prometheus 150/8 wants 19")
    assert all(len(line) <= 100 for line in lines)


def test_turns_count_changes_of_direction() -> None:
    """Up, up, down and up again are two turns."""
    trace = run(QUEUE, pool(), arrivals.constant(1), 1)
    steps = [(1, 2), (2, 3), (3, 2), (2, 4)]
    decisions = tuple(dataclasses.replace(_decision(), before=before, after=after) for before, after in steps)
    assert (0, 2) == (trace.turns, dataclasses.replace(trace, decisions=decisions).turns)


def _decision() -> Any:
    return run(QUEUE, pool(), arrivals.step(2, 15, 60), 5, replicas=1).decisions[0]


def test_what_the_api_server_refuses_does_not_run() -> None:
    """A field that does not exist stops the run before it starts."""
    with pytest.raises(InputError, match="maxReplicas"):
        run({**QUEUE, "spec": {**QUEUE["spec"], "maxReplicas": 4}}, pool(), arrivals.constant(1), 1)  # type: ignore[dict-item]


def test_a_day_takes_no_time() -> None:
    """24 hours of a rendered pool: 0.4 to 0.9 s of processor time on a shared machine of 2026, 3 s allowed."""
    plan = samples.sample_plan()
    item = yaml.safe_load(render(plan)["scaling/llama-8b-aggregated.yaml"])
    found = pool_of(plan, "llama-8b", "aggregated")
    before = time.process_time()
    trace = run(item, found, arrivals.day(10, 0.8), 24 * 60)
    assert time.process_time() - before < 3
    assert 5760 == len(trace.moments)
