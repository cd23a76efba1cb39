"""The flag table of an engine version: look-ups, checks and the reading of free-form arguments."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from inferform.engines.versions import version_key
from inferform.errors import InputError, Problem

_HUMAN_INT = re.compile(r"-?\d+(\.\d+)?[kKmMgGtT]?")
_INT = re.compile(r"-?\d+")


@dataclass(frozen=True, slots=True)
class Flag:
    """One option. `since` is the first release read that has it; `negative` are spellings that switch it off."""

    name: str
    type: str
    aliases: tuple[str, ...]
    choices: tuple[str, ...]
    negative: tuple[str, ...]
    nargs: str
    deprecated: str
    since: str
    # True for an argument that stands in the engine's configuration file, not on its command line.
    in_file: bool = False

    @property
    def is_switch(self) -> bool:
        """True for an option that takes no value."""
        return self.type == "bool"


@dataclass(frozen=True, slots=True)
class Removed:
    """An option that newer releases refuse: the last release read that took it (None: never render it) and what to use."""

    last: str | None
    use: str


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument as written: the flag, its dotted suffix (`.level`), its values, and False for a negative spelling."""

    flag: Flag
    suffix: str
    values: tuple[str, ...]
    positive: bool

    def words(self) -> tuple[str, ...]:
        """The argument in canonical spelling: a value that looks like a flag stays joined to its name."""
        if self.flag.is_switch:
            return (self.flag.name if self.positive else f"--no-{self.flag.name.removeprefix('--')}",)
        name = self.flag.name + self.suffix
        if len(self.values) == 1 and self.values[0].startswith("-"):
            return (f"{name}={self.values[0]}",)
        return (name, *self.values)


@dataclass(frozen=True)
class FlagTable:
    """Every option of one engine release."""

    engine: str
    version: str
    flags: Mapping[str, Flag]
    spellings: Mapping[str, tuple[Flag, bool]]
    removed: Mapping[str, Removed]
    oldest: str

    def accepts(self, name: str, version: str) -> bool:
        """Whether that release takes the flag, as far as the releases read can tell."""
        entry = self.spellings.get(name)
        if entry:
            return version_key(version) >= version_key(entry[0].since)
        gone = self.removed.get(name)
        return gone is not None and gone.last is not None and version_key(version) <= version_key(gone.last)

    def find(self, word: str, version: str, *, field: str) -> tuple[Flag, str, bool]:
        """The flag, dotted suffix and sense of a word such as `-tp`, `--compilation_config.level` or `--no-enforce-eager`.

        Raises: InputError for a flag that this release does not take, with its replacement or the nearest names (FC-18).
        """
        name, dot, tail = self._split(word)
        entry = self.spellings.get(name)
        gone = self.removed.get(name)
        if gone and (gone.last is None or version_key(version) > version_key(gone.last)):
            raise InputError(Problem(f"{self.engine} {version} does not take {name}", field=field, value=word[:80], fix=_instead(gone.use)))
        if gone:
            return Flag(name, "removed later", (), (), (), "", "", gone.last or ""), dot + tail, True
        if entry is None:
            near = tuple(difflib.get_close_matches(name, self.flags, n=3, cutoff=0.6))
            fix = f"did you mean {near[0]}" if near else "see the engine's own list of flags"
            raise InputError(Problem(f"{self.engine} {version} has no flag {name[:80]}", field=field, value=word[:80], legal=near, fix=fix))
        flag, positive = entry
        if flag.deprecated:
            raise InputError(Problem(f"{flag.name} is deprecated in {self.engine} {self.version}", field=field, value=word[:80], fix=_instead(flag.deprecated)))
        if version_key(version) < version_key(flag.since):
            raise InputError(
                Problem(
                    f"{flag.name} is not known in {self.engine} {version}",
                    field=field,
                    value=word[:80],
                    fix=f"it is there from {flag.since} on; pin that version or leave the flag out",
                )
            )
        if dot and "json" not in flag.type:
            raise InputError(Problem(f"{flag.name} takes no dotted keys", field=field, value=word[:80]))
        return flag, dot + tail, positive

    def _split(self, word: str) -> tuple[str, str, str]:
        """(name, dot, dotted tail). Underscores and dashes of a long name stand for each other; a tail is a key and stays as it is."""
        if word in self.spellings:
            return word, "", ""
        head, dot, tail = word.partition(".")
        if not head.startswith("--"):
            return head, dot, tail
        name, other = "--" + head[2:].replace("_", "-"), "--" + head[2:].replace("-", "_")
        known = self.spellings.keys() | self.removed.keys()
        return other if name not in known and other in known else name, dot, tail

    def read(self, words: Sequence[str], version: str, *, field: str = "extra_args") -> list[Argument]:
        """The arguments in a list of words, each checked. Raises InputError with every problem found."""
        found: dict[str, Argument] = {}
        problems: list[Problem] = []
        for index, name, values in _groups(words):
            where = f"{field}[{index}]"
            try:
                argument = self._argument(name, values, version, field=where)
            except InputError as error:
                problems.extend(error.problems)
                continue
            key = argument.flag.name + argument.suffix
            if key in found:
                problems.append(Problem(f"{key} is given twice", field=where, fix="keep one of them"))
            found[key] = argument
        if problems:
            raise InputError(problems)
        return list(found.values())

    def _argument(self, name: str, values: tuple[str, ...], version: str, *, field: str) -> Argument:
        if not name:
            raise InputError(Problem("is no flag; a value must follow the flag it belongs to", field=field, value=values[0][:80]))
        if " " in name:
            raise InputError(Problem("holds a flag and its value in one item", field=field, value=name[:80], fix="write them as two items"))
        flag, suffix, positive = self.find(name, version, field=field)
        if not suffix:
            check_values(flag, values, field=field)
        elif len(values) != 1:
            raise InputError(Problem(f"{flag.name}{suffix} takes one value", field=field, value=" ".join(values)[:80] or None))
        return Argument(flag, suffix, values, positive)


def _groups(words: Sequence[str]) -> Iterator[tuple[int, str, tuple[str, ...]]]:
    """(index, flag word, values) per argument; the flag word is empty for a stray value."""
    index = 0
    while index < len(words):
        start, word = index, words[index]
        index += 1
        if not _is_flag(word):
            yield start, "", (word,)
            continue
        name, equals, value = word.partition("=")
        values = [value] if equals else []
        while not equals and index < len(words) and not _is_flag(words[index]):
            values.append(words[index])
            index += 1
        yield start, name, tuple(values)


def _instead(use: str) -> str:
    return f"leave it out{use.removeprefix('nothing')}" if use.startswith("nothing") else f"use {use}"


def _is_flag(word: str) -> bool:
    return word.startswith("-") and len(word) > 1 and not _HUMAN_INT.fullmatch(word) and not re.fullmatch(r"-\d*\.?\d+(e-?\d+)?", word)


def check_values(flag: Flag, values: Sequence[str], *, field: str) -> None:
    """Raises InputError when the number or the kind of values is wrong for the flag."""
    if flag.type == "removed later":
        return
    name = flag.name
    shown = " ".join(values)[:80]
    if flag.is_switch:
        if values:
            raise InputError(
                Problem(
                    f"{name} takes no value", field=field, value=shown, fix=f"write {name} alone, or {flag.negative[0] if flag.negative else 'leave it out'}"
                )
            )
        return
    if not values and flag.nargs not in ("?", "*"):
        raise InputError(Problem(f"{name} needs a value", field=field))
    if len(values) > 1 and flag.nargs not in ("+", "*"):
        raise InputError(Problem(f"{name} takes one value", field=field, value=shown))
    for value in values:
        _check_value(flag, value, field=field)


def _check_value(flag: Flag, value: str, *, field: str) -> None:
    kind = flag.type.removeprefix("optional ")
    if flag.choices and value not in flag.choices:
        raise InputError(Problem(f"{flag.name} has no such choice", field=field, value=value[:80], legal=flag.choices))
    wrong = ""
    if kind == "int" and not _INT.fullmatch(value):
        wrong = "a whole number"
    elif kind.startswith("human_readable_int") and not _HUMAN_INT.fullmatch(value) and not (kind.endswith("auto") and value in ("auto", "-1")):
        wrong = "a number such as 8192 or 8k"
    elif kind == "float" and not _is_number(value):
        wrong = "a number"
    elif kind == "json" or kind.startswith("json:"):
        wrong = "" if _is_json_object(value) else "a JSON object"
    if wrong:
        raise InputError(Problem(f"{flag.name} wants {wrong}", field=field, value=value[:80]))


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True


def _is_json_object(value: str) -> bool:
    try:
        return isinstance(json.loads(value), (dict, list))
    except (ValueError, RecursionError):
        return False


@cache
def load_table(engine: str, version: str) -> FlagTable:
    """The shipped table of one release."""
    data = json.loads(files("inferform.engines").joinpath("data", f"{engine}-{version}.json").read_text(encoding="utf-8"))
    flags = {name: _flag(name, row) for name, row in data["flags"].items()}
    spellings: dict[str, tuple[Flag, bool]] = {}
    for flag in flags.values():
        spellings.update(dict.fromkeys(flag.negative, (flag, False)))
    for flag in flags.values():
        spellings.update(dict.fromkeys((flag.name, *flag.aliases), (flag, True)))
    removed = {name: Removed(row["last"], row["use"]) for name, row in data["removed"].items()}
    return FlagTable(engine, version, flags, spellings, removed, data["releases"][0])


def _flag(name: str, row: Mapping[str, object]) -> Flag:
    def texts(key: str) -> tuple[str, ...]:
        value = row.get(key, ())
        assert isinstance(value, Iterable)
        return tuple(str(item) for item in value if item is not None)

    return Flag(
        name,
        str(row["type"]),
        texts("aliases"),
        texts("choices"),
        texts("negative"),
        str(row.get("nargs", "")),
        str(row.get("deprecated", "")),
        str(row["since"]),
        bool(row.get("file", False)),
    )
