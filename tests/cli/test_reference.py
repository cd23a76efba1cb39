"""The reference pages come from the code and name everything there is."""

from __future__ import annotations

from pathlib import Path

import pytest
from inferform.cli.command import load
from inferform.cli.main import COMMANDS
from inferform.cli.reference import commands_page, main, pages, policies_page, spec_page
from inferform.load_fields import parts
from inferform.policy import rules

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_every_command_option_and_example_is_documented() -> None:
    """commands.md has a section a command, with every option and example of it, and every exit code."""
    page = commands_page()
    sections = dict(zip(COMMANDS, [part.split("\n## ")[0] for part in page.split("\n## ")[1:]], strict=True))
    for name in COMMANDS:
        command = load(name)
        for parameter in command.params:
            names = parameter.opts if parameter.param_type_name == "option" else [parameter.metavar or parameter.name.upper()]
            assert all(f"`{option}`" in sections[name] for option in names), (name, parameter.name)
        assert f"inferform {name}" in sections[name].split("```bash")[1]
    for code in ("0", "1", "2", "3", "4", "5", "130"):
        assert f"| {code} |" in page


def test_every_field_of_the_spec_is_documented() -> None:
    """spec.md has a table a part, with every field in it."""
    page = spec_page()
    for path, part in parts().items():
        section = page.split(f"\n## {part.__name__ if path else 'The document'}\n")[1].split("\n## ")[0]
        for field in part.model_fields:
            assert f"| `{field}` |" in section, f"{path}.{field}"


def test_every_rule_is_documented() -> None:
    """policies.md has a section a rule with its remedy."""
    page = policies_page()
    assert rules()
    for rule in rules():
        assert f"\n## {rule.id}\n" in page
        assert rule.remedy in page


def test_pages_are_written_and_the_same_every_time(tmp_path: Path) -> None:
    """Writing them twice changes nothing."""
    assert 0 == main(str(tmp_path))
    first = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    assert 0 == main(str(tmp_path))
    assert {"commands.md", "compatibility.md", "spec.md", "policies.md"} == set(first)
    assert first == {p.name: p.read_bytes() for p in tmp_path.iterdir()}


@pytest.mark.parametrize("name", ["commands.md", "compatibility.md", "spec.md", "policies.md"])
def test_the_committed_pages_are_up_to_date(name: str) -> None:
    """docs/ holds what the code says now; `make docs` writes it."""
    if not (DOCS / name).exists():
        pytest.skip(f"docs/{name} is not there; make docs writes it")
    assert (DOCS / name).read_text(encoding="utf-8") == pages()[name].rstrip() + "\n"
