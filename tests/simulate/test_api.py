"""Quantities as Kubernetes writes them."""

from __future__ import annotations

from typing import Any

import pytest
from inferform.simulate.api import milli


@pytest.mark.parametrize(("text", "thousandths"), [("8", 8000), (8, 8000), ("800m", 800), ("0.85", 850), ("1k", 1_000_000), ("1Ki", 1_024_000), ("1500u", 2)])
def test_quantities_in_thousandths(text: Any, thousandths: int) -> None:
    """Fractions of a thousandth are rounded up: 1500u is 1.5m and counts as 2m."""
    assert thousandths == milli(text)


@pytest.mark.parametrize("text", ["", "8 m", "-1", "1e3x", None, True, 0.5, "m"])
def test_what_is_no_quantity(text: Any) -> None:
    """Anything else is refused, floats and booleans too."""
    with pytest.raises(ValueError, match="wants a quantity"):
        milli(text)
