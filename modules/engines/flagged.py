"""What engines with a versioned table of flags have in common: pinning, checks of arguments, and metric names."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from inferform.engines.engine import Device, Place, PodVariable, Signal
from inferform.engines.flags import Argument, FlagTable, load_table
from inferform.engines.images import read_image
from inferform.engines.tiers import TierSupport
from inferform.engines.versions import full_version, version_key
from inferform.errors import InputError, Problem
from inferform.plan import ModelPlan, PoolPlan

# Values of these are never repeated in a message.
_SECRETS = ("--api-key", "--hf-token", "--admin-api-key")
_FACTORS = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


class Flagged(ABC):
    """An engine whose arguments stand in a table of its own (`data/NAME-VERSION.json`)."""

    name: str
    # As people write it, for messages.
    title: str
    default_version: str
    # The release whose table is shipped; `since` and `last` in it tell what older ones take.
    table_version: str
    # Flags whose values belong to a field of the spec (FC-17): flag -> (key of `split_extra_args`, type).
    owned: Mapping[str, tuple[str, type]]
    # Flags that would work against what the plan decides; the text says where the decision is made.
    refused: Mapping[str, str]
    # The engine's names of a KV cache type and a checkpoint's method -> the spec's.
    kv_cache_names: Mapping[str, str]
    methods: Mapping[str, str]

    port = 8000
    group_id = 0
    health_path = "/health"
    metrics_path = "/metrics"
    rank_series = True
    one_node = ""

    @property
    def table(self) -> FlagTable:
        """The newest flag table; `since` and `last` tell what older releases take."""
        return load_table(self.name, self.table_version)

    @property
    def oldest_version(self) -> str:
        """See Engine."""
        return self.table.oldest

    @property
    def newest_version(self) -> str:
        """See Engine."""
        return self.table.version

    def check_version(self, version: str, *, field: str = "engine_version") -> str:
        """See Engine. The range is from the oldest to the newest release whose flags were read."""
        low, high = self.table.oldest, self.table.version
        if not version_key(low) <= version_key(version) <= version_key(high):
            span = low if low == high else f"{low} to {high}"
            raise InputError(
                Problem(f"no flag table covers this {self.title} version", field=field, value=version[:40], legal=(span,), fix=f"pin {self.default_version}")
            )
        return full_version(version)

    @abstractmethod
    def image(self, version: str, device: Device) -> str:
        """See Engine."""

    def pin(self, version: str | None, image: str | None, device: Device, *, field: str = "") -> tuple[str, str]:
        """See Engine."""
        prefix = f"{field}." if field else ""
        if version is not None:
            version = self.check_version(version, field=f"{prefix}engine_version")
        if image is None:
            version = version or self.default_version
            return version, self.image(version, device)
        tag = read_image(image, field=f"{prefix}image").tag
        tagged = _version_in(tag)
        if tagged and version and tagged != version:
            raise InputError(
                Problem(
                    f"the tag says {tagged}, engine_version says {version}",
                    field=f"{prefix}image",
                    value=image[:80],
                    fix="let both name the same release, or leave one out",
                )
            )
        return (self.check_version(tagged, field=f"{prefix}image") if tagged else version or self.default_version), image

    def accepts(self, flag: str, version: str) -> bool:
        """See Engine."""
        return self.table.accepts(flag, version)

    def online_quantization(self, version: str, weights: str) -> str | None:
        """See Engine. None: checkpoints are run as they are."""
        return None

    def split_extra_args(self, args: Sequence[str], version: str, *, field: str = "extra_args") -> tuple[dict[str, Any], tuple[str, ...]]:
        """See Engine. Keys: tp, pp, dp, expert_parallel, max_model_len, max_num_seqs, max_num_batched_tokens, gpu_memory_utilization,
        kv_cache, quantization, prefix_caching, chunked_prefill, enforce_eager, shutdown_timeout_s; values have the spec field's type."""
        owned: dict[str, Any] = {}
        rest: list[str] = []
        problems: list[Problem] = []
        for argument in self.table.read(args, version, field=field):
            name = argument.flag.name
            if name in self.refused:
                problems.append(Problem(f"{name} is not taken here", field=field, value=" ".join(argument.values)[:80] or None, fix=self.refused[name]))
            elif name in self.owned:
                try:
                    owned[self.owned[name][0]] = self._owned_value(argument)
                except ValueError as error:
                    problems.append(Problem(f"{name}: {error}", field=field, value=" ".join(argument.values)[:80]))
            else:
                rest.extend(argument.words())
        if problems:
            raise InputError(Problem(p.message, p.field, fix=p.fix) if p.message.startswith(_SECRETS) else p for p in problems)
        return owned, tuple(rest)

    def _owned_value(self, argument: Argument) -> Any:
        key, kind = self.owned[argument.flag.name]
        if kind is bool:
            # A switch that turns something off, such as --disable-radix-cache, sets its field to False.
            return argument.positive != argument.flag.name.startswith("--disable-") if argument.flag.is_switch else argument.values[0].lower() == "true"
        text = argument.values[0]
        if kind is int:
            return whole(text)
        if kind is float:
            return float(text)
        return (self.kv_cache_names if key == "kv_cache" else self.methods).get(text, text)

    @abstractmethod
    def kv_tiers(self, version: str) -> TierSupport:
        """See Engine."""

    @abstractmethod
    def command(self, model: ModelPlan, pool: PoolPlan, place: Place = ...) -> list[str]:
        """See Engine."""

    def configuration(self, model: ModelPlan, pool: PoolPlan) -> dict[str, Any]:
        """See Engine. Empty: everything stands on the command line."""
        return {}

    def pod_fields(self, pool: PoolPlan) -> dict[str, str]:
        """See Engine."""
        return {}

    def checked_rest(self, model: ModelPlan) -> tuple[str, ...]:
        """The extra arguments, checked once more so that no plan can smuggle in what the plan owns."""
        field = f"models.{model.served_name}.extra_args"
        owned, rest = self.split_extra_args(model.extra_args, model.engine_version, field=field)
        if owned:
            raise InputError(Problem("holds flags that the plan owns", field=field, value=", ".join(sorted(owned))))
        return rest

    def check_words(self, words: Sequence[str], model: ModelPlan) -> None:
        """Each rendered flag against the table of the pinned release; a variable of the pod stands for a whole number or an address."""
        self.check_version(model.engine_version, field=f"models.{model.served_name}.engine_version")
        plain = ["0" if isinstance(word, PodVariable) else word for word in words]
        self.table.read(plain, model.engine_version, field=f"models.{model.served_name}")

    def metric(self, version: str, signal: Signal) -> str:
        """See Engine (FC-30)."""
        rows = _metrics(self.name).get(signal, ())
        if not rows:
            raise InputError(Problem(f"{self.title} has no series for {signal}", field="signal", value=signal, legal=tuple(_metrics(self.name))))
        row = next(r for r in rows if version_key(version) >= version_key(r["since"]))
        return row["name"] + ("_total" if row["kind"] == "counter" else "")


def check_batching(model: ModelPlan, pool: PoolPlan, *, chunked: bool) -> None:
    """Raises InputError when the token budget of a step holds neither a prompt that may not be split, nor a token a sequence (FC-19)."""
    where = f"models.{model.served_name}.max_num_batched_tokens"
    if not chunked and pool.max_num_batched_tokens < pool.max_model_len:
        raise InputError(
            Problem(
                f"{pool.max_num_batched_tokens} is below max_model_len {pool.max_model_len} while chunked prefill is off",
                field=where,
                value=str(pool.max_num_batched_tokens),
                fix=f"set at least {pool.max_model_len}, or turn chunked prefill on",
            )
        )
    if pool.max_num_batched_tokens < pool.max_num_seqs:
        raise InputError(
            Problem(f"{pool.max_num_batched_tokens} is below max_num_seqs {pool.max_num_seqs}", field=where, value=str(pool.max_num_batched_tokens))
        )


def refuse(model: ModelPlan, field: str, message: str, *, value: str, fix: str) -> InputError:
    """The error for what an engine cannot do, naming the model's field."""
    return InputError(Problem(message, field=f"models.{model.served_name}.{field}", value=value, fix=fix))


def joined(flag: str, value: str) -> list[str]:
    """A flag with a value that is data: one that looks like a flag stays joined to its name."""
    return [f"{flag}={value}"] if value.startswith("-") else [flag, value]


def whole(text: str) -> int:
    """A whole number as engines read it: k, m and g count in thousands, capitals in powers of 1024."""
    if text and text[-1] in _FACTORS:
        value = float(text[:-1]) * _FACTORS[text[-1]]
    elif text in ("auto", "-1"):
        raise ValueError("give a number; the plan sizes memory for it")
    else:
        value = float(text)
    if value != int(value) or value < 0:
        raise ValueError("wants a whole number")
    return int(value)


def number(value: float) -> str:
    """A plain decimal number as text, six places at most."""
    return f"{value:.6f}".rstrip("0").rstrip(".")


def _version_in(tag: str) -> str | None:
    """The release a tag names (`v0.19.0`, `0.19.0-x86_64`); None for tags that name none."""
    text = tag.removeprefix("v").split("-")[0]
    try:
        return full_version(text) if text.count(".") >= 2 else None
    except InputError:
        return None


@cache
def _metrics(engine: str) -> dict[str, list[dict[str, str]]]:
    text = files("inferform.engines").joinpath("data", f"{engine}-metrics.json").read_text(encoding="utf-8")
    signals: dict[str, list[dict[str, str]]] = json.loads(text)["signals"]
    return signals
