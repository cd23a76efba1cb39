"""The comparison with the peer runs where the peer is, and says why where it is not."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parent / "bench/peer_sizing.py"


@pytest.mark.skipif(importlib.util.find_spec("aiconfigurator_core") is not None, reason="aiconfigurator-core is installed here")
def test_it_is_skipped_with_the_reason() -> None:
    """Without the peer it ends with 0 and names the package."""
    ran = subprocess.run([sys.executable, str(SCRIPT)], capture_output=True, text=True, check=False)
    assert 0 == ran.returncode
    assert ran.stdout.startswith("skipped: aiconfigurator-core is not installed")
