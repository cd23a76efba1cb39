"""Engine versions."""

from __future__ import annotations

import pytest
from inferform.engines.versions import full_version, version_key
from inferform.errors import InputError


def test_versions_sort_as_releases() -> None:
    """Numbers compare as numbers, a release candidate stands before its release and a post release after it."""
    assert ["0.9", "0.18.0rc1", "0.18.0", "0.18.0.post1", "0.20.2"] == sorted(["0.20.2", "0.18.0", "0.9", "0.18.0.post1", "0.18.0rc1"], key=version_key)


@pytest.mark.parametrize(("text", "full"), [("0.19", "0.19.0"), ("v0.33.0", "0.33.0"), ("0.18.0.post1", "0.18.0.post1"), ("0.18.0rc2", "0.18.0rc2")])
def test_short_versions_are_completed(text: str, full: str) -> None:
    """Image tags carry three numbers, so 0.19 becomes 0.19.0."""
    assert full == full_version(text)


@pytest.mark.parametrize("text", ["", "latest", "0.x", "1", "0.33.0;rm"])
def test_other_texts_are_refused(text: str) -> None:
    """What is no version raises InputError."""
    with pytest.raises(InputError, match="is not an engine version"):
        full_version(text)
