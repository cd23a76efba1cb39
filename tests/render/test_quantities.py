"""How numbers and durations are spelled."""

from __future__ import annotations

import pytest
from inferform.render.quantities import duration, number, quantity, seconds


@pytest.mark.parametrize(("value", "text"), [(8.0, "8"), (0.85, "0.85"), (1e-6, "0.000001"), (1e9, "1000000000"), (0.1 + 0.2, "0.3")])
def test_numbers_are_plain_decimals(value: float, text: str) -> None:
    """No exponent, no trailing zeros, no noise of binary fractions."""
    assert text == number(value)


@pytest.mark.parametrize(("value", "text"), [(8.0, "8"), (0.85, "850m"), (1.2, "1200m"), (500_000.0, "500000"), (0.0001, "1m")])
def test_quantities_are_whole_thousandths(value: float, text: str) -> None:
    """0.85 is 850m; nothing becomes zero."""
    assert text == quantity(value)


@pytest.mark.parametrize(("value", "text"), [(0.0, "0s"), (45.5, "46s"), (1800.0, "30m"), (5400.0, "1h30m"), (3661.0, "1h1m1s"), (86400.0, "24h")])
def test_durations_use_the_largest_units(value: float, text: str) -> None:
    """30m in a spec is 30m on the route."""
    assert text == duration(value)


@pytest.mark.parametrize(("value", "text"), [(300.0, "300s"), (0.5, "500ms"), (1.2, "2s"), (0.0, "1ms")])
def test_waits_are_whole_seconds(value: float, text: str) -> None:
    """Rounded up, and in milliseconds below a second."""
    assert text == seconds(value)
