"""Reads a result file of any known benchmark tool; the format is told by what is in the file, not by its name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from inferform.errors import InputError, Problem
from inferform.measurements import aiperf, guidellm, vllm
from inferform.measurements.document import json_documents, read_text
from inferform.measurements.run import MeasuredRun

LEGAL = (vllm.NAME, aiperf.NAME, guidellm.NAME)
_READERS = ((guidellm.recognises, guidellm.runs), (aiperf.recognises, aiperf.runs), (vllm.recognises, vllm.runs))
# Other files of the same tools, by keys that only they have, and the file to take instead.
_SIBLINGS: tuple[tuple[frozenset[str], str], ...] = (
    (frozenset({"metadata", "metrics"}), "this is a list of single requests; give aiperf's summary, profile_export_aiperf.json"),
    (frozenset({"experiments", "service_kind"}), "this is genai-perf's raw record; give its summary, profile_export_genai_perf.json"),
    (frozenset({"benchmark", "metric", "model"}), "this is vLLM's .pytorch.json; give the result file beside it"),
    (frozenset({"aggregation_type"}), "this is aiperf's summary of several runs; give the profile_export_aiperf.json of each run"),
)


def read_runs(path: Path | str) -> list[MeasuredRun]:
    """Every run of a result file, in file order.

    Known are `vllm bench serve` (JSON, also several appended), aiperf and genai-perf (JSON and CSV), and guidellm (JSON).
    Raises: InputError when the file cannot be read, is none of these, is cut off, or holds a run with a missing key, a wrong
    unit, or a figure that cannot be; every problem of the file at once, with its line. No run is left out.
    """
    text, name = read_text(Path(path)), str(path)
    if aiperf.recognises_table(text):
        return aiperf.table_runs(text, name)
    if not text.strip():
        raise InputError(Problem("is empty", file=name, legal=LEGAL))
    if text.lstrip()[:1] not in {"{", "["}:
        raise InputError(Problem("is no benchmark result", file=name, line=1, value=repr(text.strip()[:40]), legal=LEGAL))
    documents = json_documents(text, name)
    if not documents:
        raise InputError(Problem("holds no benchmark result", file=name, line=1, legal=LEGAL))
    found: list[MeasuredRun] = []
    problems: list[Problem] = []
    for document in documents:
        runs = next((runs for recognises, runs in _READERS if recognises(document.value)), None)
        if runs is None:
            # The first one tells enough: the others of such a file are of the same kind.
            fix = _sibling(document.value)
            raise InputError([*problems, Problem("is no benchmark result that is known", file=name, line=document.line, legal=LEGAL, fix=fix)])
        try:
            found += runs(document)
        except InputError as err:
            problems += err.problems
    if problems:
        raise InputError(problems)
    return found


def _sibling(value: Any) -> str:
    keys = value.keys() if isinstance(value, dict) else set()
    return next((fix for marks, fix in _SIBLINGS if marks <= keys), "")
