"""The compatibility table: everything that is rendered stands in it, at a version whose schema was read."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import rendered
import samples
from inferform.engines import engine_names
from inferform.render.compatibility import needed, table, target

TEMPLATES = sorted(Path(str(files("inferform.templates"))).rglob("*.j2"))


def listed() -> set[str]:
    return {name for row in table() for name in row.provides.split(", ")}


def test_every_api_version_of_a_template_is_in_the_table() -> None:
    """A template with an apiVersion that the table does not list fails here; kustomizations are for kubectl itself."""
    written = {version for path in TEMPLATES for version in re.findall(r"^\s*apiVersion: (\S+)$", path.read_text(), re.MULTILINE)}
    written -= {"kustomize.config.k8s.io/v1beta1"}
    assert {"v1", "apps/v1", "keda.sh/v1alpha1", "nvidia.com/v1beta1"} <= written
    assert [] == sorted(written - listed())
    assert [] == [version for version in written if not target(version).version]


@pytest.mark.parametrize("version", ["apps/v1beta1", "keda.sh/v1", "acme.example/v1", "v2", "nvidia.com/v1alpha1"])
def test_another_version_is_an_error(version: str) -> None:
    """Neither an unread version nor a foreign group is taken for a known one."""
    with pytest.raises(KeyError):
        target(version)


def test_rendered_objects_name_what_they_need() -> None:
    """The sample's objects need these components, at the versions of the table."""
    versions = needed({o["apiVersion"] for o in rendered.objects(samples.sample_plan())})
    rows = {row.component: row.versions for row in table()}
    assert {"kubernetes", "keda", "lws", "gateway-api", "envoy-gateway", "prometheus-operator"} <= set(versions)
    assert [] == [name for name, version in versions.items() if not rows[name].startswith(version)]


def test_the_table_names_engines_and_images() -> None:
    """Each engine with its range, Dynamo with its engine, and every pinned image."""
    rows = {row.component: row.versions for row in table()}
    assert set(engine_names()) <= set(rows)
    assert "0.11.0 to 0.33.0, 0.33.0 by default" == rows["vllm"]
    assert ("1.6.1 with vllm 0.31.0", "v0.1.17") == (rows["dynamo"], rows["vllm-router"])
    assert len(rows) == len(table())


@pytest.mark.skipif(not rendered.REFERENCE.exists(), reason=rendered.NO_REFERENCE)
def test_versions_are_those_of_the_schemas_that_were_read() -> None:
    """The published definitions at hand name the same release of each project."""
    index: list[dict[str, Any]] = json.loads((rendered.REFERENCE / "crds" / "index.json").read_text())
    rows = index if isinstance(index, list) else index["schemas"]
    refs = {(row["apiVersion"], row["ref"].removeprefix("v")) for row in rows}
    custom = [name for name in listed() if "." in name.split("/")[0] and not name.startswith(("rbac.", "networking.k8s", "scheduling.k8s", "storage.k8s"))]
    assert len(custom) >= 8
    for name in custom:
        found = {ref for version, ref in refs if version == name}
        # A definition read between releases is named by its commit.
        assert any(target(name).version in ref or re.fullmatch(r"[0-9a-f]{40}", ref) for ref in found), (name, target(name), found)
