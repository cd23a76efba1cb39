"""The template engine and the rules that every template follows."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

import jinja2
import pytest
from inferform.render import templating

TEMPLATES = sorted(Path(str(files("inferform.templates"))).rglob("*.j2"))
FILTERS = r"\|\s*(yaml|shell|block\(\d+\))\s*$"
STATEMENTS = re.compile(
    r"(for \w+ in [\w.]+|endfor|if [\w.]+( is not none)?|else|endif|include \"[\w/.-]+\"|filter indent\(\d+, true\)|endfilter|with \w+ = [\w.]+|endwith)"
)


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda p: p.name)
def test_every_inserted_value_is_quoted(path: Path) -> None:
    """Each `{{ }}` ends in a quoting filter."""
    found = re.findall(r"\{\{(.*?)\}\}", path.read_text(), re.DOTALL)
    assert [] == [text for text in found if not re.search(FILTERS, text.strip())]


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda p: p.name)
def test_templates_hold_no_logic(path: Path) -> None:
    """Templates loop, test presence, and include; everything else happens in Python."""
    found = re.findall(r"\{%-?(.*?)-?%\}", path.read_text(), re.DOTALL)
    assert [] == [text.strip() for text in found if not STATEMENTS.fullmatch(text.strip())]


def test_an_unquoted_value_is_refused_at_run_time() -> None:
    """Even a template that forgets the filter writes nothing."""
    environment = templating._environment()
    with pytest.raises(TypeError, match="without a quoting filter"):
        environment.from_string("name: {{ name }}").render(name="x")


def test_an_undefined_name_is_an_error() -> None:
    """A view that lacks a name raises instead of leaving a gap."""
    with pytest.raises(jinja2.UndefinedError):
        templating.fill("kustomization.yaml.j2", {})


def test_values_are_never_evaluated() -> None:
    """A value that looks like a template is text."""
    assert 'resources:\n- "{{ 7 * 7 }}"\n' == templating.fill("kustomization.yaml.j2", {"resources": ["{{ 7 * 7 }}"]}).split("Kustomization\n")[1]
