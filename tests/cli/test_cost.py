"""`inferform cost` prices a deployment by pool."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from specs import MINIMAL, write

Run = Callable[..., object]


def test_json_has_every_part_and_adds_up(tmp_path: Path, inferform: Run) -> None:
    """Fewest, steady and most of each pool and of the platform add up to the whole, which is the plan's."""
    path = write(tmp_path, MINIMAL + "budget: {usd_per_month: 50000}\n")
    data = inferform("cost", path, "--format", "json").data
    for column in ("min", "steady", "max"):
        assert pytest.approx(data["usd_per_hour"][column]) == sum(part[column] for part in data["by_pool"].values())
    assert data["usd_per_hour"]["min"] <= data["usd_per_hour"]["steady"] <= data["usd_per_hour"]["max"]
    plan = inferform("size", path, "--format", "json").data
    assert pytest.approx(plan["cost"]["usd_per_month"], rel=1e-4) == data["usd_per_month"]["steady"]
    assert 50000 == data["budget_usd_per_month"]
    assert {"llama-8b/aggregated", "platform/eks", "platform/system"} <= set(data["by_pool"])
    assert data["prices_as_of"]


def test_text_has_a_row_for_each_part(tmp_path: Path, inferform: Run) -> None:
    """The table names every part and the total, in 100 columns."""
    out = inferform("cost", write(tmp_path, MINIMAL + "budget: {usd_per_month: 50000}\n")).out
    assert ["demo", "part", "llama-8b/aggregated", "platform/eks", "platform/system", "total"] == [line.split()[0] for line in out.splitlines()[:6]]
    assert "of it used" in out
    assert 100 >= max(len(line) for line in out.splitlines())
