"""Names inside length limits, and the pinned provider."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from inferform.stacks.aws.account import bounded
from synthesis import changed, sample_stacks, stacks_of

TAGS = {"deployment": "contract-qa", "environment": "prod", "managed-by": "inferform", "tenant": "acme"}


@settings(max_examples=60, deadline=None)
@given(st.text("abc-", min_size=1, max_size=120), st.text("abc-", min_size=1, max_size=120), st.integers(16, 64))
def test_bounded_names_fit_and_stay_apart(one: str, other: str, limit: int) -> None:
    """A bounded name is within the limit, is the name itself where that fits, and differs for different names."""
    assert len(bounded(one, limit)) <= limit
    assert len(one) > limit or one == bounded(one, limit)
    assert (one == other) is (bounded(one, limit) == bounded(other, limit))


def test_the_longest_names_stay_within_every_limit() -> None:
    """Thirty letters for deployment, environment and model still give names that AWS takes."""
    long = "a" * 30

    def lengthen(data: dict[str, object]) -> None:
        models = data["models"]
        assert isinstance(models, dict)
        data.update(name=long, environment=long, models={long: models["llama-8b"], "b" * 30: models["llama-405b"]})

    stacks = stacks_of(changed(lengthen))
    limits = {
        "aws_iam_role": ("name", 64),
        "aws_eks_node_group": ("node_group_name", 63),
        "aws_launch_template": ("name", 128),
        "aws_eks_cluster": ("name", 100),
    }
    limits |= {
        "aws_autoscaling_group": ("name", 255),
        "aws_placement_group": ("name", 255),
        "aws_security_group": ("name", 255),
        "aws_iam_instance_profile": ("name", 128),
        "aws_sqs_queue": ("name", 80),
        "aws_cloudwatch_event_rule": ("name", 64),
    }
    for kind, (attribute, limit) in limits.items():
        names = [r[attribute] for s in stacks.values() for r in s["resource"].get(kind, {}).values()]
        assert names, kind
        assert len(names) == len(set(names))
        assert max(map(len, names)) <= limit


def test_every_stack_pins_the_provider_and_tags_what_it_makes() -> None:
    """Each stack asks for provider 6.25 to 7 and hands the four owner tags to every resource."""
    for stack in sample_stacks().values():
        assert {"aws": {"source": "hashicorp/aws", "version": ">= 6.25, < 7.0"}} == stack["terraform"]["required_providers"]
        assert [{"region": "us-east-1", "default_tags": [{"tags": TAGS}]}] == stack["provider"]["aws"]


def test_launched_nodes_are_tagged_too() -> None:
    """Instances, volumes and interfaces carry the owner tags, which the provider's defaults do not reach."""
    for template in sample_stacks()["nodes"]["resource"]["aws_launch_template"].values():
        rows = template["tag_specifications"]
        assert ["instance", "network-interface", "volume"] == [r["resource_type"] for r in rows]
        assert all(TAGS.items() <= r["tags"].items() for r in rows)
