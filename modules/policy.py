"""Rego rules on one document: `judge` gives the verdict. The only caller of Rego.

Evaluation runs in a child process of the same interpreter: the engine is native code that, on some legal Rego, crashes or
never ends, and neither may take a command down with it. The child imports this module only, so what is heavy is imported
inside functions.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from inferform.errors import InputError, Problem, ToolFailedError

if TYPE_CHECKING:
    from datetime import date
    from pathlib import Path

    from inferform.policy_document import Document
    from inferform.policy_rules import Module
    from inferform.verdict import Finding, Outcome, Rule, Verdict
    from inferform.waivers import Waiver

Json = Any

REPORT = "data.inferform.main.report"
# A process costs a tenth of a second before its first rule, so a few rules are not worth one.
MOST_PROCESSES, RULES_PER_PROCESS = 8, 10
# A sample plan takes well under a second, 100 pools a few; who waits longer than this has a rule that never ends.
TIMEOUT_S = 120.0
_ERROR = re.compile(r"\(error \d+:(?P<file>.+?)\|(?P<offset>\d+)\|\d+\s*\(errormsg \d+:(?P<message>.*?)\)", re.DOTALL)


class RegoError(Exception):
    """What went wrong inside the engine; `file` and `offset` (bytes into it) where it says so."""

    def __init__(self, message: str, file: str = "", offset: int = 0):
        self.message, self.file, self.offset = message, file, offset
        super().__init__(message)


def judge(
    document: Document,
    waivers: Iterable[Waiver] = (),
    *,
    today: date,
    strict: bool = False,
    rule_folders: Sequence[str | Path] = (),
    timeout_s: float = TIMEOUT_S,
) -> Verdict:
    """The verdict of all rules, shipped and from `rule_folders`, on a document.

    Raises: InputError for rules that cannot be used, with file and line; ToolFailedError when the engine itself fails.
    """
    from inferform.policy_rules import known_rules, modules
    from inferform.verdict import Verdict
    from inferform.waivers import apply_waivers

    found = modules(rule_folders)
    known = {rule.id: rule for rule in known_rules(found)}
    report = _report(found, document.sections(), timeout_s)
    findings = sorted(
        (_finding(item, known[item["id"]], document) for item in report["results"] if item["result"] in ("fail", "unknown")),
        key=lambda f: (f.severity, f.id, f.result, f.address, f.message),
    )
    return Verdict(outcomes=_outcomes(known, report), findings=apply_waivers(findings, waivers, today), strict=strict)


def rules(rule_folders: Sequence[str | Path] = ()) -> tuple[Rule, ...]:
    """Every rule with its header, in id order; none is evaluated."""
    from inferform.policy_rules import known_rules, modules

    return known_rules(modules(rule_folders))


def evaluate(modules: Iterable[Module], sections: Json, query: str, *, data: Json = None, timeout_s: float = TIMEOUT_S) -> Json:
    """The value of a Rego query on `sections` as input, None where it is undefined. Raises RegoError."""
    request = {"modules": [[m.file, m.text] for m in modules], "input": sections, "data": data, "query": query}
    # -P: a json.py in the user's folder is not ours to run.
    command = [sys.executable, "-P", "-c", "from inferform.policy import _serve; _serve()"]
    try:
        done = subprocess.run(command, input=json.dumps(request).encode(), capture_output=True, timeout=timeout_s, check=False)
    except subprocess.TimeoutExpired as err:
        raise RegoError(f"the rules took more than {timeout_s:g} s") from err
    lines = done.stdout.splitlines()
    if done.returncode != 0 or not lines:
        tail = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
        raise RegoError("the Rego engine ended without an answer" + (f": {tail[0]}" if tail else ""))
    answer = json.loads(lines[-1])
    if "error" in answer:
        raise RegoError(**answer["error"])
    return answer["value"]


def _serve() -> None:
    """The child: one request on standard input, one line of JSON on standard output."""
    import regopy

    request = json.load(sys.stdin.buffer)
    engine = regopy.Interpreter()
    engine.log_level = regopy.LogLevel.NONE
    try:
        for file, text in request["modules"]:
            engine.add_module(file, text)
        if request["data"] is not None:
            engine.add_data_json(json.dumps(request["data"], ensure_ascii=False))
        engine.set_input(_escaped(request["input"]))
        answer: Json = _asked(engine, request["query"])
    except regopy.RegoError as err:
        match = _ERROR.search(str(err))
        answer = {"error": {"message": match["message"], "file": match["file"], "offset": int(match["offset"])} if match else {"message": str(err)[:300]}}
    sys.stdout.buffer.write(json.dumps(answer).encode() + b"\n")


def _asked(engine: Any, query: str) -> Json:
    """The answer to a query: `{"value": ...}` or `{"error": ...}`."""
    from regopy.rego_shared import rego_free_output, rego_output_expressions_at_index, rego_output_ok, rego_output_string, rego_query

    output = rego_query(engine._impl, query)
    try:
        text = rego_output_string(output)
        if not rego_output_ok(output):
            return {"error": {"message": "the rules contradict each other: one name has two values"}}
        if text == "undefined":
            return {"value": None}
        try:
            return {"value": json.loads(text)["expressions"][0]}
        except ValueError:
            # Texts that some functions make are written out unquoted; their nodes hold them whole.
            from regopy import Node

            return {"value": _plain(Node(rego_output_expressions_at_index(output, 0)).index(0))}
    finally:
        rego_free_output(output)


def _plain(node: Any) -> Json:
    """A node of the engine as JSON."""
    from regopy import NodeKind

    if node.kind in (NodeKind.Term, NodeKind.Scalar):
        return _plain(node.at(0))
    if node.kind == NodeKind.Array:
        return [_plain(node.at(index)) for index in range(len(node))]
    if node.kind == NodeKind.Set:
        return [_plain(child) for child in node._children.values()]
    if node.kind == NodeKind.Object:
        return {_unescaped(key[1:-1]): _plain(child) for key, child in node._children.items()}
    return _unescaped(node.value) if isinstance(node.value, str) else node.value


def _unescaped(text: str) -> str:
    """The text between the quotes of a JSON string, whose own quotes may lack the escape."""
    return str(json.loads('"' + re.sub(r'(?<!\\)"', r'\\"', text) + '"'))


def _escaped(value: Json) -> Json:
    """Strings as the engine keeps them: as between the quotes of a JSON text. It writes them out the same way."""
    if isinstance(value, str):
        return value if value.isalnum() and value.isascii() else json.dumps(value, ensure_ascii=False)[1:-1].encode(errors="replace").decode()
    if isinstance(value, dict):
        return {_escaped(key): _escaped(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_escaped(item) for item in value]
    return value


def _report(modules: Sequence[Module], sections: Json, timeout_s: float) -> Json:
    """`{rules, results}` of the document; the rules are shared out over the cores."""
    from concurrent.futures import ThreadPoolExecutor

    rules = [module for module in modules if module.rule_id]
    libraries = [module for module in modules if not module.rule_id]
    shares = max(1, min(os.cpu_count() or 1, MOST_PROCESSES, len(rules) // RULES_PER_PROCESS))

    def share(number: int) -> Json:
        mine = rules[number::shares]
        try:
            return evaluate([*libraries, *mine], sections, _query(mine), timeout_s=timeout_s)
        except RegoError as err:
            raise _traced(err, libraries, mine, sections, timeout_s) from err

    with ThreadPoolExecutor(shares) as pool:
        reports = list(pool.map(share, range(shares)))
    if None in reports:
        raise ToolFailedError("the rules gave no report")
    return {key: [item for report in reports for item in report[key]] for key in ("rules", "results")}


def _query(rules: Iterable[Module]) -> str:
    """Asks for the report of these rules. Each is named: asked for as a whole, the engine would write out all they hold."""
    outcomes = []
    for rule in rules:
        one = f"data.{rule.package}"
        found = "[x | x := {}]"
        outcomes.append(
            f'{{"id": "{rule.rule_id}", "about": object.union_n({found.format(one + ".about")}), "expects": {found.format(one + ".expects")}, '
            f'"subjects": sum([n | n := count({one}.subjects)]), "fail": union({{x | x := {one}.fail}}), "unknown": union({{x | x := {one}.unknown}})}}'
        )
    return f"data.inferform.main.report_of([{', '.join(outcomes)}])"


def _traced(err: RegoError, libraries: Sequence[Module], rules: Sequence[Module], sections: Json, timeout_s: float) -> InputError | ToolFailedError:
    """The error with the file and line it comes from; where the engine does not say, each rule is tried alone."""
    own = {module.file: module for module in (*libraries, *rules)}
    if err.file in own:
        line = own[err.file].text.encode()[: err.offset].count(b"\n") + 1
        return InputError(Problem(f"no Rego that can be used: {err.message}", file=err.file, line=line))
    for rule in rules:
        try:
            evaluate([*libraries, rule], sections, _query([rule]), timeout_s=timeout_s / 4)
        except RegoError as single:
            return InputError(Problem(f"the rule {rule.rule_id} cannot be evaluated: {single.message}", file=rule.file, line=1))
    return ToolFailedError(f"the rules cannot be evaluated: {err.message}")


def _finding(item: Json, rule: Rule, document: Document) -> Finding:
    from inferform.verdict import Finding

    address = str(item["address"])
    place = address.split("/", 1)[0]
    file = document.origins.get(address) or document.origins.get(place) or ""
    if not file and document.files and address.rpartition(":")[0] in document.files:
        file = address.rpartition(":")[0]
    return Finding(
        id=rule.id, title=rule.title, severity=rule.severity, result=item["result"], address=address, message=str(item["message"]),
        remedy=rule.remedy, source=rule.source, file=file,
    )  # fmt: skip


def _outcomes(rules: dict[str, Rule], report: Json) -> tuple[Outcome, ...]:
    from inferform.verdict import Outcome

    subjects = {header["id"]: header["subjects"] for header in report["rules"]}
    results: dict[str, set[str]] = {}
    reasons: dict[str, list[str]] = {}
    for item in report["results"]:
        results.setdefault(item["id"], set()).add(item["result"])
        if item["result"] == "not_applicable":
            reasons.setdefault(item["id"], []).append(item["message"])
    outcomes = []
    for rule in rules.values():
        seen = results.get(rule.id, set())
        result = next((kind for kind in ("fail", "unknown", "not_applicable") if kind in seen), "pass")
        outcomes.append(Outcome(rule=rule, result=result, subjects=subjects[rule.id], why="; ".join(sorted(reasons.get(rule.id, [])))))
    return tuple(outcomes)
