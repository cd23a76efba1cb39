"""Benchmark results that users measured on their own fleet: read from the tools' files, compared with a prediction."""

from inferform.measurements.compare import Comparison, Difference, Predicted, compare
from inferform.measurements.read import read_runs
from inferform.measurements.run import LatencyMs, MeasuredRun

__all__ = ["Comparison", "Difference", "LatencyMs", "MeasuredRun", "Predicted", "compare", "read_runs"]
