"""A running double for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from inferform.sandbox.backend import client
from inferform.sandbox.server import Double


@pytest.fixture(scope="module")
def double() -> Iterator[Double]:
    """One double for the module. moto's state is this process's own, so tests use names of their own."""
    with Double() as running:
        yield running


@pytest.fixture
def ec2(double: Double) -> Any:
    """EC2 of the double."""
    return client(double.url, "ec2", "us-east-1")


@pytest.fixture
def eks(double: Double) -> Any:
    """EKS of the double."""
    return client(double.url, "eks", "us-east-1")
