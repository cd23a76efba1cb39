"""One benchmark run as the step model sees it: what a tool would print of this replica at this load."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from inferform.sizing.benchmark import closed_loop, saturated
from inferform.sizing.lengths import Lengths
from inferform.sizing.performance import EstimateRequest, Replica, replica
from inferform.sizing.queueing import Latency, Load, Point, open_loop


@dataclass(frozen=True, slots=True)
class RunPoint:
    """What a run prints. Means in seconds; latencies are None where more was offered than the replica can carry."""

    requests_per_s: float
    ttft_mean_s: float | None
    ttft: Latency | None
    tpot_mean_s: float | None
    tpot: Latency | None
    how: str


def run_point(request: EstimateRequest, *, clients: float | None, requests_per_s: float | None, requests: int) -> RunPoint:
    """The run of `requests` requests by so many clients, or offered at this rate; with neither all of them are asked at once.

    Lengths, limits and layout come from the request. Raises: InputError when the model does not fit.
    """
    here = replica(request)
    if requests_per_s is not None:
        found, inside = _offered(request, here, requests_per_s)
        if clients is None or inside <= clients:
            return found
    return _looped(request, here, min(float(requests), clients or requests), requests)


def _offered(request: EstimateRequest, here: Replica, requests_per_s: float) -> tuple[RunPoint, float]:
    """Random arrivals at this rate, and the requests then in flight."""
    load = Load(Lengths(request.input_tokens, request.input_tokens), Lengths(request.output_tokens, request.output_tokens), float(here.cached))
    point: Point | None = open_loop(here.costs, here.limits, load, requests_per_s=requests_per_s / request.dp, host_s=here.host_s)
    if point is None:
        tokens_per_s, _ = saturated(here.costs, here.limits, prompt=request.input_tokens, cached=here.cached, output=request.output_tokens)
        most = tokens_per_s / request.output_tokens * request.dp
        return RunPoint(min(most, requests_per_s), None, None, None, None, f"{requests_per_s:g} requests a second are more than it carries"), math.inf
    run = RunPoint(requests_per_s, None, point.ttft, point.tpot.p50, point.tpot, f"{requests_per_s:g} requests a second at random")
    return run, point.concurrency * request.dp


def _looped(request: EstimateRequest, here: Replica, clients: float, requests: int) -> RunPoint:
    """Clients that each wait for their answer."""
    own = max(1, round(clients / request.dp))
    loop = closed_loop(
        here.costs, here.limits, prompt=request.input_tokens, cached=here.cached, output=request.output_tokens, clients=own, host_s=here.host_s,
        held_steps=request.batch_wait_iterations, waves=max(1.0, requests / request.dp / own),
    )  # fmt: skip
    ttft = replace(loop.point.ttft, p50=min(loop.median_ttft_s, loop.point.ttft.p95))
    how = f"{clients:g} clients, {max(1.0, requests / clients):.3g} requests each"
    return RunPoint(loop.run_requests_per_s * request.dp, loop.point.ttft.p50, ttft, loop.point.tpot.p50, loop.point.tpot, how)
