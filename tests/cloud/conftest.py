"""Fixtures of the cloud tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from cloud.double import AwsDouble


@pytest.fixture
def aws() -> Iterator[AwsDouble]:
    """A double of AWS with an empty account."""
    double = AwsDouble().start()
    yield double
    double.stop()
