"""The part of PromQL that scalers are written in, evaluated on series held in memory.

Selectors with matchers, `rate`, `avg|min|max_over_time`, `histogram_quantile`, `sum|min|max|avg|count [by (...)]`, arithmetic,
comparisons and `or`. Anything else is refused, so that no query is half understood. `rate` divides what was counted by the time
between the first and the last sample of the window, without reaching out to its edges.
Source: the Prometheus documentation, "Querying basics", "Operators", "Functions".
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NoReturn, Protocol

from inferform.errors import InputError, Problem

Labels = tuple[tuple[str, str], ...]
Samples = tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Element:
    """One element of an instant vector. `pods` alike pods stand behind it: per-pod series that are equal are kept once."""

    labels: Labels
    value: float
    pods: int = 1


Vector = list[Element]
Value = float | Vector


@dataclass(frozen=True, slots=True)
class Ranged:
    """Samples (seconds, value) of one series in a window, oldest first."""

    labels: Labels
    samples: Samples


class Source(Protocol):
    """Where series come from."""

    def instant(self, name: str) -> Vector:
        """The newest samples of a series name; empty when nobody exposes it."""

    def window(self, name: str, seconds: float) -> list[Ranged]:
        """Samples of the last seconds."""


Expression = Callable[[Source], Value]
_TOKEN = re.compile(r"""\s*(?:(\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w]))|([A-Za-z_:][\w:]*)|("(?:[^"\\]|\\.)*")|(=~|!~|!=|==|>=|<=|[-+*/(){},=<>])|(\[\w+\]))""")
_COMPARE = {"==": operator.eq, "!=": operator.ne, ">": operator.gt, "<": operator.lt, ">=": operator.ge, "<=": operator.le}
_ARITHMETIC: dict[str, Callable[[float, float], float]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": lambda a, b: a / b if b else math.nan if a == 0 or math.isnan(a) else math.copysign(math.inf, a)
}  # fmt: skip
_LEVELS = (("or",), tuple(_COMPARE), ("+", "-"), ("*", "/"))
_AGGREGATES = ("sum", "min", "max", "avg", "count")
_UNIT_S = {"s": 1, "m": 60, "h": 3600}


def parse(query: str) -> Expression:
    """A function that evaluates the query on a source. Raises InputError for what is not understood."""
    reader = _Reader(query)
    found = reader.binary(0)
    if reader.next:
        reader.fail()
    return found


@dataclass
class _Reader:
    """Recursive descent over the tokens of one query."""

    query: str
    tokens: list[str] = field(init=False)
    at: int = 0

    def __post_init__(self) -> None:
        self.tokens, place = [], 0
        while self.query[place:].strip():
            match = _TOKEN.match(self.query, place)
            if match is None:
                raise InputError(Problem("is not understood here", "query", value=self.query[place : place + 40]))
            self.tokens.append(match.group().strip())
            place = match.end()

    @property
    def next(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def fail(self) -> NoReturn:
        raise InputError(Problem("is not understood by this model", "query", value=f"{self.next or 'end'} in {self.query}"))

    def take(self, wanted: str = "") -> str:
        token = self.next
        if not token or (wanted and token != wanted):
            self.fail()
        self.at += 1
        return token

    def binary(self, level: int) -> Expression:
        if level == len(_LEVELS):
            return self.atom()
        left = self.binary(level + 1)
        while self.next in _LEVELS[level]:
            left = _combine(self.take(), left, self.binary(level + 1))
        return left

    def atom(self) -> Expression:
        word = self.take()
        if word == "(":
            inner = self.binary(0)
            self.take(")")
            return inner
        if word == "-":
            return _combine("-", _constant(0.0), self.atom())
        if word[0].isdigit():
            return _constant(float(word))
        if word in _AGGREGATES:
            return self.aggregate(word)
        if word in _OVER:
            self.take("(")
            series, matchers = self.selector(self.take())
            window_s = self.window()
            self.take(")")
            return lambda source: _over(_OVER[word], source.window(series, window_s), matchers)
        if word == "floor":
            self.take("(")
            inner = self.binary(0)
            self.take(")")
            return lambda source: _floor(inner(source))
        if word == "histogram_quantile":
            self.take("(")
            q = float(self.take())
            self.take(",")
            inner = self.binary(0)
            self.take(")")
            return lambda source: _quantile(q, inner(source))
        if not re.match(r"[A-Za-z_:]", word) or self.next == "(":
            self.at -= 1
            self.fail()
        series, matchers = self.selector(word)
        return lambda source: [e for e in source.instant(series) if _matches(e.labels, matchers)]

    def aggregate(self, name: str) -> Expression:
        by = self.grouping()
        self.take("(")
        inner = self.binary(0)
        self.take(")")
        by = by or self.grouping()
        return lambda source: _aggregate(name, by, inner(source))

    def grouping(self) -> tuple[str, ...]:
        if self.next != "by":
            return ()
        self.take("by")
        self.take("(")
        names = [self.take()]
        while self.next == ",":
            self.take(",")
            names.append(self.take())
        self.take(")")
        return tuple(names)

    def selector(self, series: str) -> tuple[str, tuple[tuple[str, str, str], ...]]:
        matchers: list[tuple[str, str, str]] = []
        if self.next == "{":
            self.take("{")
            while self.next != "}":
                label, kind, value = self.take(), self.take(), self.take()
                if kind not in ("=", "!=", "=~", "!~") or not value.startswith('"'):
                    self.fail()
                matchers.append((label, kind, re.sub(r"\\(.)", r"\1", value[1:-1])))
                if self.next == ",":
                    self.take(",")
            self.take("}")
        return series, tuple(matchers)

    def window(self) -> float:
        match = re.fullmatch(r"\[(\d+)([smh])\]", self.next)
        if match is None:
            self.fail()
        self.take()
        return float(match[1]) * _UNIT_S[match[2]]


def _constant(value: float) -> Expression:
    return lambda source: value


def _matches(labels: Labels, matchers: Iterable[tuple[str, str, str]]) -> bool:
    have = dict(labels)
    for label, kind, wanted in matchers:
        value = have.get(label, "")
        same = value == wanted if kind in ("=", "!=") else re.fullmatch(wanted, value) is not None
        if same == kind.startswith("!"):
            return False
    return True


def _combine(sign: str, left: Expression, right: Expression) -> Expression:
    if sign == "or":
        return lambda source: _either(left(source), right(source))
    if sign in _COMPARE:
        compare = _COMPARE[sign]
        return lambda source: _pairwise(left(source), right(source), lambda a, b: a if compare(a, b) else None)
    arithmetic = _ARITHMETIC[sign]
    return lambda source: _pairwise(left(source), right(source), arithmetic)


def _either(left: Value, right: Value) -> Value:
    if isinstance(left, float) or isinstance(right, float):
        raise InputError(Problem("or stands between vectors", "query"))
    have = {e.labels for e in left}
    return left + [e for e in right if e.labels not in have]


def _pairwise(left: Value, right: Value, join: Callable[[float, float], float | None]) -> Value:
    """Element by element; vectors are matched by equal labels, comparisons drop what they do not hold for."""
    if isinstance(left, float) and isinstance(right, float):
        number = join(left, right)
        return math.nan if number is None else number
    pairs: list[tuple[Element, float | None]] = []
    if isinstance(left, float):
        pairs = [(e, join(left, e.value)) for e in right] if isinstance(right, list) else []
    elif isinstance(right, float):
        pairs = [(e, join(e.value, right)) for e in left]
    else:
        partner = {e.labels: e.value for e in right}
        pairs = [(e, join(e.value, partner[e.labels])) for e in left if e.labels in partner]
    return [Element(e.labels, value, e.pods) for e, value in pairs if value is not None]


def _aggregate(name: str, by: tuple[str, ...], value: Value) -> Vector:
    if isinstance(value, float):
        raise InputError(Problem(f"{name} wants a vector", "query"))
    if not by:
        return [Element((), _fold(name, value, each=False))] if value else []
    groups: dict[Labels, list[Element]] = {}
    for element in value:
        groups.setdefault(tuple(pair for pair in element.labels if pair[0] in by), []).append(element)
    # Grouped by pod, alike pods stay alike pods; else each of them counts.
    return [Element(labels, _fold(name, group, each="pod" in by), group[0].pods if "pod" in by else 1) for labels, group in groups.items()]


def _fold(name: str, group: list[Element], *, each: bool) -> float:
    if name in ("min", "max"):
        return (min if name == "min" else max)(e.value for e in group)
    total = sum(e.value * (1 if each else e.pods) for e in group)
    if name == "sum":
        return total
    count = sum(1 if each else e.pods for e in group)
    return float(count) if name == "count" else total / count


def _rate(samples: Samples) -> float | None:
    return (samples[-1][1] - samples[0][1]) / (samples[-1][0] - samples[0][0]) if len(samples) > 1 else None


_OVER: dict[str, Callable[[Samples], float | None]] = {
    "rate": _rate,
    "avg_over_time": lambda samples: sum(value for _, value in samples) / len(samples),
    "max_over_time": lambda samples: max(value for _, value in samples),
    "min_over_time": lambda samples: min(value for _, value in samples),
}


def _over(fold: Callable[[Samples], float | None], series: list[Ranged], matchers: tuple[tuple[str, str, str], ...]) -> Vector:
    found = [(r.labels, fold(r.samples)) for r in series if r.samples and _matches(r.labels, matchers)]
    return [Element(labels, value) for labels, value in found if value is not None]


def _floor(value: Value) -> Vector:
    """Values rounded down; NaN and infinities stay."""
    elements = value if isinstance(value, list) else []
    return [Element(e.labels, math.floor(e.value) if math.isfinite(e.value) else e.value, e.pods) for e in elements]


def _quantile(q: float, value: Value) -> Vector:
    """Linear inside the bucket that holds the quantile; NaN where nothing was counted."""
    buckets: dict[Labels, list[tuple[float, float]]] = {}
    for element in value if isinstance(value, list) else []:
        rest = tuple(pair for pair in element.labels if pair[0] != "le")
        buckets.setdefault(rest, []).append((float(dict(element.labels)["le"]), element.value))
    return [Element(labels, _inside(q, sorted(edges))) for labels, edges in buckets.items()]


def _inside(q: float, edges: list[tuple[float, float]]) -> float:
    if len(edges) < 2 or not edges[-1][1] > 0:
        return math.nan
    rank = q * edges[-1][1]
    at = next(i for i, (_, count) in enumerate(edges) if count >= rank)
    if at == len(edges) - 1:
        return edges[-2][0]
    low, below = edges[at - 1] if at else (0.0, 0.0)
    high, upto = edges[at]
    return low + (high - low) * (rank - below) / (upto - below) if upto > below else high
