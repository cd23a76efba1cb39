"""Typed reading of a config.json mapping: every wrong or missing key is collected, so that all are told at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from inferform.errors import InputError, Problem

LARGEST = 100_000_000


class Config:
    """One JSON object with the file it came from; reading wrong values records problems and gives the default."""

    def __init__(self, values: Mapping[str, Any], file: str, *, prefix: str = "", problems: list[Problem] | None = None):
        self.values = values
        self.file = file
        self.prefix = prefix
        self.problems = problems if problems is not None else []
        self._looked_at: set[str] = set()

    def unread(self) -> tuple[str, ...]:
        """The keys with a value that nobody has looked at yet, in order of the file."""
        return tuple(key for key, value in self.values.items() if value is not None and key not in self._looked_at)

    def problem(self, key: str, message: str, value: Any = None, legal: tuple[str, ...] = (), fix: str = "") -> None:
        """Record one problem of a key."""
        shown = None if value is None else repr(value)[:60]
        self.problems.append(Problem(message, field=self.prefix + key, file=self.file, value=shown, legal=legal, fix=fix))

    def raise_problems(self) -> None:
        """Raises: InputError with all that was recorded, if anything was."""
        if self.problems:
            raise InputError(self.problems)

    def has(self, key: str) -> bool:
        """Whether the key is there with a value other than null."""
        return self._value(key) is not None

    def _value(self, key: str) -> Any:
        self._looked_at.add(key)
        return self.values.get(key)

    def first(self, *keys: str) -> str | None:
        """The first of the keys that has a value."""
        return next((key for key in keys if self.has(key)), None)

    def whole(self, *keys: str, default: int | None = None, low: int = 1, high: int = LARGEST) -> int:
        """A whole number under the first of several spellings; without a default the key must be there."""
        key = self.first(*keys)
        # The other spellings say the same thing.
        self._looked_at.update(keys)
        if key is None:
            if default is None:
                self.problem(keys[0], "is missing; wants a whole number", legal=keys[1:])
                return low
            return default
        value = self.values[key]
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            self.problem(key, f"wants a whole number from {low} to {high}", value)
            return low if default is None else default
        return value

    def fraction(self, key: str, *, default: float, low: float, high: float) -> float:
        """A number within bounds."""
        value = self._value(key)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
            self.problem(key, f"wants a number from {low} to {high}", value)
            return default
        return float(value)

    def flag(self, key: str, *, default: bool) -> bool:
        """A true or false."""
        value = self._value(key)
        if value is None:
            return default
        if not isinstance(value, bool):
            self.problem(key, "wants true or false", value)
            return default
        return value

    def text(self, *keys: str, default: str = "") -> str:
        """A string under the first of several spellings."""
        key = self.first(*keys)
        if key is None:
            return default
        value = self.values[key]
        if not isinstance(value, str) or len(value) > 20_000:
            self.problem(key, "wants a text", value)
            return default
        return value

    def texts(self, key: str, *, longest: int = 2_000_000) -> tuple[str, ...]:
        """A list of strings; empty when the key is not there."""
        value = self._value(key)
        if value is None:
            return ()
        if not isinstance(value, list) or len(value) > longest or not all(isinstance(item, str) for item in value):
            self.problem(key, "wants a list of texts", value)
            return ()
        return tuple(value)

    def wholes(self, key: str, *, low: int = 0, high: int = LARGEST) -> tuple[int, ...] | None:
        """A list of whole numbers; None when the key is not there or holds something else than a list."""
        value = self._value(key)
        if not isinstance(value, list):
            return None
        if len(value) > 100_000 or not all(isinstance(item, int) and not isinstance(item, bool) and low <= item <= high for item in value):
            self.problem(key, f"wants a list of whole numbers from {low} to {high}", value)
            return None
        return tuple(value)

    def part(self, *keys: str) -> Config | None:
        """A nested object; None when it is not there."""
        key = self.first(*keys)
        if key is None:
            return None
        value = self.values[key]
        if not isinstance(value, Mapping):
            self.problem(key, "wants an object", value)
            return None
        return Config(value, self.file, prefix=f"{self.prefix}{key}.", problems=self.problems)

    def objects(self, key: str, *, longest: int = 10_000) -> tuple[Config, ...]:
        """A list of objects; empty when the key is not there."""
        value = self._value(key)
        if value is None:
            return ()
        if not isinstance(value, list) or len(value) > longest or not all(isinstance(item, Mapping) for item in value):
            self.problem(key, "wants a list of objects", value)
            return ()
        return tuple(Config(item, self.file, prefix=f"{self.prefix}{key}[{i}].", problems=self.problems) for i, item in enumerate(value))
