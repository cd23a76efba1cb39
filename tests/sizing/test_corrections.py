"""Correction files: what they hold for, and what they do to estimates."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from inferform.errors import InputError
from inferform.sizing.corrections import Correction, Corrections, Factor, RunDigest, deployment, layout_of, read_corrections
from inferform.sizing.estimate_request import parse
from inferform.sizing.performance import EstimateRequest, estimate
from inferform.sizing.queueing import Latency, Point


def request(**more: object) -> EstimateRequest:
    return parse({"model": "meta-llama/Meta-Llama-3.1-8B", "gpu": "H100", "concurrency": 8, **more})


def correction() -> Correction:
    """Twice the TTFT and 10 % less throughput than the model says; TPOT was not measured."""
    return Correction(
        deployment=deployment(request().model, **layout_of(request())),
        factors={"ttft_ms": Factor(factor=2.0, band=0.07, runs=3), "output_tokens_per_s": Factor(factor=0.9, band=0.03, runs=3)},
        runs=[RunDigest(file="a.json", line=1, sha256="0" * 64, tool="aiperf")],
    )


def test_factors_apply_to_their_figures_alone() -> None:
    """TTFT doubles at every percentile, rates fall by a tenth, TPOT and its band stay; the bands are those of the runs."""
    plain = estimate(request())
    found = Corrections(corrections=[correction()]).apply(request(), plain)
    assert 2 * plain.ttft_ms.p99 == pytest.approx(found.ttft_ms.p99)
    assert plain.tpot_ms == found.tpot_ms
    assert 0.9 * plain.requests_per_s == pytest.approx(found.requests_per_s)
    assert {"ttft_ms": 0.07, "output_tokens_per_s": 0.03, "tpot_ms": plain.error_band["tpot_ms"]} == found.error_band
    assert "corrected by 1 own run" in found.source


def test_another_deployment_is_not_corrected() -> None:
    """Two GPUs instead of one are another deployment: the estimate stays, and says so."""
    other = request(tp=2)
    found = Corrections(corrections=[correction()]).apply(other, estimate(other))
    assert estimate(other).ttft_ms == found.ttft_ms
    assert "no own run measured this deployment" in found.source


def test_the_load_is_no_part_of_a_deployment() -> None:
    """Runs at one concurrency correct estimates at another."""
    assert Corrections(corrections=[correction()]).find(request().model, **layout_of(request(concurrency=64, input_tokens=4000))) is not None


def test_a_point_is_stated_as_it_will_be() -> None:
    """Latency and rate of an operating point are scaled, its load in flight is not."""
    point = correction().scale().point(Point(Latency(0.1, 0.5, 0.6), Latency(0.01, 0.02, 0.03), 10.0, 4.0, 0.5))
    assert (1.0, 0.02, 9.0, 4.0) == (point.ttft.p95, point.tpot.p95, point.requests_per_s, point.concurrency)


def test_files_are_read_back(tmp_path: Path) -> None:
    """What is written as JSON is the same correction again."""
    path = tmp_path / "own.json"
    path.write_text(Corrections(corrections=[correction()]).model_dump_json())
    assert Corrections(corrections=[correction()]) == read_corrections(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [("", "is not JSON"), ("[]", "valid dictionary"), ('{"kind": "inferform/calibration/v1"}', "corrections"), ("[" * 100_000, "is not JSON"), ("\xff", "is not JSON")],
    ids=["empty", "list", "no corrections", "deep", "not UTF-8"],
)  # fmt: skip
def test_other_files_are_refused(tmp_path: Path, text: str, message: str) -> None:
    """A file that is no correction file is an input error that says what is wrong."""
    path = tmp_path / "own.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(InputError, match=message):
        read_corrections(path)


def test_impossible_factors_are_refused(tmp_path: Path) -> None:
    """A factor of zero would make every latency vanish."""
    data = json.loads(Corrections(corrections=[correction()]).model_dump_json())
    data["corrections"][0]["factors"]["ttft_ms"]["factor"] = 0
    (tmp_path / "own.json").write_text(json.dumps(data))
    with pytest.raises(InputError, match="greater than 0"):
        read_corrections(tmp_path / "own.json")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """The error names the file."""
    with pytest.raises(InputError, match=r"none\.json: cannot be read"):
        read_corrections(tmp_path / "none.json")
