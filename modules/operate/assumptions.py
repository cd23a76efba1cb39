"""What the sizing of the fleet in the cloud rested on and that no longer holds: the spec, defaults, prices, dated capacity.

None of this is visible to terraform: the cloud is as it was applied, but it would not be built like that today.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any

from inferform.bill import prices_used
from inferform.catalog.price_book import stale_prices
from inferform.errors import InputError
from inferform.operate.results import Assumption
from inferform.plan import DeploymentPlan, ModelPlan, PoolPlan
from inferform.spec import DeploymentSpec

PLAN = "inferform plan shows what would be built today"
_MOST_FIELDS = 12
# A change of price below a tenth of a percent is rounding.
_PRICE_TOLERANCE = 0.001
# Nodes of a capacity block are drained 40 minutes before it ends, as the scheduled action in the stacks does (FC-08).
_DRAIN = timedelta(minutes=40)
_MODEL = ("architecture", "engine", "engine_version", "image", "weights", "kv_cache", "topology")
_POOL = ("instance_type", "tp", "pp", "dp", "ep", "max_model_len", "max_num_seqs", "max_num_batched_tokens", "gpu_memory_utilization")


def spec_changed(then: DeploymentSpec | None, now: DeploymentSpec) -> Iterator[Assumption]:
    """Every field of the spec that is not as it was applied; `then` None where only the digest tells."""
    fields = list(_fields(then.model_dump(mode="json"), now.model_dump(mode="json"), "")) if then else []
    for field, old, new in fields[:_MOST_FIELDS]:
        yield Assumption(code="spec-changed", subject=field, then=_shown(old), now=_shown(new), message="the spec is not what was applied", remedy=PLAN)
    if not fields or len(fields) > _MOST_FIELDS:
        more = f"{len(fields) - _MOST_FIELDS} more fields changed" if fields else "the spec is not what was applied"
        yield Assumption(code="spec-changed", subject="spec", then="", now="", message=more, remedy=PLAN)


def sized_otherwise(applied: DeploymentPlan, today: DeploymentPlan) -> Iterator[Assumption]:
    """What the same spec becomes with the catalogue, the prices and the defaults of today."""
    yield from _compared("cloud", "default-changed", applied.cloud, today.cloud, ("kubernetes_version",))
    for name, model in sorted(applied.models.items()):
        now = today.models.get(name)
        if now is None:
            continue
        yield from _compared(f"models.{name}", "default-changed", model, now, _MODEL)
        if sorted(model.pools) != sorted(now.pools):
            yield _otherwise("sizing-changed", f"models.{name}.pools", ", ".join(sorted(model.pools)), ", ".join(sorted(now.pools)))
        for pool in sorted(set(model.pools) & set(now.pools)):
            yield from _pool(f"{name}/{pool}", model.pools[pool], now.pools[pool])
    before = {p.name: p for p in applied.cost.platform}
    for part in today.cost.platform:
        old = before.get(part.name)
        if old is not None:
            yield from _price(f"{part.name} ({part.unit})", old.usd_per_unit, old.as_of, part.usd_per_unit, part.as_of)


def not_sized(err: InputError) -> Iterator[Assumption]:
    """The applied spec cannot be built any more."""
    for problem in err.problems:
        yield Assumption(
            code="sizing-impossible", subject=problem.field or "spec", then="planned and applied", now=problem.message,
            message="the applied spec cannot be planned any more", remedy=problem.fix or PLAN,
        )  # fmt: skip


def dated_capacity(applied: DeploymentPlan, now: datetime) -> Iterator[Assumption]:
    """Capacity blocks and reservations whose time is over."""
    for model, _, pool, body in applied.pool_items():
        for part in body.purchase:
            ends = _moment(part.ends_at)
            if ends is None or now < ends - _DRAIN:
                continue
            over = now >= ends
            yield Assumption(
                code="capacity-ended", subject=f"{model}/{pool} {part.reservation_id or part.kind}", then=f"{part.nodes.steady} nodes until {ends:%Y-%m-%d %H:%M} UTC",
                now="ended" if over else "draining", message=f"the {part.kind.replace('_', ' ')} {'is over' if over else 'is about to end'}, and its nodes go with it",
                remedy=f"put the next one into models.{model}.capacity.purchase and plan again",
            )  # fmt: skip


def old_prices(applied: DeploymentPlan, today: date) -> Iterator[Assumption]:
    """Prices of the applied plan that are too old to trust."""
    for warning in stale_prices(((p.name, p.as_of, p.share) for p in prices_used(applied)), today):
        yield Assumption(code="price-old", subject="prices", then="", now="", message=warning, remedy="")


def _pool(name: str, old: PoolPlan, new: PoolPlan) -> Iterator[Assumption]:
    yield from _compared(name, "sizing-changed", old, new, _POOL)
    for what in ("nodes", "replicas"):
        then, now = getattr(old, what), getattr(new, what)
        if then != now:
            yield _otherwise("sizing-changed", f"{name} {what}", f"{then.min}-{then.steady}-{then.max}", f"{now.min}-{now.steady}-{now.max}")
    known = {(p.kind, p.instance_types[0], p.reservation_id): p for p in old.purchase}
    for part in new.purchase:
        was = known.get((part.kind, part.instance_types[0], part.reservation_id))
        if was is not None:
            kind = f"{name} {part.instance_types[0]} {part.kind.replace('_', '-')}"
            yield from _price(kind, was.usd_per_hour, was.price_as_of, part.usd_per_hour, part.price_as_of)


def _price(subject: str, then: float, then_day: str, now: float, now_day: str) -> Iterator[Assumption]:
    if abs(now - then) <= _PRICE_TOLERANCE * max(then, now):
        return
    share = f", {abs(now - then) / then:.0%} {'dearer' if now > then else 'cheaper'}" if then else ""
    yield Assumption(
        code="price-changed",
        subject=subject,
        then=f"${then:,.4f} ({then_day})",
        now=f"${now:,.4f} ({now_day})",
        message=f"the price is another{share}",
        remedy=PLAN,
    )


def _compared(subject: str, code: str, old: Any, new: Any, names: Iterable[str]) -> Iterator[Assumption]:
    for name in names:
        then, now = getattr(old, name), getattr(new, name)
        if then != now:
            yield _otherwise(code, f"{subject} {name}" if isinstance(old, PoolPlan) else f"{subject}.{name}", _shown(then), _shown(now))
    if isinstance(old, ModelPlan) and old.load.weights_bytes != new.load.weights_bytes:
        yield _otherwise(code, f"{subject} weights", f"{old.load.weights_bytes:,} bytes", f"{new.load.weights_bytes:,} bytes")


def _otherwise(code: str, subject: str, then: str, now: str) -> Assumption:
    message = "the default is another" if code == "default-changed" else "the same spec is sized otherwise today"
    return Assumption(code=code, subject=subject, then=then, now=now, message=message, remedy=PLAN)


def _fields(old: Any, new: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    """Dotted paths of the leaves that differ, with both values."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted({*old, *new}):
            yield from _fields(old.get(key), new.get(key), f"{path}.{key}" if path else key)
    elif old != new:
        yield path, old, new


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return "set"
    text = "not set" if value is None else ", ".join(map(str, value)) or "none" if isinstance(value, list | tuple) else str(value)
    return text if len(text) <= 80 else text[:80] + "..."


def _moment(text: str | None) -> datetime | None:
    if text is None:
        return None
    found = datetime.fromisoformat(text)
    return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)
