"""The picture of a choice: latency over throughput of one replica of each pool, with the planned point, as SVG or PNG.

Drawn by matplotlib (the `plots` extra), imported only here and beside it. The same curves give the same bytes with the same matplotlib.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

from inferform.errors import MissingToolError
from inferform.sizing.breakeven_plot import STYLE
from inferform.sizing.operating_curve import Curve, Operating

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Colours that stay apart for colour-blind readers and in grey print (Okabe and Ito).
_LINE, _LIMIT, _POINT = "#0072B2", "#D55E00", "#009E73"


def draw_operating(title: str, curves: Sequence[Curve], kind: str) -> bytes:
    """The picture as the bytes of an SVG or PNG file: a column for each curve, TTFT above TPOT.

    Raises: MissingToolError where matplotlib is not installed.
    """
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError as err:
        raise MissingToolError("a picture needs matplotlib, which is not installed; install it with: pip install 'inferform[plots]'") from err
    rows = 2 if any(curve.planned.tpot_p95_s for curve in curves) else 1
    with rc_context(STYLE):
        figure = Figure(figsize=(max(7.0, 5.4 * len(curves)), 1.2 + 2.9 * rows), layout="constrained")
        grid = figure.subplots(rows, len(curves), squeeze=False)
        for column, curve in enumerate(curves):
            _panel(grid[0][column], curve, "ttft", last=rows == 1 or not curve.planned.tpot_p95_s)
            grid[0][column].set_title(curve.name, loc="left", fontsize=10)
            if rows == 2 and curve.planned.tpot_p95_s:
                _panel(grid[1][column], curve, "tpot", last=True)
            elif rows == 2:
                grid[1][column].set_axis_off()
        figure.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold")
        out = io.BytesIO()
        # No date and no program version: the same answer gives the same picture.
        metadata = {"Date": None, "Creator": None} if kind == "svg" else {"Software": None}
        figure.savefig(out, format=kind, dpi=144, metadata=metadata)
    return out.getvalue()


def _panel(axes: Axes, curve: Curve, which: str, *, last: bool) -> None:
    generates = bool(curve.planned.tpot_p95_s)

    def across(point: Operating) -> float:
        return point.output_tokens_per_s if generates else point.requests_per_s

    def up(point: Operating) -> float:
        return point.ttft_p95_s if which == "ttft" else point.tpot_p95_s * 1e3

    limit = curve.ttft_p95_s if which == "ttft" else None if curve.tpot_p95_s is None else curve.tpot_p95_s * 1e3
    # Beyond the objective the line soon leaves any scale, so the frame follows what matters.
    top = 1.6 * max(limit or 0.0, up(curve.planned), up(curve.most))
    inside = [p for p in curve.points if up(p) <= top * 1.5] or list(curve.points[:1])
    axes.plot([across(p) for p in inside], [up(p) for p in inside], color=_LINE, linewidth=2)
    if limit is not None:
        axes.axhline(limit, color=_LIMIT, linestyle="--", linewidth=1.2)
        axes.annotate(f"objective {_value(limit, which)}", xy=(0.01, limit), xycoords=axes.get_yaxis_transform(), va="bottom", fontsize=8, color=_LIMIT)
    axes.axvline(across(curve.most), color="#666666", linestyle=":", linewidth=1)
    axes.annotate(
        f"most: {curve.most.requests_per_s:,.3g} requests/s", xy=(across(curve.most), 0.03), xycoords=axes.get_xaxis_transform(), xytext=(-4, 0),
        textcoords="offset points", ha="right", va="bottom", fontsize=8, color="#444444",
    )  # fmt: skip
    # The words stand on the side that has room for them.
    right = across(curve.planned) < 0.5 * across(curve.most) * 1.25
    axes.plot([across(curve.planned)], [up(curve.planned)], "o", markersize=8, color=_POINT, zorder=4)
    axes.annotate(
        f"planned: {_value(up(curve.planned), which)} at {curve.planned.requests_per_s:,.3g} requests/s", xy=(across(curve.planned), up(curve.planned)),
        xytext=(6 if right else -6, -8 if right else 8), textcoords="offset points", ha="left" if right else "right", va="top" if right else "bottom", fontsize=8, color=_POINT, bbox={"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none", "alpha": 0.85},
    )  # fmt: skip
    axes.set(xlim=(0, across(curve.most) * 1.25), ylim=(0, top), ylabel="TTFT p95, s" if which == "ttft" else "TPOT p95, ms")
    if last:
        axes.set_xlabel("output tokens a second of one replica" if generates else "requests a second of one replica")
    axes.grid(which="major", color="#dddddd", linewidth=0.6)


def _value(value: float, which: str) -> str:
    return f"{value:.3g} s" if which == "ttft" else f"{value:.0f} ms"
