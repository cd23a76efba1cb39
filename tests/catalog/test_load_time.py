"""The catalogue is read lazily and quickly."""

from __future__ import annotations

import subprocess
import sys

_LOAD = """
import time
from inferform.catalog import gpus, instances, models, prices
start = time.process_time()
gpus.find_gpu("H100")
instances.gpu_instances()
prices.price("p5.48xlarge", "us-east-1", "spot")
models.find_model("meta-llama/Llama-3.3-70B-Instruct")
print(time.process_time() - start)
"""
_IMPORT = """
import sys
import builtins
opened = []
real = builtins.open
builtins.open = lambda *args, **kwargs: (opened.append(str(args[0])), real(*args, **kwargs))[1]
from inferform.catalog import gpus, instances, models, prices
print([name for name in opened if "catalog/data" in name])
"""


def _run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.strip()


def test_cards_instances_prices_and_a_model_within_60_ms() -> None:
    """A fresh process has them in at most 60 ms of processor time."""
    assert min(float(_run(_LOAD)) for _ in range(3)) < 0.06


def test_importing_reads_no_data() -> None:
    """Importing the look-ups opens none of the data files."""
    assert "[]" == _run(_IMPORT)
