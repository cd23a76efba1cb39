"""Spot placement scores and prices against those of the plan."""

from __future__ import annotations

import pytest
from cloud.double import AwsDouble, ready
from cloud.looking import by_subject, look
from inferform.cloud.checks import market
from inferform.plan import DeploymentPlan

SCORE, LIST, SPOT = market.CHECKS


@pytest.mark.parametrize(("score", "severity"), [(10, "ok"), (7, "ok"), (6, "warning"), (4, "warning"), (3, "warning"), (1, "warning")])
def test_the_score_of_the_region_counts_for_several_zones(aws: AwsDouble, score: int, severity: str) -> None:
    """The pool of three types in two zones is scored as a whole; 7 of 10 and more is good."""
    plan = ready(aws)
    aws.market.scores = {"use1-az1": score}
    found = look(aws, plan, SCORE)
    assert [("llama-8b/aggregated spot", severity, f"placement score {score} of 10")] == [(f.subject, f.severity, f.found) for f in found]
    assert "4 x g6.2xlarge or g6.4xlarge or g6.8xlarge in use1-az4, use1-az6" == found[0].needed


def test_one_zone_is_scored_alone(aws: AwsDouble) -> None:
    """A pool in one zone does not profit from the score of another."""
    data = ready(aws).model_dump(mode="json")
    data["models"]["llama-8b"]["pools"]["aggregated"]["infrastructure"]["zones"] = ["use1-az6"]
    aws.market.scores = {"use1-az4": 9, "use1-az6": 2}
    assert ["placement score 2 of 10"] == [f.found for f in look(aws, DeploymentPlan.model_validate(data), SCORE)]


def test_few_types_are_told_as_the_reason(aws: AwsDouble) -> None:
    """AWS scores fewer than three types low whatever the capacity: the fix is more types."""
    data = ready(aws).model_dump(mode="json")
    for part in data["models"]["llama-8b"]["pools"]["aggregated"]["purchase"]:
        part["instance_types"] = ["g6.2xlarge"]
    found = look(aws, DeploymentPlan.model_validate(data), SCORE)
    assert [("warning", "placement score 3 of 10")] == [(f.severity, f.found) for f in found]
    assert found[0].fix.startswith("AWS scores fewer than three instance types low; allow more types")


def test_no_score_is_a_warning(aws: AwsDouble) -> None:
    """Where AWS returns no score for the request it sees no such capacity."""
    plan = ready(aws)
    aws.market.scores = {}
    assert ["warning"] == [f.severity for f in look(aws, plan, SCORE)]


def test_a_plan_without_spot_asks_nothing(aws: AwsDouble) -> None:
    """No call is made for what the plan does not buy."""
    data = ready(aws).model_dump(mode="json")
    del data["models"]["llama-8b"]
    assert [] == look(aws, DeploymentPlan.model_validate(data), SCORE, SPOT)
    assert not {"ec2:GetSpotPlacementScores", "ec2:DescribeSpotPriceHistory"} & set(aws.called)


def test_list_prices_as_planned(aws: AwsDouble) -> None:
    """Every on-demand type of the plan is compared once, the system pool's too, and then the month as a whole."""
    found = by_subject(look(aws, ready(aws), LIST))
    assert ["c7i.4xlarge on-demand", "g6.2xlarge on-demand", "m7i.2xlarge on-demand", "monthly cost", "p5.48xlarge on-demand"] == sorted(found)
    assert {"ok"} == {f.severity for f in found.values()}
    assert ("$55.0400 an hour", "$55.0400 in the plan") == (found["p5.48xlarge on-demand"].found, found["p5.48xlarge on-demand"].needed)


def test_a_dearer_list_price_and_what_it_means_for_the_month(aws: AwsDouble) -> None:
    """p5 at $98.32 instead of $55.04 with three steady nodes: (98.32 - 55.04) x 3 x 730 = $94,783 a month more, above the budget."""
    plan = ready(aws)
    aws.market.on_demand[("p5.48xlarge", "us-east-1")] = 98.32
    found = by_subject(look(aws, plan, LIST))
    # 98.32 / 55.04 - 1 = 78.6 %.
    assert ("warning", "$98.3200 an hour, 79% dearer") == (found["p5.48xlarge on-demand"].severity, found["p5.48xlarge on-demand"].found)
    assert found["p5.48xlarge on-demand"].fix.endswith("--prices FILE with the row p5.48xlarge,us-east-1,on_demand,98.32,2026-12-01")
    # 87,600 + 94,783 = 182,383.
    assert ("warning", "$182,383 a month at live prices") == (found["monthly cost"].severity, found["monthly cost"].found)
    assert "budget $100,000, plan $87,600" == found["monthly cost"].needed


def test_a_cheaper_price_is_good_news(aws: AwsDouble) -> None:
    """Less than planned is told and no warning."""
    plan = ready(aws)
    aws.market.on_demand[("g6.2xlarge", "us-east-1")] = 0.4888
    assert ("ok", "$0.4888 an hour, 50% cheaper") == ((f := by_subject(look(aws, plan, LIST))["g6.2xlarge on-demand"]).severity, f.found)


def test_a_type_without_a_list_price_is_unknown(aws: AwsDouble) -> None:
    """Some types are sold in blocks only; the month cannot be summed then."""
    plan = ready(aws)
    del aws.market.on_demand[("p5.48xlarge", "us-east-1")]
    found = by_subject(look(aws, plan, LIST))
    assert "unknown" == found["p5.48xlarge on-demand"].severity
    assert "monthly cost" not in found


def test_the_price_of_another_region_or_system_does_not_count(aws: AwsDouble) -> None:
    """Only Linux, shared tenancy, in the plan's region is compared."""
    plan = ready(aws)
    aws.market.on_demand[("g6.2xlarge", "eu-west-1")] = 0.01
    assert "$0.9776 an hour" == by_subject(look(aws, plan, LIST))["g6.2xlarge on-demand"].found


def test_the_newest_spot_price_of_the_dearest_zone_counts(aws: AwsDouble) -> None:
    """The older, higher row of each zone is passed over; of 0.41 and 0.40 the higher is what to expect."""
    assert [("ok", "$0.4100 an hour")] == [(f.severity, f.found) for f in look(aws, ready(aws), SPOT)]


def test_a_dearer_spot_price_warns_above_its_usual_movement(aws: AwsDouble) -> None:
    """Spot prices move by the hour: 20 % is nothing to tell, 50 % is."""
    plan = ready(aws)
    aws.market.spot[("g6.2xlarge", "use1-az4")] = 0.49
    assert ["ok"] == [f.severity for f in look(aws, plan, SPOT)]
    aws.market.spot[("g6.2xlarge", "use1-az4")] = 0.615
    assert [("warning", "$0.6150 an hour, 50% dearer")] == [(f.severity, f.found) for f in look(aws, plan, SPOT)]


def test_no_spot_price_in_the_pools_zones_is_a_warning(aws: AwsDouble) -> None:
    """A price in another zone does not help."""
    plan = ready(aws)
    aws.market.spot = {("g6.2xlarge", "use1-az2"): 0.2}
    assert [("warning", "no spot price in use1-az4, use1-az6")] == [(f.severity, f.found) for f in look(aws, plan, SPOT)]
