"""Zones and what they offer (FC-06)."""

from __future__ import annotations

from typing import Any

from cloud.double import AwsDouble, ready
from cloud.looking import by_subject, look
from inferform.cloud.checks import zones
from inferform.plan import DeploymentPlan
from samples import plan_data

ZONES, OFFERINGS = zones.CHECKS


def placed(aws: AwsDouble, pool_zones: list[str], cloud_zones: list[str] | None = None, **pool: Any) -> DeploymentPlan:
    """The ready plan with the 70B pool in these zones."""
    plan = ready(aws)
    data = plan.model_dump(mode="json")
    data["models"]["llama-70b"]["pools"]["aggregated"] |= pool
    data["models"]["llama-70b"]["pools"]["aggregated"]["infrastructure"]["zones"] = pool_zones
    if cloud_zones:
        data["cloud"]["zones"] = cloud_zones
    return DeploymentPlan.model_validate(data)


def bought(*types: str) -> list[dict[str, Any]]:
    """The purchase of the 70B pool with other instance types."""
    return [{**plan_data()["models"]["llama-70b"]["pools"]["aggregated"]["purchase"][0], "instance_types": list(types)}]


def test_the_zones_of_the_plan_are_there(aws: AwsDouble) -> None:
    """Zone ids are told with the letter they have in this account."""
    found = look(aws, ready(aws), ZONES)
    assert [("use1-az1", "ok"), ("use1-az4", "ok"), ("use1-az6", "ok")] == [(f.subject, f.severity) for f in found]
    assert all(f.found.startswith("us-east-1") for f in found)


def test_a_zone_that_the_account_has_not_blocks(aws: AwsDouble) -> None:
    """A zone id of another region is named with those that would do."""
    found = by_subject(look(aws, placed(aws, ["use1-az4"], ["usw2-az1", "use1-az4"]), ZONES))
    assert ("blocker", "no zone of this account in us-east-1") == (found["usw2-az1"].severity, found["usw2-az1"].found)
    assert "one of use1-az1, use1-az2, use1-az3, use1-az4, use1-az5, use1-az6" == found["usw2-az1"].needed
    assert "aws ec2 describe-availability-zones --region us-east-1" == found["usw2-az1"].command


def test_fc06_a_type_that_no_zone_of_the_pool_offers_blocks(aws: AwsDouble) -> None:
    """p5en.48xlarge is sold in use1-az2 and use1-az6: in use1-az4 alone it blocks, naming those two and the field that chooses."""
    purchase = bought("p5en.48xlarge")
    found = by_subject(look(aws, placed(aws, ["use1-az4"], purchase=purchase), OFFERINGS))
    blocker = found["llama-70b/aggregated p5en.48xlarge"]
    assert ("blocker", "offered in use1-az2, use1-az6") == (blocker.severity, blocker.found)
    assert "set models.llama-70b.nodes.zones to use1-az2 or use1-az6" == blocker.fix
    assert {"ok"} == {f.severity for s, f in found.items() if s != blocker.subject}


def test_fc06_a_type_that_some_zones_lack_is_a_warning(aws: AwsDouble) -> None:
    """Nodes come in the other zones, and the finding says in which."""
    plan = placed(aws, ["use1-az4", "use1-az6"], purchase=bought("p5en.48xlarge"))
    found = by_subject(look(aws, plan, OFFERINGS))["llama-70b/aggregated p5en.48xlarge"]
    assert "warning" == found.severity
    assert found.fix.startswith("nodes come only in use1-az6;")


def test_a_type_that_the_region_lacks_asks_for_another(aws: AwsDouble) -> None:
    """No zone is named where none would do."""
    found = by_subject(look(aws, placed(aws, ["use1-az4"], purchase=bought("zz9.48xlarge")), OFFERINGS))
    blocker = found["llama-70b/aggregated zz9.48xlarge"]
    assert ("blocker", "not offered in us-east-1") == (blocker.severity, blocker.found)
    assert "choose another instance type (hardware.instance_types) or region" == blocker.fix


def test_a_missing_alternative_is_no_blocker(aws: AwsDouble) -> None:
    """A pool can do without its second choice."""
    found = by_subject(look(aws, placed(aws, ["use1-az4"], purchase=bought("p5.48xlarge", "zz9.48xlarge")), OFFERINGS))
    assert ("ok", "warning") == (found["llama-70b/aggregated p5.48xlarge"].severity, found["llama-70b/aggregated zz9.48xlarge"].severity)


def test_the_system_pool_is_looked_at_too(aws: AwsDouble) -> None:
    """The CPU nodes of the platform need offers as well."""
    assert "offered in use1-az1, use1-az4, use1-az6" == by_subject(look(aws, ready(aws), OFFERINGS))["system m7i.2xlarge"].found
