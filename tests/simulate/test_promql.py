"""The part of PromQL that scalers use, on a few series held by hand."""

from __future__ import annotations

import math

import pytest
from inferform.errors import InputError
from inferform.simulate.promql import Element, Ranged, Vector, parse

M = (("model_name", "m"),)


class Series:
    """Waiting of three pods (two of them alike), another model's pod, and counters of 30 s."""

    def instant(self, name: str) -> Vector:
        if name == "waiting":
            return [Element((*M, ("pod", "a-0")), 4.0, 2), Element((*M, ("pod", "a-2")), 1.0), Element((("model_name", "n"), ("pod", "b-0")), 50.0)]
        return [Element((("deployment", "m"),), 3.0)] if name == "ready" else []

    def window(self, name: str, seconds: float) -> list[Ranged]:
        counted = [(0.0, 0.0), (15.0, 30.0), (30.0, 90.0)]
        kept = tuple((t, v) for t, v in counted if t >= 30 - seconds)
        if name == "done":
            return [Ranged(M, kept)]
        # 10 within 1 s, 40 within 2 s, 40 in all.
        return [Ranged((("le", le),), ((0.0, 0.0), (10.0, n))) for le, n in (("1", 10.0), ("2", 40.0), ("inf", 40.0))] if name == "took_bucket" else []


def values(query: str) -> list[float]:
    found = parse(query)(Series())
    return [found] if isinstance(found, float) else [e.value for e in found]


@pytest.mark.parametrize(("query", "expected"), [
    ('sum(waiting{model_name="m"})', [9.0]),
    ('avg(waiting{model_name="m"})', [3.0]),
    ('count(waiting{model_name="m"})', [3.0]),
    ('max(waiting{model_name="m"})', [4.0]),
    ('min(waiting{model_name="m"})', [1.0]),
    ('sum(waiting{model_name="m",pod=~"a-.+"} * 10)', [90.0]),
    ('sum(waiting{pod!~"a-.+"})', [50.0]),
    ('sum(waiting{model_name!="m"})', [50.0]),
    ('sum(waiting{model_name="m"}) by (pod)', [4.0, 1.0]),
    ("sum by (model_name) (waiting)", [9.0, 50.0]),
    ('sum(waiting{model_name="other"})', []),
    ('(sum(waiting{model_name="other"})) or (sum(ready{deployment="m"}) == 0)', []),
    ('(sum(waiting{model_name="other"})) or 0 * sum(ready{deployment="m"})', [0.0]),
    ('(sum(waiting{model_name="m"})) or (sum(ready) == 3)', [9.0]),
    ("sum(rate(done[15s]))", [4.0]),
    ("sum(rate(done[1m]))", [3.0]),
    ("sum(rate(done[10s]))", []),
    ("sum(avg_over_time(done[1m]))", [40.0]),
    ("max(max_over_time(done[1m])) - min(min_over_time(done[1m]))", [90.0]),
    ("histogram_quantile(0.5, sum by (le) (rate(took_bucket[1m])))", [1 + 10 / 30]),
    ("histogram_quantile(0.25, sum by (le) (rate(took_bucket[1m])))", [1.0]),
    ("histogram_quantile(0.5, sum by (le) (rate(nothing_bucket[1m])))", []),
    ("-2 + 3 * (4 - 1)", [7.0]),
    ("1 / 4", [0.25]),
    ("sum(ready) > 2", [3.0]),
    ("sum(ready) < 2", []),
])  # fmt: skip
def test_queries(query: str, expected: list[float]) -> None:
    """Each query gives the value worked by hand; alike pods count as often as they are."""
    assert expected == values(query)


def test_a_quantile_of_nothing_counted_is_no_number() -> None:
    """Buckets that did not move give NaN, as Prometheus does, which a comparison drops."""
    query = "histogram_quantile(0.5, sum by (le) (rate(took_bucket[1m]) * 0))"
    assert math.isnan(values(query)[0])
    assert [] == values(f"{query} >= 0")


def test_grouped_by_pod_alike_pods_stay_alike() -> None:
    """Two alike pods grouped by pod are one element that stands for two."""
    found = parse('sum(waiting{model_name="m"}) by (pod)')(Series())
    assert isinstance(found, list)
    assert [(4.0, 2), (1.0, 1)] == [(e.value, e.pods) for e in found]


def test_quotes_and_backslashes_in_matchers() -> None:
    """A matcher's text is unquoted once: the regular expression a\\-0 matches a-0."""
    assert [4.0] == values('max(waiting{pod=~"a\\\\-0"})')


@pytest.mark.parametrize("query", [
    "", "sum(", "sum(waiting", "increase(done[1m])", "sum(waiting) without (pod)", "waiting offset 5m", "sum(rate(done))", "sum(rate(done[1x]))",
    "waiting{pod}", "topk(1, waiting)", "sum(waiting) and sum(ready)", 'waiting{pod="a"', "1 2", "sum(waiting) == bool 1", "$x", 'waiting{pod="a" "b"}',
])  # fmt: skip
def test_what_is_not_understood_is_refused(query: str) -> None:
    """No query is half understood: everything outside the subset is an error that names the place."""
    with pytest.raises(InputError, match="is not understood"):
        parse(query)
