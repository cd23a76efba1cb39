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
    rates = [
        ("requests", f"{estimate['requests_per_s']:,.2f} a second"),
        ("output tokens", f"{estimate['output_tokens_per_s']:,.0f} a second"),
        ("all tokens", f"{estimate['total_tokens_per_s']:,.0f} a second"),
        ("source", str(estimate["source"])),
    ]
    latency = "\n".join(f"  {line}" for line in table(("", "p50", "p95", "p99"), rows, right=(1, 2, 3)).splitlines())
    return f"{head}\n{latency}\n{pairs(rates)}"
