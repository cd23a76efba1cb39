"""Spare replicas that stand by warm: kept by the scaler at every load, not only counted in the plan."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
import yaml
from inferform.plan import DeploymentPlan
from inferform.render import render
from inferform.simulate import arrivals
from inferform.simulate.fleet import pool_of
from inferform.simulate.run import Trace, run
from rendered import one

from tests.planning.specs import model, plan

LOAD = {"peak_rps": 30, "burst": 3.0}


@cache
def planned(standby: int, kind: str) -> DeploymentPlan:
    scaling: dict[str, Any] = {"hpa": {}} if kind == "hpa" else {}
    return plan({"m": model(workload=LOAD)}, capacity={"warm_standby": standby}, scaling=scaling)


def settled(standby: int, kind: str, rate: float) -> Trace:
    """Two hours of a constant load, from the steady count."""
    made = planned(standby, kind)
    files = render(made)
    pool = made.models["m"].pools["aggregated"]
    adapter = yaml.safe_load(files.get("scaling/prometheus-adapter-values.yaml", "{}"))
    item = yaml.safe_load(files["scaling/m-aggregated.yaml"])
    return run(item, pool_of(made, "m", "aggregated", tokens_per_request=900), arrivals.constant(rate), 120, replicas=pool.replicas.steady, adapter=adapter)


@pytest.mark.parametrize("kind", ["keda", "hpa"])
@pytest.mark.parametrize("share", [1.7, 2.7])
def test_the_spare_replica_outlives_the_scaler(kind: str, share: float) -> None:
    """At 1.7 and 2.7 replicas' load the fleet settles one above what it settles at without a spare one."""
    rate = planned(0, kind).models["m"].pools["aggregated"].requests_per_s * share
    without, spare = (settled(standby, kind, rate).moments[-1] for standby in (0, 1))
    needed = -(-share // 1)
    assert needed + 1 <= spare.ready
    assert without.ready < spare.ready


def test_the_trigger_counts_need_and_spare_in_one_number() -> None:
    """KEDA asks for requests a second over what one replica carries, plus the spare ones; none without, and none where all may go to zero."""
    made = planned(2, "keda")
    rate = made.models["m"].pools["aggregated"].requests_per_s
    triggers = {t["name"]: t for t in one(made, "ScaledObject")["spec"]["triggers"]}
    assert ("1", "AverageValue") == (triggers["standby"]["metadata"]["threshold"], triggers["standby"]["metricType"])
    assert triggers["standby"]["metadata"]["query"].endswith(f") / {rate:g} + 2")
    assert "standby" not in {t["name"] for t in one(planned(0, "keda"), "ScaledObject")["spec"]["triggers"]}
    sleeping = plan({"m": model(workload=LOAD, scaling={"min": 0})}, capacity={"warm_standby": 1})
    assert "standby" not in {t["name"] for t in one(sleeping, "ScaledObject")["spec"]["triggers"]}
