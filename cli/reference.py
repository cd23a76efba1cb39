"""Writes the reference pages from the code: `python -m inferform.cli.reference docs`.

commands.md from the commands themselves, spec.md from the fields of the spec, policies.md from the headers of the rules,
compatibility.md from the versions that outputs are for.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from inferform.cli.command import load
from inferform.cli.files import write_text
from inferform.cli.main import COMMANDS
from inferform.errors import EXIT_DENIED, EXIT_DIFFERENT, EXIT_DONE, EXIT_FAILED, EXIT_INPUT, EXIT_NO_TOOL
from inferform.schema import spec_schema

_EXITS = {
    EXIT_DONE: "done",
    EXIT_FAILED: "failed",
    EXIT_INPUT: "the input or the command line cannot be used",
    EXIT_DENIED: "the policy verdict denies",
    EXIT_DIFFERENT: "differences were found (`drift`, `plan --detailed-exitcode`)",
    EXIT_NO_TOOL: "a needed outside tool is missing",
    130: "stopped with Ctrl-C",
}
_NOTE = "Written by `make docs` from the code; edit the code, not this page."


def pages() -> dict[str, str]:
    """Every page by its file name."""
    return {"commands.md": commands_page(), "spec.md": spec_page(), "policies.md": policies_page(), "compatibility.md": compatibility_page()}


def compatibility_page() -> str:
    """What rendered objects, command lines and images are for: components with their versions."""
    from inferform.render.compatibility import table

    lines = [f"| {row.component} | {_cell(row.versions)} | {_cell(row.provides)} |" for row in table()]
    text = (
        "Rendered objects are for these versions; an apiVersion that is not listed is never rendered. `inferform check --schemas cluster` holds them against "
        "what a cluster really serves."
    )
    return "\n".join(["# Compatibility", "", _NOTE, "", text, "", "| component | versions | kinds, or what it is for |", "| --- | --- | --- |", *lines, ""])


def commands_page() -> str:
    """Commands with usage, options and examples, exit codes, and what goes where."""
    exits = [f"| {code} | {words} |" for code, words in _EXITS.items()]
    streams = (
        "Results go to standard output, everything else to standard error. With `--format json` the result is one JSON document, and an error is one "
        'JSON document on standard error: `{"error": {"kind", "exit_code", "message", "problems": [{"message", "field", "file", "line", "value", '
        '"legal", "fix"}]}}`.'
    )
    head = ["# Commands", "", _NOTE, "", streams, "", "| exit code | meaning |", "| --- | --- |", *exits, ""]
    return "\n".join([*head, *(line for name in COMMANDS for line in _command(name))])


def _command(name: str) -> list[str]:
    import typer

    command = load(name)
    context = typer.Context(command, info_name=f"inferform {name}")
    usage = command.get_usage(context).removeprefix("Usage: ")
    lines = [f"## {name}", "", *(command.help or "").split("\n"), "", "```", usage, "```", "", "| option | meaning |", "| --- | --- |"]
    for parameter in command.params:
        names = ", ".join(f"`{o}`" for o in parameter.opts) if parameter.param_type_name == "option" else f"`{parameter.metavar or parameter.name.upper()}`"
        lines.append(f"| {names} | {_cell(_meaning(parameter))} |")
    examples = (command.epilog or "").removeprefix("\b\nExamples:\n").split("\n")
    return [*lines, "", "```bash", *(example.strip() for example in examples), "```", ""]


def _meaning(parameter: Any) -> str:
    words = str(parameter.help or "")
    choices = parameter.type_descriptor.choices
    if choices:
        words += f" One of {', '.join(f'`{c}`' for c in choices)}."
    shown = parameter.show_default if isinstance(parameter.show_default, str) else parameter.default if parameter.show_default else None
    return words if shown in (None, False, "", ()) else f"{words} Default: {shown}."


def spec_page() -> str:
    """Every part of the spec with its fields: type, default, limits, meaning, example."""
    schema = spec_schema()
    parts = [name for name in schema["$defs"] if not name.endswith("Overlay") and name != "Environment" and "properties" in schema["$defs"][name]]
    note = "Unknown fields are errors. Durations carry a unit (`50ms`, `1.2s`, `15m`), sizes too (`500Gi`, `64GB`)."
    overlays = (
        "`environments.<name>` holds what differs in one environment and is merged into the document by key: mappings merge, lists and single values "
        "replace, `null` removes the key. `name`, `apiVersion` and `environments` stay the same. Without `--env` the document stands alone and the "
        "environment is called `default`."
    )
    lines = ["# Spec", "", _NOTE, "", note, "", "## The document", "", *_fields(schema, schema), "", "## Environment", "", overlays, ""]
    for name in parts:
        part = schema["$defs"][name]
        lines += [f"## {name}", "", part.get("description", ""), "", *_fields(part, schema), ""]
    return "\n".join(lines)


def _fields(part: dict[str, Any], schema: dict[str, Any]) -> list[str]:
    rows = ["| field | type | default | meaning |", "| --- | --- | --- | --- |"]
    for name, field in part["properties"].items():
        meaning = field.get("description") or schema["$defs"].get(field.get("$ref", "").rsplit("/", 1)[-1], {}).get("description", "")
        example = f" Example: `{_inline(field['examples'][0])}`." if field.get("examples") else ""
        default = "**required**" if name in part.get("required", ()) else f"`{_inline(field['default'])}`" if field.get("default") is not None else ""
        rows.append(f"| `{name}` | {_cell(_type(field, schema))} | {default} | {_cell(meaning + example)} |")
    return rows


def _type(field: dict[str, Any], schema: dict[str, Any]) -> str:
    """A field's type in words: a kind, its choices or its part, with limits."""
    if "$ref" in field:
        name = field["$ref"].rsplit("/", 1)[-1]
        part = schema["$defs"].get(name, {})
        return " or ".join(f"`{v}`" for v in part["enum"]) if "enum" in part else f"`{part['const']}`" if "const" in part else f"[{name}](#{name.lower()})"
    if "anyOf" in field:
        return " or ".join(_type(choice, schema) for choice in field["anyOf"] if choice.get("type") != "null")
    if "enum" in field or "const" in field:
        return " or ".join(f"`{v}`" for v in field.get("enum", [field.get("const")]))
    if field.get("type") == "array":
        return f"list of {_type(field['items'], schema)}"
    if "patternProperties" in field:
        below = next(iter(field["patternProperties"].values()))
        return f"{_type(below, schema)} by name"
    limits = [f"{sign} {field[key]:,}".removesuffix(".0") for key, sign in (("minimum", ">="), ("exclusiveMinimum", ">"), ("maximum", "<=")) if key in field]
    kind = {"integer": "whole number", "number": "number", "boolean": "true or false", "string": "text"}.get(field.get("type", ""), "mapping")
    if "patternErrorMessage" in field:
        kind = field["patternErrorMessage"].removeprefix("wants ")
    return f"{kind} {', '.join(limits)}".strip()


def policies_page() -> str:
    """Every rule with what it asks for, how severe it is, where it comes from, and what to do."""
    from inferform.policy import rules

    lines = ["# Policies", "", _NOTE, ""]
    for rule in rules():
        lines += [f"## {rule.id}", "", f"{rule.title}.".replace("..", "."), "", f"- severity: {rule.severity}", f"- needs: {', '.join(rule.needs)}"]
        lines += [f"- remedy: {rule.remedy}", f"- source: {rule.source}", ""]
    return "\n".join(lines)


def _inline(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"[{', '.join(_inline(v) for v in value)}]" if isinstance(value, list) else str(value)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def main(folder: str) -> int:
    """Writes all pages into a folder."""
    for name, text in pages().items():
        write_text(Path(folder) / name, text.rstrip() + "\n", replace=True)
    return EXIT_DONE


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "docs"))
