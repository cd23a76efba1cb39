"""The picture of a break-even: both monthly bills over the monthly volume, as SVG or PNG.

Drawn by matplotlib (the `plots` extra), imported only here. The same answer gives the same bytes with the same matplotlib.
"""

from __future__ import annotations

import io
import math
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inferform.errors import InputError, MissingToolError, Problem
from inferform.sizing.breakeven import BreakEven, counted, format_tokens, format_usd
from inferform.sizing.breakeven_fleet import MTOK, Fleet

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FORMATS = (".svg", ".png")
# Two colours that stay apart for colour-blind readers and in grey print (Okabe and Ito).
_API, _FLEET = "#D55E00", "#0072B2"
STYLE: dict[Any, Any] = {
    # Text stays text: small files that can be searched and read aloud.
    "svg.fonttype": "none",
    "svg.hashsalt": "inferform",
    # A dollar sign is money, not mathematics.
    "text.parse_math": False,
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Arial", "Helvetica"],
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
}
_POINTS = 600


def plot_format(path: Path) -> str:
    """`svg` or `png`, by the end of the name. Raises: InputError for another end."""
    if path.suffix.lower() not in FORMATS:
        raise InputError(Problem("the picture's name must end in .svg or .png", field="plot", value=path.name, legal=FORMATS))
    return path.suffix.lower()[1:]


def draw_break_even(answer: BreakEven, fleet: Fleet, kind: str) -> bytes:
    """The picture of an answer for a fleet as the bytes of an SVG or PNG file; `kind` is what `plot_format` gives.

    Both axes are logarithmic: volumes asked are often decades apart.
    Raises: MissingToolError where matplotlib is not installed.
    """
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError as err:
        raise MissingToolError("a picture needs matplotlib, which is not installed; install it with: pip install 'inferform[plots]'") from err
    with rc_context(STYLE):
        figure = Figure(figsize=(8.6, 5.2), layout="constrained")
        _draw(figure.subplots(), answer, fleet)
        out = io.BytesIO()
        # No date and no program version: the same answer gives the same picture.
        metadata = {"Date": None, "Creator": None} if kind == "svg" else {"Software": None}
        figure.savefig(out, format=kind, dpi=144, metadata=metadata)
    return out.getvalue()


def _draw(axes: Axes, answer: BreakEven, fleet: Fleet) -> None:
    from matplotlib.ticker import LogLocator, NullFormatter

    marks = [v.tokens_per_month for v in answer.volumes]
    marks += [v for v in (answer.break_even_tokens_per_month, answer.capacity_tokens_per_month) if v is not None]
    marks = [v for v in marks if v > 0] or [1e9]
    # To the right of the break-even there is room for its label.
    low, high = min(marks) / 4, max(max(marks) * 4, (answer.break_even_tokens_per_month or 0) * 15)
    tokens = _volumes(low, high, fleet)
    api = [t * answer.api_usd_per_mtok / MTOK for t in tokens]
    own = [fleet.usd_at(t) + answer.operations_usd_per_month for t in tokens]

    positive = [usd for usd in (*api, *own) if usd > 0] or [1.0]
    axes.set(
        xscale="log",
        yscale="log",
        xlim=(low, high),
        ylim=(min(positive) / 2, max(positive) * 4),
        xlabel="tokens a month (input + output)",
        ylabel="USD a month",
    )
    axes.plot(tokens, api, color=_API, linewidth=2, label=f"{answer.api} at {_usd(answer.api_usd_per_mtok)} a million tokens")
    staff = f" + ${answer.operations_usd_per_month:,.0f} operations" if answer.operations_usd_per_month else ""
    axes.plot(tokens, own, color=_FLEET, linewidth=2, label=f"own fleet at ${answer.fleet_usd_per_month:,.0f}{staff}")
    cheaper = [a > f for a, f in zip(api, own, strict=True)]
    if any(cheaper):
        axes.fill_between(tokens, api, own, where=cheaper, color=_FLEET, alpha=0.12, linewidth=0, label="the fleet is cheaper")
    axes.grid(which="major", color="#dddddd", linewidth=0.6)
    for axis, (first, last), form in ((axes.xaxis, axes.get_xlim(), _tokens), (axes.yaxis, axes.get_ylim(), _usd)):
        # Fewer than three decades would leave an axis with two figures.
        axis.set_major_locator(LogLocator(subs=(1, 2, 5) if last / first < 1000 else (1,)))
        axis.set_major_formatter(form)
        axis.set_minor_formatter(NullFormatter())

    asked = [(v.tokens_per_month, usd) for v in answer.volumes for usd in (v.api_usd, v.fleet_usd) if v.tokens_per_month > 0 and usd > 0]
    if asked:
        axes.plot([t for t, _ in asked], [usd for _, usd in asked], "o", markersize=5, color="#444444", zorder=4, label="the volumes asked")
    if answer.capacity_tokens_per_month is not None:
        _mark_capacity(axes, answer.capacity_tokens_per_month, "one fleet" if answer.unit == "fleet" else "the planned fleet")
    _mark_break_even(axes, answer, fleet)
    axes.set_title(_title(answer), loc="left", fontsize=11, fontweight="bold")
    axes.legend(loc="upper left", frameon=True, framealpha=0.9, edgecolor="none", fontsize=9)


def _usd(value: float, _position: object = None) -> str:
    return f"${value:,.0f}" if value == round(value) else format_usd(value)


def _tokens(value: float, _position: object = None) -> str:
    figure, _, unit = format_tokens(value).partition(" ")
    return f"{float(figure.replace(',', '')):g} {unit}".rstrip()


def _title(answer: BreakEven) -> str:
    if answer.break_even_tokens_per_month is None:
        return f"{answer.api} is cheaper at every volume"
    return f"Own fleet against {answer.api}: even at {_tokens(answer.break_even_tokens_per_month)} tokens a month"


def _mark_capacity(axes: Axes, capacity: float, what: str) -> None:
    low, high = axes.get_xlim()
    # The words stand on the side that has room for them.
    left = math.log(capacity / low) < 0.75 * math.log(high / low)
    axes.axvline(capacity, color="#666666", linestyle="--", linewidth=1)
    axes.annotate(
        f"{what} is full: {_tokens(capacity)}",
        xy=(capacity, 0.02),
        xycoords=axes.get_xaxis_transform(),
        xytext=(5 if left else -5, 0),
        textcoords="offset points",
        ha="left" if left else "right",
        va="bottom",
        fontsize=9,
        color="#444444",
    )


def _mark_break_even(axes: Axes, answer: BreakEven, fleet: Fleet) -> None:
    point = answer.break_even_tokens_per_month
    if point is None:
        return
    usd = point * answer.api_usd_per_mtok / MTOK
    if not (point > 0 and usd > 0):
        return
    units = answer.break_even_units or 1
    with_units = f"\nwith {counted(units, answer.unit)}" if units > fleet.units_at(0) else ""
    axes.plot([point], [usd], "o", markersize=9, markerfacecolor="white", markeredgecolor="black", markeredgewidth=1.6, zorder=5)
    axes.annotate(
        f"break-even\n{_tokens(point)} tokens, ${usd:,.0f}{with_units}",
        xy=(point, usd),
        xytext=(22, -34),
        textcoords="offset points",
        ha="left",
        va="top",
        fontsize=9,
        arrowprops={"arrowstyle": "-", "color": "#666666"},
        bbox={"boxstyle": "round,pad=0.3", "facecolor": "white", "edgecolor": "#999999", "alpha": 0.95},
    )


def _volumes(low: float, high: float, fleet: Fleet) -> list[float]:
    """Volumes evenly spread on a logarithmic axis, with both sides of each step of the staircase while steps can be told apart."""
    ratio = (high / low) ** (1 / _POINTS)
    tokens = [low * ratio**i for i in range(_POINTS + 1)]
    tokens += [edge * side for edge in islice(fleet.edges(low, high), _POINTS) for side in (1.0, 1.0 + 1e-9) if low < edge < high]
    return sorted(tokens)
