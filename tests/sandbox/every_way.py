"""One fleet that holds the pools of every example and of every way to buy nodes, and its life on the sandbox, kept as data.

Network, cluster and store are the same for all of them, so they live once and together: planned, applied, planned again, changed
behind terraform's back, destroyed. Nobody is killed here; `life.py` does that.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fleets import PURCHASES, Way, fleet, planned
from inferform.load import load_spec
from inferform.operate.apply import apply
from inferform.operate.destroy import destroy
from inferform.operate.drift import drift
from inferform.operate.plan import plan
from inferform.plan import DeploymentPlan
from inferform.planner import size
from inferform.planning.karpenter import karpenter_plan
from inferform.planning.termination import termination_plan
from inferform.sandbox.backend import client, sandbox_backend
from inferform.sandbox.server import Double
from sandbox.life import ACTOR, REGION, RULES, inventory

Json = dict[str, Any]
# The pool whose security group is changed behind terraform's back.
EFA = "asg-odcr-efa"
EXAMPLES = sorted((Path(__file__).resolve().parents[2] / "examples").glob("*.yaml"))


def ways() -> list[Way]:
    """A way for each list of purchases, on the first kind of group that can have it; types that are sold in every way."""
    found = []
    for purchase in PURCHASES:
        kind = next((k for k in ("managed", "self_managed") if not isinstance(planned(Way("p5", k, purchase, False)), list)), None)
        if kind:
            found.append(Way("p5", kind, purchase, False))
    return [*found, Way("p5", "karpenter", "od-spot", False), Way("p5", "self_managed", "odcr", True)]


def everything() -> DeploymentPlan:
    """The pools of all examples and ways in one plan; each example's own cloud frame gives way to one."""
    rows = []
    for way in ways():
        made = planned(way)
        assert not isinstance(made, list), (way, made)
        rows.append((way, *made))
    base = fleet(rows)
    # One model of as many pools: what differs is how nodes are bought. Batch work may stand on spot nodes alone.
    bought = {model: base.models[model].pools["aggregated"] for model in sorted(base.models)}
    models = {"ways": next(iter(base.models.values())).model_copy(update={"pools": bought, "profile": "batch", "served_name": "ways"})}
    for path in EXAMPLES:
        for name, model in size(load_spec(path).spec).models.items():
            models[f"{path.stem}-{name}"] = model
    zones = {zone for model in models.values() for pool in model.pools.values() for zone in pool.infrastructure.zones}
    cloud = base.cloud.model_copy(update={"zones": tuple(sorted({*base.cloud.zones, *zones}))})
    cost = base.cost.model_copy(update={"budget_usd_per_month": None, "by_pool": {f"{m}/{p}": 30.0 for m, model in models.items() for p in model.pools}})
    whole = base.model_copy(update={"models": models, "cloud": cloud, "cost": cost, "name": "every-way"})
    pools = {f"{m}-{p}": pool for m, _, p, pool in whole.pool_items()}
    prefix = whole.resource_prefix()
    return whole.model_copy(
        update={"karpenter": karpenter_plan(prefix, (p.infrastructure.kind for p in pools.values())), "termination": termination_plan(prefix, pools)}
    )


def run(folder: Path) -> Json:
    """Live through everything below `folder`."""
    source, out = everything(), folder / "out"
    found: Json = {"seconds": {}, "pools": [f"{m}/{p}" for m, _, p, _ in source.pool_items()]}
    with Double() as double:
        backend = sandbox_backend(double.url, folder / "provider", os.environ)

        def timed(name: str, work: Callable[[], Any]) -> None:
            began = time.monotonic()
            found[name] = work().model_dump(mode="json")
            found["seconds"][name] = round(time.monotonic() - began, 1)

        timed("plan", lambda: plan(source, out, backend=backend, actor=ACTOR, rules=RULES))
        if not found["plan"]["allowed"]:
            return found
        timed("apply", lambda: apply(source, out, backend=backend, actor=ACTOR, rules=RULES))
        found["cloud"] = inventory(double.url)
        timed("second_plan", lambda: plan(source, out, backend=backend, actor=ACTOR, rules=RULES))
        ec2 = client(double.url, "ec2", REGION)
        group = next(g for g in ec2.describe_security_groups()["SecurityGroups"] if g["GroupName"].endswith(f"ways-{EFA}-efa"))
        ec2.create_tags(Resources=[group["GroupId"]], Tags=[{"Key": "owner", "Value": "mallory"}])
        timed("drift", lambda: drift(source, out, backend=backend, actor=ACTOR))
        timed("destroy", lambda: destroy(source, out, backend=backend, actor=ACTOR))
        found["left"] = inventory(double.url)
    return found
