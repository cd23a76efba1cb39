"""`inferform validate`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from inferform.cli.options import Env, Spec
from inferform.cli.output import Output
from inferform.errors import InputError, Problem

if TYPE_CHECKING:
    from inferform.load import LoadedSpec

EXAMPLES = (
    "inferform validate deployment.yaml",
    "inferform validate deployment.yaml --env prod --format json",
    "cat deployment.yaml | inferform validate -",
)


def run(out: Output, spec: Spec, *, env: Env = None) -> None:
    """Check a spec in every environment.

    Reports every problem at once, each with file, line, field, the value found and what would be right. Names are looked up
    in the catalogue; whether a fleet fits the objectives is for `inferform size` to say.
    """
    from inferform.load import load_all, load_spec

    loaded = load_all(spec) if env is None else [load_spec(spec, env)]
    _look_up(loaded)
    data = [{"environment": one.environment, "name": one.spec.name, "models": sorted(one.spec.models)} for one in loaded]
    names = ", ".join(one.environment for one in loaded)
    out.result({"file": loaded[0].file, "valid": True, "environments": data}, lambda: f"{loaded[0].file}: valid ({names})")


def _look_up(loaded: Sequence[LoadedSpec]) -> None:
    """Raises InputError with what the catalogue and the engines' tables do not know, in all environments at once."""
    from inferform.load import annotate
    from inferform.planning.prepare import prepare

    problems: list[Problem] = []
    for one in loaded:
        for name, model in one.spec.models.items():
            try:
                prepare(name, model, one.spec)
            except InputError as err:
                problems += annotate(err.problems, one)
    if problems:
        raise InputError(sorted(dict.fromkeys(problems), key=lambda p: p.line or 0))
