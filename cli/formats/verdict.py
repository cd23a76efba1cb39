"""A verdict in the form that was asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inferform.cli.output import as_json

if TYPE_CHECKING:
    from inferform.verdict import Verdict


def written(verdict: Verdict, form: str) -> str:
    """The verdict as `text`, `json`, `sarif` (2.1.0) or `junit`."""
    if form == "sarif":
        from inferform.cli.formats.sarif import sarif

        return sarif(verdict)
    if form == "junit":
        from inferform.cli.formats.junit import junit

        return junit(verdict)
    if form == "json":
        return as_json({"denied": verdict.denied, "strict": verdict.strict, "counts": verdict.counts(), **verdict.model_dump(mode="json", exclude={"strict"})})
    from inferform.cli.formats.verdict_text import verdict_text

    return verdict_text(verdict)
