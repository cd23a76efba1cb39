"""Fitting finds what made the rows."""

from __future__ import annotations

import pytest
from inferform.sizing.estimate_request import parse
from inferform.sizing.fitting import Row, figures, fit, residuals
from inferform.sizing.performance import estimate
from inferform.sizing.roofline import Constants, constants

TRUE = {**constants().values, "read_ada": 0.7, "compute_ada_fp16": 0.5}


def rows() -> list[Row]:
    """Rows that a machine with other efficiencies would have printed."""
    found = []
    for at, (prompt, output, clients) in enumerate([(128, 512, 1), (128, 512, 16), (2048, 64, 4), (2048, 64, None), (512, 512, None)]):
        request = parse({"model": "meta-llama/Meta-Llama-3.1-8B", "gpu": "L4", "input_tokens": prompt, "output_tokens": output, "concurrency": clients})
        seen = figures(estimate(request, Constants(TRUE, "")))
        names = ("tpot_ms", "ttft_ms") if clients else ("output_tokens_per_s",)
        found.append(Row(str(at), "made", request, {name: seen[name] for name in names}, {}))
    return found


def test_true_constants_leave_no_residual() -> None:
    """Predictions of the machine that made the rows match them."""
    assert max(abs(r) for r in residuals(rows(), TRUE)) < 1e-9


def test_the_fit_finds_the_constants_that_made_the_rows() -> None:
    """Started from the shipped values it comes to within 3 % of the machine's own."""
    found = fit(rows(), constants().values, {"read_ada": (0.3, 0.95), "compute_ada_fp16": (0.2, 0.9)})
    assert found["read_ada"] == pytest.approx(0.7, rel=0.03)
    assert found["compute_ada_fp16"] == pytest.approx(0.5, rel=0.03)


def test_bounds_hold() -> None:
    """A constant never leaves its physical range, whatever the rows say."""
    found = fit(rows(), constants().values, {"read_ada": (0.8, 0.95)})
    assert 0.8 == pytest.approx(found["read_ada"])
