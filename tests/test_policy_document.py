"""The document that rules judge: what is in it, and what absence means."""

from __future__ import annotations

import json

import pytest
from inferform.errors import InputError
from inferform.policy_document import Document, kubernetes_objects, load_document, object_address

POD = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  namespace: n\n"


def test_a_section_that_was_not_given_is_absent() -> None:
    """Absent is not empty: a rule that needs the stacks must be able to tell that nobody gave them."""
    assert {"plan"} == set(load_document(plan={"models": {}}).sections())
    assert {"plan"} == set(load_document(plan={"models": {}}, synthesized={}, terraform_plans={}).sections())
    assert {"objects"} == set(Document(objects=()).sections())


def test_objects_are_read_from_yaml_with_their_files() -> None:
    """Every document with apiVersion and kind is an object; kustomizations and other files are not."""
    rendered = {
        "b/two.yaml": f"{POD}---\n{POD.replace('name: a', 'name: b')}---\n# nothing\n",
        "a/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: []\n",
        "a/values.yaml": "replicas: 3\n",
        "index.json": "{}",
    }
    document = load_document(rendered=rendered)
    assert ["Pod/n/a", "Pod/n/b"] == [object_address(o) for o in document.objects or ()]
    assert {"Pod/n/a": "b/two.yaml", "Pod/n/b": "b/two.yaml"} == dict(document.origins)
    assert set(rendered) == set(document.files or ())


def test_yaml_reads_as_json_does() -> None:
    """Dates stay text, so that every value of the document is JSON."""
    ((_, obj),) = kubernetes_objects({"a.yml": POD + "data: {day: 2026-12-01, at: 2026-12-01T10:00:00Z}\n"})
    assert {"day": "2026-12-01", "at": "2026-12-01T10:00:00Z"} == obj["data"]
    assert json.loads(json.dumps(obj)) == obj


def test_broken_yaml_is_a_bad_input_with_its_line() -> None:
    """A rendered file that is no YAML is named with file and line."""
    with pytest.raises(InputError) as caught:
        load_document(rendered={"a/b.yaml": "a: 1\nb: ]\n"})
    assert ("a/b.yaml", 2) == (caught.value.problems[0].file, caught.value.problems[0].line)


def test_python_objects_cannot_be_made() -> None:
    """Tags that other loaders would run are refused."""
    with pytest.raises(InputError):
        load_document(rendered={"a.yaml": "!!python/object/apply:os.system ['true']"})


def test_a_stack_is_its_plan_where_there_is_one() -> None:
    """Of two stacks one is planned and one only synthesized: each comes in the form that says most."""
    synth = {"resource": {"aws_x": {"y": {"a": 1}}}}
    plan = {"resource_changes": [{"address": "aws_x.y", "mode": "managed", "type": "aws_x", "name": "y", "change": {"actions": ["update"], "after": {"a": 2}}}]}
    document = load_document(synthesized={"network": synth, "cluster": synth}, terraform_plans={"network": plan})
    stacks = document.terraform or {}
    assert {"network": "plan", "cluster": "synth"} == {name: stack["from"] for name, stack in stacks.items()}
    assert 2 == stacks["network"]["resource_changes"][0]["change"]["after"]["a"]


def test_everything_that_is_written_is_there_to_be_scanned() -> None:
    """Rendered files, synthesized stacks, terraform plans and further texts are all in `files`, stacks as the file has them."""
    document = load_document(rendered={"a.txt": "x"}, synthesized={"s": {"resource": {}}}, terraform_plans={"s": {"resource_changes": []}}, texts={"b": "y"})
    assert {"a.txt", "b", "stacks/s/cdk.tf.json", "terraform plan of s"} == set(document.files or ())
    assert '{\n  "resource": {}\n}\n' == (document.files or {})["stacks/s/cdk.tf.json"]
