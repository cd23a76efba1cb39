"""Any file: formats told by content, foreign and cut-off files refused, and mangled files that never crash."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from inferform.errors import InputError
from inferform.measurements import MeasuredRun, read_runs

SAMPLES = Path(__file__).parent / "samples"
FILES = sorted(p for p in SAMPLES.iterdir() if p.suffix in {".json", ".jsonl", ".csv"})


@pytest.mark.parametrize("sample", FILES, ids=lambda p: p.name)
def test_the_name_does_not_matter(sample: Path, tmp_path: Path) -> None:
    """A sample under another name gives the same runs."""
    copy = tmp_path / "file.dat"
    copy.write_bytes(sample.read_bytes())
    assert [r.model_dump(exclude={"path"}) for r in read_runs(sample)] == [r.model_dump(exclude={"path"}) for r in read_runs(str(copy))]


@pytest.mark.parametrize("sample", [p for p in FILES if p.suffix != ".csv"], ids=lambda p: p.name)
def test_a_json_file_cut_off_anywhere_is_refused(sample: Path, tmp_path: Path) -> None:
    """At twenty places of each file the rest is missing: the error says where the text ends."""
    text = sample.read_text().rstrip()
    path = tmp_path / "cut.json"
    for share in range(1, 21):
        cut = text[: max(1, len(text) * share // 21)]
        if cut.endswith("}\n") or cut.count("{") == cut.count("}"):
            continue
        path.write_text(cut)
        with pytest.raises(InputError, match="not JSON") as err:
            read_runs(path)
        assert err.value.problems[0].line in {cut.count("\n"), cut.count("\n") + 1}


def test_results_of_several_tools_in_one_file(tmp_path: Path) -> None:
    """Documents one after another, spread over lines and in a list, are all read, each with the line it starts on."""
    path = tmp_path / "all.json"
    one = (SAMPLES / "vllm-serve.json").read_text()
    path.write_text(f"{(SAMPLES / 'genai-perf-0.0.16.json').read_text()}\n[{one},\n{one}]\n")
    lines = (SAMPLES / "genai-perf-0.0.16.json").read_text().count("\n")
    assert [("genai-perf", 1), ("vllm bench serve", lines + 2), ("vllm bench serve", lines + 2)] == [(r.tool, r.line) for r in read_runs(path)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (" \n", "is empty"),
        ("hello", "is no benchmark result"),
        ("{}", "is no benchmark result that is known"),
        ("[]", "holds no benchmark result"),
        ("[1, 2]", "is no benchmark result that is known"),
        ('{"a": 1} x', "not JSON at column 10"),
        ("Metric,speed\nfast,1\n", "is no benchmark result"),
        ("[" * 100_000, "not JSON"),
        ('{"duration": ' + "9" * 5000 + "}", "not JSON that can be read"),
        ('{"metadata": {}, "metrics": {}}', "is no benchmark result that is known"),
    ],
    ids=["empty", "words", "empty object", "empty list", "numbers", "tail", "another table", "deep", "huge", "one request"],
)
def test_other_files_are_refused(text: str, message: str, tmp_path: Path) -> None:
    """What is no result of a known tool is said to be none, with the formats that are known."""
    path = tmp_path / "file"
    path.write_text(text)
    with pytest.raises(InputError) as err:
        read_runs(path)
    assert message in err.value.problems[0].message
    assert str(path) == err.value.problems[0].file


@pytest.mark.parametrize(
    ("value", "fix"),
    [
        ({"metadata": {}, "metrics": {}}, "profile_export_aiperf.json"),
        ({"experiments": [], "service_kind": "openai"}, "profile_export_genai_perf.json"),
        ({"benchmark": {}, "metric": {}, "model": {}}, "the result file beside it"),
        ({"aggregation_type": "confidence", "metrics": {}}, "of each run"),
    ],
)
def test_a_file_beside_the_right_one_is_recognised(value: Any, fix: str, tmp_path: Path) -> None:
    """For another file of the same tool the error names the file to take."""
    path = tmp_path / "file.json"
    path.write_text(json.dumps(value))
    with pytest.raises(InputError) as err:
        read_runs(path)
    assert fix in err.value.problems[0].fix


def test_a_long_list_of_strangers_is_told_once(tmp_path: Path) -> None:
    """Of many lines that are no results the first is named, after a good one on line 1."""
    path = tmp_path / "file.jsonl"
    path.write_text((SAMPLES / "vllm-serve.json").read_text() + '\n{"a": 1}' * 50)
    with pytest.raises(InputError) as err:
        read_runs(path)
    assert [2] == [p.line for p in err.value.problems]


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    """A missing file, a folder and bytes that are no text give the path, not a traceback."""
    (tmp_path / "bytes").write_bytes(b"\xff\x00\xfe")
    for path in (tmp_path / "none", tmp_path, tmp_path / "bytes"):
        with pytest.raises(InputError, match="cannot read the result file"):
            read_runs(path)


def sound(run: MeasuredRun) -> bool:
    """Every figure of a run is finite and not negative."""
    figures = [v for v in run.model_dump().values() if isinstance(v, float)]
    figures += [v for latency in (run.ttft_ms, run.tpot_ms, run.itl_ms) if latency for v in latency.model_dump().values() if v is not None]
    return run.requests > 0 and run.duration_s > 0 and all(math.isfinite(v) and v >= 0 for v in figures)


ODD = st.sampled_from([None, True, -1, 0, 1e308, float("nan"), float("inf"), float("-inf"), "", "12 ms", [], {}, [1], {"avg": 1}, 10**400, "\ud800"])


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_result_with_odd_values_is_read_soundly_or_refused(data: st.DataObject, tmp_path: Path) -> None:
    """Any value of any sample replaced by a word, NaN, a list or nothing: either sound runs come back or an InputError."""
    sample = data.draw(st.sampled_from([p for p in FILES if p.suffix == ".json"]))
    root = json.loads(sample.read_text())
    places: list[tuple[Any, Any]] = []

    def walk(value: Any) -> None:
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            places.append((value, key))
            if isinstance(part, dict | list):
                walk(part)

    walk(root)
    for holder, key in data.draw(st.lists(st.sampled_from(places), min_size=1, max_size=3, unique_by=lambda p: (id(p[0]), p[1]))):
        holder[key] = data.draw(ODD)
    path = tmp_path / "odd.json"
    path.write_text(json.dumps(root))
    try:
        found = read_runs(path)
    except InputError as err:
        assert err.problems
        assert {str(path)} == {p.file for p in err.problems}
    else:
        assert found
        assert all(map(sound, found))


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sample=st.sampled_from(FILES), place=st.floats(0, 1), drop=st.integers(0, 40), put=st.text(max_size=12))
def test_mangled_text_is_read_soundly_or_refused(sample: Path, place: float, drop: int, put: str, tmp_path: Path) -> None:
    """Characters taken out of and put into any file at any place: either sound runs come back or an InputError."""
    text = sample.read_bytes().decode()
    at = int(place * len(text))
    path = tmp_path / "mangled"
    path.write_bytes((text[:at] + put + text[at + drop :]).encode("utf-8", "surrogatepass"))
    try:
        found = read_runs(path)
    except InputError as err:
        assert err.problems
    else:
        assert found
        assert all(map(sound, found))
