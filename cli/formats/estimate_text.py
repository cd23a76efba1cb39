"""Latency and throughput of one replica as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from inferform.cli.formats.table import pairs, table


def estimate_text(asked: Mapping[str, Any], estimate: Mapping[str, Any]) -> str:
    """Time to first token, time per token and rates at one operating point."""
    degrees = ", ".join(f"{key} {asked[key]}" for key in ("tp", "pp") if key in asked)
    head = f"{asked.get('model')} on {asked.get('gpu')}{f' ({degrees})' if degrees else ''}"
    rows = [(name, *(f"{estimate[key][p]:,.1f} ms" for p in ("p50", "p95", "p99"))) for name, key in (("TTFT", "ttft_ms"), ("TPOT", "tpot_ms"))]
    band = estimate["error_band"]
    rows = [(*row, f"+- {band[key]:.0%}" if key in band else "") for row, key in zip(rows, ("ttft_ms", "tpot_ms"), strict=True)]
    rate = f" +- {band['output_tokens_per_s']:.0%}" if "output_tokens_per_s" in band else ""
    rates = [
        ("requests", f"{estimate['requests_per_s']:,.2f} a second"),
        ("output tokens", f"{estimate['output_tokens_per_s']:,.0f} a second{rate}"),
        ("all tokens", f"{estimate['total_tokens_per_s']:,.0f} a second"),
        ("source", str(estimate["source"])),
    ]
    latency = "\n".join(f"  {line}" for line in table(("", "p50", "p95", "p99", "band"), rows, right=(1, 2, 3, 4)).splitlines())
    return f"{head}\n{latency}\n{pairs(rates)}"
