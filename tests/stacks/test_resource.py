"""A stack under construction."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import samples
from inferform.errors import InputError
from inferform.plan import DeploymentPlan
from inferform.stacks import cdk
from inferform.stacks.resource import Stack, backend
from inferform.stacks.schema import SchemaError
from inferform.stacks.values import Ref, call
from synthesis import changed, sample_stacks, stacks_of


def made(folder: Path, fill: Callable[[Stack], object], *, plan: DeploymentPlan | None = None, **wiring: Any) -> tuple[Stack, dict[str, Any]]:
    """A stack `a` after `fill`, and its configuration."""
    library = cdk.load("cdktf")
    app = library.App(outdir=str(folder), skip_validation=True)
    stack = Stack(library, app, "a", plan or samples.sample_plan(), **{"outputs": {}, "reads": {}, **wiring})
    stack.settle(terraform=">= 1.10")
    fill(stack)
    stack.close()
    app.synth()
    return stack, json.loads((folder / "stacks" / "a" / "cdk.tf.json").read_text(encoding="utf-8"))


def test_a_resource_keeps_its_name_and_attributes(tmp_path: Path) -> None:
    """Name and attributes come out as given, with references, and depends_on and lifecycle beside them."""

    def fill(stack: Stack) -> None:
        vpc = stack.resource("aws_vpc", "main-1", {"cidr_block": "10.0.0.0/16", "tags": {"b": "1", "a": None}})
        condition = call("boolean", "contains", ["a"], "a")
        stack.resource(
            "aws_subnet",
            "main-1",
            {"vpc_id": vpc.ref("id")},
            depends_on=[vpc],
            lifecycle={"ignore_changes": ["tags"], "precondition": [{"condition": condition, "error_message": "no ${x}"}]},
        )

    stack, config = made(tmp_path, fill)
    subnet = {k: v for k, v in config["resource"]["aws_subnet"]["main-1"].items() if k != "//"}
    assert [] == stack.faults
    assert {"b": "1"} == config["resource"]["aws_vpc"]["main-1"]["tags"]
    assert {
        "vpc_id": "${aws_vpc.main-1.id}",
        "depends_on": ["aws_vpc.main-1"],
        "lifecycle": {"ignore_changes": ["tags"], "precondition": [{"condition": '${contains(["a"], "a")}', "error_message": "no $${x}"}]},
    } == subnet


def test_faults_are_collected_with_stack_and_address(tmp_path: Path) -> None:
    """A bad attribute and a name that Terraform does not take are told together; a name given twice stops at once."""

    def fill(stack: Stack) -> None:
        stack.resource("aws_vpc", "a", {"cidr": "x"})
        stack.resource("aws_eip", "b.c", {})
        with pytest.raises(SchemaError, match=r"a: aws_vpc\.a is declared twice"):
            stack.resource("aws_vpc", "a", {})

    stack, _ = made(tmp_path, fill)
    assert ["a: aws_vpc.a: unknown attribute 'cidr', nearest is 'id'", "a: aws_eip.b.c is not a Terraform name"] == stack.faults


def test_outputs_are_declared_and_typed(tmp_path: Path) -> None:
    """An undeclared output, one of the wrong type and one that is never given are faults."""

    def fill(stack: Stack) -> None:
        stack.output("other", "x")
        stack.output("ids", Ref("local.a", "string"))

    stack, _ = made(tmp_path, fill, outputs={"ids": "list(string)", "missing": "string"})
    assert [
        "a: output 'other' is not declared",
        "a: output.ids: expected a list(string), found a reference to a string (local.a)",
        "a: declared output 'missing' has no value",
    ] == stack.faults


def test_other_stacks_are_read_through_their_state(tmp_path: Path) -> None:
    """A remote output has the declared type and names the other stack's own key; undeclared ones cannot be read."""
    found: list[Ref] = []

    def fill(stack: Stack) -> None:
        found.append(stack.remote("network", "vpc_id"))
        with pytest.raises(KeyError):
            stack.remote("network", "vpc_idd")
        with pytest.raises(KeyError):
            stack.remote("cluster", "cluster_name")

    _, config = made(tmp_path, fill, reads={"network": {"vpc_id": "string"}})
    assert [Ref("data.terraform_remote_state.network.outputs.vpc_id", "string")] == found
    state = config["data"]["terraform_remote_state"]["network"]
    assert ("s3", "acme/contract-qa/prod/network.tfstate") == (state["backend"], state["config"]["key"])


def test_an_attribute_that_does_not_exist_cannot_be_referenced(tmp_path: Path) -> None:
    """A reference to an unknown attribute stops at once with the nearest name."""

    def fill(stack: Stack) -> None:
        with pytest.raises(SchemaError, match=r"aws_vpc\.a has no attribute 'vpc_arn', nearest is 'arn'"):
            stack.resource("aws_vpc", "a", {}).ref("vpc_arn")

    made(tmp_path, fill)


def test_fc36_state_is_encrypted_locked_and_apart() -> None:
    """Every stack keeps its state in S3 under its own literal key, encrypted, with Terraform's own lock file and no table, and asks for Terraform 1.10."""
    for name, stack in sample_stacks().items():
        terraform = stack["terraform"]
        assert ">= 1.10" == terraform["required_version"]
        assert {
            "s3": {
                "bucket": "inferform-acme-state",
                "encrypt": True,
                "key": f"acme/contract-qa/prod/{name}.tfstate",
                "region": "us-east-1",
                "use_lockfile": True,
            }
        } == terraform["backend"]


def test_fc36_readers_use_the_same_arguments() -> None:
    """What reads a stack's state names exactly the backend that the stack writes to."""
    stacks = sample_stacks()
    for stack in stacks.values():
        for name, remote in stack.get("data", {}).get("terraform_remote_state", {}).items():
            assert stacks[name]["terraform"]["backend"] == {remote["backend"]: remote["config"]}


def test_a_sandbox_keeps_its_state_beside_the_stacks() -> None:
    """The local backend needs no bucket and no path of the machine."""
    stacks = stacks_of(changed(lambda d: d["state"].update(backend="local")))
    path = "../../state/acme/contract-qa/prod/network.tfstate"
    assert {"local": {"path": path}} == stacks["network"]["terraform"]["backend"]
    assert {"backend": "local", "config": {"path": path}} == stacks["cluster"]["data"]["terraform_remote_state"]["network"]


def test_hostile_names_in_the_state_key_stay_text() -> None:
    """Whatever stands in the plan's key prefix is text for Terraform."""
    plan = changed(lambda d: d["state"].update(key_prefix="${path.cwd}"))
    assert "${path.cwd}/network.tfstate" == backend(plan, "network")["key"]
    assert "$${path.cwd}/network.tfstate" == stacks_of(plan)["network"]["terraform"]["backend"]["s3"]["key"]


def test_token_like_text_in_a_plan_is_refused() -> None:
    """Text that the library would take for a token of its own is an input error."""
    with pytest.raises(InputError, match="internal token"):
        stacks_of(changed(lambda d: d["cloud"].update(admins=["arn:aws:iam::1:role/${TfToken[TOKEN.0]}"])))
