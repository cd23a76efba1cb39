"""Waivers: findings that somebody answers for until a date.

    waivers:
      - rule: SEC002
        address: cluster/aws_launch_template.legacy-*
        owner: platform@acme.example
        reason: the old agent needs two hops; ticket OPS-411
        expires: 2027-01-31

`*` in an address stands for any text. A waiver holds through the day it expires; after that it denies.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date
from pathlib import Path

from inferform.errors import InputError, Nearest, Problem
from inferform.load_yaml import Node, parse
from inferform.verdict import Finding
from pydantic import BaseModel, ConfigDict, Field

EXPIRED, UNUSED = "WVR001", "WVR002"
_FIELDS = ("rule", "address", "owner", "reason", "expires")


class Waiver(BaseModel):
    """One finding, or a family of them, that `owner` answers for until `expires`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    rule: str = Field(min_length=1)
    address: str = Field(description="Address of the finding; `*` stands for any text, alone for every finding of the rule.")
    owner: str = Field(min_length=1)
    reason: str = Field(min_length=1)
    expires: date
    file: str = ""
    line: int | None = None

    def covers(self, finding: Finding) -> bool:
        """Whether the waiver speaks of this finding."""
        pattern = ".*".join(re.escape(part) for part in self.address.split("*"))
        return finding.id == self.rule and re.fullmatch(pattern, finding.address, re.DOTALL) is not None

    def expired(self, today: date) -> bool:
        """Whether its last day is over."""
        return today > self.expires


def load_waivers(path: str | Path, rule_ids: Iterable[str]) -> tuple[Waiver, ...]:
    """The waivers of a file, in file order.

    Raises: InputError with every problem: unknown or missing field, unknown rule (with the nearest), malformed date.
    """
    file = str(path)
    try:
        data = Path(path).read_bytes()
    except OSError as err:
        raise InputError(Problem(f"the waivers cannot be read: {err.strerror or err}", file=file)) from err
    root, problems = parse(data, file) if data.strip() else (Node({}, 1), [])
    entries = root.value if isinstance(root.value, dict) else {}
    problems += [Problem("unknown field", field=key, file=file, line=node.line, legal=("waivers",)) for key, node in entries.items() if key != "waivers"]
    listed = entries.get("waivers")
    if listed is None or not isinstance(listed.value, list):
        raise InputError([*problems, Problem("wants a list of waivers", field="waivers", file=file, line=listed.line if listed else root.line)])
    known = tuple(sorted(rule_ids))
    waivers = [waiver for index, node in enumerate(listed.value) if (waiver := _read(node, index, file, known, problems)) is not None]
    if problems:
        raise InputError(problems)
    return tuple(waivers)


def _read(node: Node, index: int, file: str, known: tuple[str, ...], problems: list[Problem]) -> Waiver | None:
    """One waiver, None where it has problems (which are added)."""
    before = len(problems)
    name = f"waivers[{index}]"

    def refuse(message: str, line: int, *, key: str = "", value: str | None = None, legal: tuple[str, ...] = (), fix: str = "") -> None:
        problems.append(Problem(message, field=f"{name}.{key}" if key else name, file=file, line=line, value=value, legal=legal, fix=fix))

    if not isinstance(node.value, dict):
        refuse("a waiver is a mapping", node.line, legal=_FIELDS)
        return None
    fields = node.value
    for key in fields.keys() - set(_FIELDS):
        close = Nearest(key, _FIELDS).suggestions(1)
        refuse("unknown field", fields[key].line, key=key, legal=_FIELDS, fix=f"did you mean {close[0]}?" if close else "")
    for key in _FIELDS:
        if key not in fields:
            refuse("is missing", node.line, key=key, fix="a waiver names rule, address, owner, reason and the day it expires")
        elif not fields[key].text.strip() and key != "address":
            refuse("wants text", fields[key].line, key=key)
    rule = fields.get("rule")
    if rule is not None and rule.text and rule.text not in known:
        close = Nearest(rule.text, known).suggestions(3)
        refuse("no such rule", rule.line, key="rule", value=rule.text, fix=f"nearest: {', '.join(close)}" if close else "policies/README.md lists all rules")
    expires = fields.get("expires")
    day = None
    if expires is not None and expires.text:
        try:
            day = date.fromisoformat(expires.text)
        except ValueError:
            refuse("wants a day", expires.line, key="expires", value=expires.text, legal=("YYYY-MM-DD",))
    if len(problems) > before or day is None:
        return None
    text = {key: fields[key].text for key in ("rule", "address", "owner", "reason")}
    return Waiver(**text, expires=day, file=file, line=node.line)


def apply_waivers(findings: Iterable[Finding], waivers: Iterable[Waiver], today: date) -> tuple[Finding, ...]:
    """The findings with `waived_by` set where a waiver covers them, and one finding for each waiver that needs attention.

    An expired waiver that still covers something denies (WVR001); a waiver that covers nothing warns (WVR002).
    """
    found, extra = list(findings), []
    for waiver in waivers:
        covered = [index for index, finding in enumerate(found) if waiver.covers(finding)]
        where = f"{waiver.rule} {waiver.address or '(document)'}"
        if not covered:
            extra.append(_notice(UNUSED, waiver, f"the waiver of {where} by {waiver.owner} covers no finding"))
        elif waiver.expired(today):
            extra.append(_notice(EXPIRED, waiver, f"the waiver of {where} by {waiver.owner} expired on {waiver.expires}; it covered {len(covered)} finding(s)"))
        else:
            for index in covered:
                found[index] = found[index].model_copy(update={"waived_by": waiver.owner})
    return (*found, *extra)


def _notice(rule: str, waiver: Waiver, message: str) -> Finding:
    expired = rule == EXPIRED
    return Finding(
        id=rule,
        title="Waivers hold until the day they name" if expired else "Waivers cover something",
        severity="deny" if expired else "warn",
        result="fail",
        address=f"{waiver.file}:{waiver.line}" if waiver.file else waiver.rule,
        message=message,
        remedy="Mend the finding, or have the owner renew the waiver with a new date." if expired else "Delete the waiver, or correct its rule and address.",
        source="Inferform, waivers",
        file=waiver.file,
    )
