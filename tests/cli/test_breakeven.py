"""`inferform breakeven`: the decision as text, JSON and picture, from figures or from a spec."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from inferform.load import load_spec
from inferform.planner import size

Run = Callable[..., Any]
SCENARIO = ("breakeven", "--usd-per-mtok", "0.80", "--usd-per-month", "24000")
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def test_a10_the_arithmetic_decides(inferform: Run) -> None:
    """$24,000 against $0.80 a million tokens, without operations: 30 B tokens; the API at 20 M and 150 M, the fleet at 60 B."""
    volumes = ("--tokens-per-month", "20M", "--tokens-per-month", "150M", "--tokens-per-month", "60B")
    ran = inferform(*SCENARIO, *volumes, "--ops-usd-per-month", "0", "--format", "json")
    assert (0, "") == (ran.code, ran.err)
    assert 30e9 == ran.data["break_even_tokens_per_month"] == ran.data["break_even_before_operations_tokens_per_month"]
    assert [("api", 16, 24_000), ("api", 120, 24_000), ("fleet", 48_000, 24_000)] == [(v["cheaper"], v["api_usd"], v["fleet_usd"]) for v in ran.data["volumes"]]
    assert 0.75 == ran.data["request"]["traffic"]["input_share"]


def test_the_text_fits_100_columns_and_says_what_it_rests_on(inferform: Run) -> None:
    """The decision comes first, the table has a row for each volume, the assumptions are at the end."""
    ran = inferform(*SCENARIO, "--tokens-per-month", "20M", "--tokens-per-month", "60B", "--capacity", "40B")
    lines = ran.out.splitlines()
    assert 0 == ran.code
    assert [] == [line for line in lines if len(line) > 100]
    assert lines[0].startswith("Use the API for 20.0 M, 60.0 B: the break-even is 35.0 B tokens a month")
    row = next(line.split() for line in lines if line.strip().startswith("60.0 B"))
    # 60 B of 40 B are two fleets at 150 %: 2 x 24,000 + 4,000 = 52,000 against 48,000.
    assert ["60.0", "B", "22,831", "$48,000", "$52,000", "2", "150%", "api", "$4,000"] == row
    assert any("40 hours a month" in line for line in lines)


def test_a_catalogue_price_with_discounts(inferform: Run) -> None:
    """gpt-5-mini at 3:1 with half the input cached: 0.75 x (0.5 x 0.25 + 0.5 x 0.025) + 0.25 x 2 = $0.603125."""
    ran = inferform("breakeven", "--api", "gpt-5-mini", "--usd-per-month", "1000", "--cached-share", "0.5", "-f", "json")
    assert pytest.approx(0.603125) == ran.data["api_usd_per_mtok"]
    assert "openai/gpt-5-mini" == ran.data["api"]


def test_own_prices_from_a_file_come_first(inferform: Run, tmp_path: Path) -> None:
    """A file adds a price, an old date warns on standard error and leaves the result clean."""
    prices = tmp_path / "prices.csv"
    prices.write_text("provider,model,usd_per_mtok_input,usd_per_mtok_output,as_of\nhouse,own,1,1,2020-01\n")
    ran = inferform("breakeven", "--api", "house/own", "--api-prices", prices, "--usd-per-month", "1000", "--format", "json")
    assert 1.0 == ran.data["api_usd_per_mtok"]
    assert "warning: the price of house/own is of 2020-01" in ran.err


@pytest.mark.parametrize(("name", "head"), [("curve.svg", b"<?xml"), ("curve.png", b"\x89PNG")])
def test_the_curve_is_a_file(inferform: Run, tmp_path: Path, name: str, head: bytes) -> None:
    """The picture is written whole, an older one is replaced, and only a note tells of it."""
    pytest.importorskip("matplotlib", reason="the plots extra is not installed")
    path = tmp_path / "new" / name
    for _ in range(2):
        ran = inferform(*SCENARIO, "--plot", path)
        assert (0, f"{path}: written\n") == (ran.code, ran.err)
        assert head == path.read_bytes()[: len(head)]
    assert [name] == [p.name for p in path.parent.iterdir()]


def test_mistakes_are_told_by_their_options(inferform: Run) -> None:
    """Exit code 2, every problem at once, named as on the command line."""
    ran = inferform("breakeven", "--api", "gpt-5-mni", "--batch-share", "0.5", "--capacity", "much", "--format", "json")
    assert (2, "") == (ran.code, ran.out)
    assert ["--api", "--capacity", "--usd-per-month"] == [p["field"] for p in ran.error["problems"]]
    ran = inferform(*SCENARIO, "--batch-share", "3", "--capacity", "0", "--ops-usd-per-month", "-1", "--format", "json")
    assert ["--batch-share", "--ops-usd-per-month", "--capacity"] == [p["field"] for p in ran.error["problems"]]
    ran = inferform(*SCENARIO, "--plot", "curve.pdf")
    assert (2, True) == (ran.code, "--plot: the picture's name must end in .svg or .png" in ran.err)


def test_options_of_a_spec_need_a_spec(inferform: Run) -> None:
    """--env and --model without a SPEC are mistakes, not ignored."""
    ran = inferform(*SCENARIO, "--env", "prod", "--model", "chat", "--format", "json")
    assert (2, ["--env", "--model"]) == (ran.code, [p["field"] for p in ran.error["problems"]])


def test_a_spec_brings_its_fleet_and_its_traffic(inferform: Run) -> None:
    """The plan's monthly bill is the fleet's, the spec's peak all month is the volume, its prompts and answers are the split."""
    spec = EXAMPLES / "chat-8b.yaml"
    plan = size(load_spec(str(spec)).spec, "default")
    ran = inferform("breakeven", spec, "--usd-per-mtok", "0.2", "--format", "json")
    assert 0 == ran.code
    request, (volume,) = ran.data["request"], ran.data["volumes"]
    assert pytest.approx(plan.cost.usd_per_month) == request["fleet"]["usd_per_month"]
    # What `cost` prints as the platform is paid once; the only pool's nodes are the rest.
    assert pytest.approx(sum(part.usd_per_hour for part in plan.cost.platform) * 730, abs=0.1) == request["fleet"]["fixed_usd_per_month"]
    assert ["aggregated"] == [part["name"] for part in request["fleet"]["parts"]]
    # 4 requests a second of 800 + 250 tokens for 730 hours: 11.04 B tokens; the plan carries its own peak.
    assert pytest.approx(4 * 1050 * 730 * 3600) == volume["tokens_per_month"]
    assert pytest.approx(800 / 1050) == request["traffic"]["input_share"]
    assert any("the spec's peak of 4 requests a second" in said for said in ran.data["assumptions"])
    assert (True, 1) == (volume["carried"], volume["units"])


def test_a_model_of_several_costs_what_cost_says(inferform: Run) -> None:
    """The bill of one of several models, its platform share included, is that of `cost`, in JSON and in the text."""
    spec = EXAMPLES / "mixed.yaml"
    costs = inferform("cost", spec, "--format", "json").data["by_model"]
    for name, cost in costs.items():
        asked = ("breakeven", spec, "--model", name, "--usd-per-mtok", "0.2")
        data = inferform(*asked, "--format", "json").data
        assert pytest.approx(cost["usd_per_month"], abs=0.05) == data["fleet_usd_per_month"]
        assert f"own fleet   ${data['fleet_usd_per_month']:,.0f} a month" in inferform(*asked).out
