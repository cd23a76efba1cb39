"""Names, labels and paths of rendered objects."""

from __future__ import annotations

from pathlib import PurePosixPath

import samples
from hypothesis import given, settings
from hypothesis import strategies as st
from inferform.render import naming


def test_workloads_are_named_by_model_and_pool() -> None:
    """Names come from model and pool alone, in name order, and select on exactly those two."""
    found = naming.workloads(samples.sample_plan())
    assert ["bge-aggregated", "llama-405b-aggregated", "llama-70b-aggregated", "llama-8b-aggregated"] == [w.name for w in found]
    assert [False, True, False, False] == [w.grouped for w in found]
    assert {"inferform.dev/model": "bge", "inferform.dev/pool": "aggregated"} == found[0].selector


def test_labels_say_whose_an_object_is() -> None:
    """Owner, tenant, environment, model, pool, role and engine version, sorted by key."""
    found = naming.workloads(samples.sample_plan())[2].labels
    assert {
        "app.kubernetes.io/managed-by": "inferform",
        "app.kubernetes.io/name": "llama-70b",
        "app.kubernetes.io/part-of": "contract-qa",
        "app.kubernetes.io/version": "0.33.0",
        "inferform.dev/deployment": "contract-qa",
        "inferform.dev/environment": "prod",
        "inferform.dev/model": "llama-70b",
        "inferform.dev/pool": "aggregated",
        "inferform.dev/role": "aggregated",
        "inferform.dev/tenant": "acme",
    } == found
    assert sorted(found) == list(found)


@settings(max_examples=100)
@given(st.text(max_size=200), st.text(max_size=200))
def test_no_name_is_a_path(first: str, second: str) -> None:
    """Whatever the names, the file is one plain segment of bearable length; ordinary names stay readable."""
    name = naming.file_name(first, second)
    assert (name,) == PurePosixPath(name).parts
    assert name not in (".", "..")
    assert not name.startswith(".")
    assert len(name) <= 125
    assert "llama-70b-aggregated.yaml" == naming.file_name("llama-70b", "aggregated")


def test_different_names_give_different_files() -> None:
    """Long names that only differ at their end, and names with odd characters, stay apart."""
    assert naming.file_name("x" * 200 + "a") != naming.file_name("x" * 200 + "b")
    assert naming.file_name("a/b") != naming.file_name("a-b") != naming.file_name("a%2Fb")
