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
    parts = ["eks", "load-balancer", "nat-gateway", "public-ipv4", "system", "system-disks"]
    assert ["demo", "part", "llama-8b/aggregated", *(f"platform/{p}" for p in parts), "total"] == [line.split()[0] for line in out.splitlines()[:10]]
    assert "of it used" in out
    for word in ("tenant default", "By model version", "a million tokens", "1,000 requests", "GB-month"):
        assert word in out
    assert 100 >= max(len(line) for line in out.splitlines())


def test_own_prices_are_planned_with(tmp_path: Path, inferform: Run) -> None:
    """A contract rate makes the bill cheaper and stands in it with the file and line; what is wrong with a file is told by line."""
    path = write(tmp_path, MINIMAL)
    listed = inferform("cost", path, "--format", "json").data
    dearest = next(p for p in listed["prices"] if not p["name"].startswith("platform/"))
    kind, purchase = dearest["name"].split()
    assert "on-demand" == purchase
    rates = tmp_path / "rates.csv"
    rates.write_text(f"instance_type,region,purchase,usd_per_hour,as_of\n{kind},us-east-1,on_demand,{dearest['usd'] / 2},2026-11-01\n", encoding="utf-8")
    own = inferform("cost", path, "--prices", rates, "--format", "json").data
    assert own["usd_per_hour"]["steady"] < listed["usd_per_hour"]["steady"]
    assert f"{rates}:2" in {p["source"] for p in own["prices"]}
    rates.write_text("instance_type,region,purchase,usd_per_hour,as_of\ng6.xlarge,us-east-1,on_demand,cheap,2026-11-01\n", encoding="utf-8")
    ran = inferform("cost", path, "--prices", rates)
    assert 2 == ran.code
    assert f"{rates}:2: usd_per_hour" in ran.err


def test_an_old_price_warns(tmp_path: Path, inferform: Run) -> None:
    """A rate of 2020 is planned with and warned about on standard error."""
    path = write(tmp_path, MINIMAL)
    rates = tmp_path / "rates.csv"
    rates.write_text("instance_type,region,purchase,usd_per_hour,as_of\ng6e.xlarge,us-east-1,on_demand,0.2,2020-01-01\n", encoding="utf-8")
    assert "g6e.xlarge on-demand is of 2020-01-01" in inferform("cost", path, "--prices", rates).err
