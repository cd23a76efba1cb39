"""A pool with round numbers for tests: 4 requests a second and 32 in flight a replica, so that a request stays 8 s."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from inferform.simulate.fleet import Fleet, Pool

POOL = Pool(
    namespace="acme", model_name="m", workload="m-aggregated", gateway_namespace="envoy", gateway_name="acme", rate=4.0, in_flight=32.0, pace=5.0,
    most_running=100.0, kv_tokens=200_000, tokens_per_request=2000.0, ttft_s=0.25, ttft_p95_s=0.5, start_s=100.0, pre_stop_s=15.0, grace_s=120.0, replicas=2,
)  # fmt: skip


def pool(**changes: Any) -> Pool:
    return replace(POOL, **changes)


def after(fleet: Fleet, seconds: int, rate: float, start: int = 0) -> Fleet:
    """The fleet after some seconds of a constant rate."""
    for now in range(start, start + seconds):
        fleet.step(now, 1, rate)
    return fleet
