"""The template engine: Jinja2 with undefined names as errors and with every inserted value quoted, which it enforces."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import jinja2
from inferform.render import quoting


def _quoted_only(value: Any) -> Any:
    if not isinstance(value, quoting.Quoted):
        raise TypeError(f"a template inserts {type(value).__name__} without a quoting filter")
    return value


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(str(files("inferform.templates"))),
        undefined=jinja2.StrictUndefined,
        # The output is YAML and shell, not HTML; quoting is done by the filters below, and _quoted_only enforces it.
        autoescape=False,  # noqa: S701
        finalize=_quoted_only,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        auto_reload=False,
    )
    environment.filters.update(yaml=quoting.flow, block=quoting.block, shell=quoting.shell)
    return environment


def fill(template: str, view: Mapping[str, Any]) -> str:
    """The text of one template for one prepared view. Raises jinja2.UndefinedError for a name that the view lacks."""
    return _environment().get_template(template).render(view)


def source(template: str) -> str:
    """The text of a file beside the templates that takes no values, such as a script."""
    return files("inferform.templates").joinpath(template).read_text(encoding="utf-8")
