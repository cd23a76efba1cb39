"""Fixtures of the operate tests."""

from __future__ import annotations

import os
import shutil

import pytest


@pytest.fixture(autouse=True)
def _terraform_there() -> None:
    if not any(shutil.which(name, path=os.environ.get("PATH")) for name in ("terraform", "tofu")):
        pytest.skip("terraform is not installed")
