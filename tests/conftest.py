"""Options of the whole suite."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--golden-write` writes golden files anew instead of comparing with them."""
    parser.addoption("--golden-write", action="store_true", help="write golden files anew; read the difference as you would code")


@pytest.fixture
def golden_write(request: pytest.FixtureRequest) -> bool:
    """Whether golden files are written in this run."""
    return bool(request.config.getoption("--golden-write"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The slow tests first, so that no worker begins one when all others are done, and none is taken from its module's fixture."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)
