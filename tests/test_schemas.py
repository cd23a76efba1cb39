"""Rendered objects against schemas: what a cluster would refuse is told with file, object, path and value."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import rendered
import samples
import yaml
from inferform import schemas
from inferform.errors import MissingToolError
from inferform.render import render
from inferform.schemas import check_schemas, with_schemas
from inferform.schemas_custom import CustomKinds, from_folder, json_schema
from inferform.verdict import Verdict

WIDGET = json_schema(
    {
        "type": "object",
        "properties": {
            "apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"},
            "spec": {"type": "object", "required": ["size"], "properties": {"size": {"type": "integer"}}},
        },
    }
)  # fmt: skip
CUSTOM = CustomKinds("definitions", {("acme.example/v1", "Widget"): WIDGET})


def files(*objects: dict[str, Any]) -> dict[str, str]:
    return {"serving/made.yaml": yaml.safe_dump_all(objects)}


def widget(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "acme.example/v1", "kind": "Widget", "metadata": {"name": "w", "namespace": "ns"}, "spec": spec}


def faults(*objects: dict[str, Any], version: str = "1.35") -> list[tuple[str, str, str, str]]:
    checked = check_schemas(files(*objects), version, CUSTOM)
    assert len(objects) == checked.objects
    return [(f.address, f.path, f.value, f.message) for f in checked.faults]


def test_each_fault_is_told_with_object_path_and_value() -> None:
    """A wrong type, an unknown field and a missing one, in custom and in core kinds; the right ones pass."""
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": 1}, "dta": {}}
    found = faults(widget(size=1), widget(size="big", sise=2), widget(), config)
    assert ("Widget/ns/w", "spec.size", '"big"', "is not of type 'integer'") in found
    assert any(address == "Widget/ns/w" and path == "spec" and "'sise' was unexpected" in message for address, path, _, message in found)
    assert any("'size' is a required property" in message for *_, message in found)
    assert any(address == "ConfigMap/c" and path == "data.a" and value == "1" for address, path, value, _ in found)
    assert any(address == "ConfigMap/c" and "'dta' was unexpected" in message for address, _, _, message in found)
    assert 5 == len(found)


def test_a_kind_without_a_schema_is_a_fault() -> None:
    """Neither the definitions nor Kubernetes have it: the cluster would not take it."""
    unknown = {"apiVersion": "acme.example/v2", "kind": "Widget", "metadata": {"name": "w"}}
    old = {"apiVersion": "policy/v1beta1", "kind": "PodSecurityPolicy", "metadata": {"name": "p"}}
    assert ["definitions has no kind Widget in acme.example/v2", "Kubernetes 1.35 has no kind PodSecurityPolicy in policy/v1beta1"] == [
        message for *_, message in faults(unknown, old)
    ]


@pytest.mark.parametrize(("asked", "used"), [("1.33", "1.33"), ("1.35", "1.35"), ("9.99", "1.37"), ("1.2", "1.25")])
def test_the_plans_kubernetes_version_decides(asked: str, used: str) -> None:
    """The newest schemas up to that version, or the oldest there are."""
    assert used == check_schemas({}, asked, CUSTOM).kubernetes_version


def test_a_field_that_a_version_does_not_have_yet_is_told() -> None:
    """Resources of a whole pod came with 1.32: 1.31 refuses them, 1.35 takes them."""
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [{"name": "c"}], "resources": {"requests": {"cpu": "1"}}}}
    assert [] == faults(pod, version="1.35")
    assert ["spec"] == [path for _, path, *_ in faults(pod, version="1.31")]


def test_references_never_leave_the_schemas() -> None:
    """A schema that refers to an address is told as unusable, and nothing is fetched."""
    custom = CustomKinds("definitions", {("acme.example/v1", "Widget"): {"properties": {"spec": {"$ref": "https://schemas.example/x.json"}}}})
    (fault,) = check_schemas(files(widget(size=1)), "1.35", custom).faults
    assert fault.message.startswith("its schema cannot be used")


def test_faults_deny_and_stand_in_every_form_of_the_verdict() -> None:
    """One finding of SCH001 for each fault, and a rule that passes where there is none."""
    empty = Verdict(outcomes=(), findings=(), strict=False)
    bad = with_schemas(empty, check_schemas(files(widget(size="big")), "1.35", CUSTOM))
    assert bad.denied
    assert ["serving/made.yaml: spec.size: is not of type 'integer' (found \"big\")"] == [f.message for f in bad.findings]
    good = with_schemas(empty, check_schemas(files(widget(size=1)), "1.35", CUSTOM))
    assert (False, 1, "pass") == (good.denied, good.outcomes[0].subjects, good.outcomes[0].result)


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """The data are an extra of the package, so a missing one is a missing tool."""

    def gone(name: str) -> Path:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(schemas, "files", gone)
    with pytest.raises(MissingToolError, match=r"inferform\[schemas\]"):
        check_schemas({}, "1.35", CUSTOM)


@pytest.mark.skipif(not rendered.REFERENCE.exists(), reason=rendered.NO_REFERENCE)
def test_the_sample_fits_the_published_definitions() -> None:
    """Every object of the sample plan is what the components' own definitions take."""
    checked = check_schemas(render(samples.sample_plan()), "1.35", from_folder(rendered.REFERENCE / "crds"))
    assert [] == list(checked.faults)
    assert checked.objects > 40
