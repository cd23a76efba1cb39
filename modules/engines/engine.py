"""What the rest of Inferform asks of a serving engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from inferform.engines.tiers import TierSupport
from inferform.plan import ModelPlan, PoolPlan

Device = Literal["gpu", "cpu"]
Signal = Literal[
    "queue", "running", "kv_use", "ttft", "tpot", "e2e", "queue_time", "preemptions", "requests", "prompt_tokens", "generation_tokens", "prefix_hits", "prefix_queries"
]  # fmt: skip


class PodVariable(str):
    """An argument that Kubernetes fills from the pod's environment, such as `$(LWS_LEADER_ADDRESS)`.

    Every other argument is data: whoever renders it escapes `$`, so that a user's text is never substituted.
    """

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Place:
    """Where the engine process runs: the weights' folder, its configuration file, and its seat in a group of nodes."""

    model_path: str
    config_path: str = ""
    nodes: int = 1
    rank: str = "0"
    leader: str = ""


class Engine(Protocol):
    """One serving engine: its versions, images, command line and metric names."""

    name: str
    default_version: str
    port: int
    # Group and user the image is prepared for, so that pods run without root.
    user_id: int
    group_id: int
    home: str
    health_path: str
    # Where the series of `metric` are read, on the same port.
    metrics_path: str
    # Whether each data-parallel rank of a process has series of its own; else the process shows one for all of them.
    rank_series: bool
    # Label of the series that holds the served name; empty where none can be relied on.
    model_label: str

    # Why a replica cannot span nodes; empty where it can.
    one_node: str

    @property
    def oldest_version(self) -> str:
        """The first release whose flags are known."""

    @property
    def newest_version(self) -> str:
        """The last one."""

    def check_version(self, version: str, *, field: str = "engine_version") -> str:
        """The version in full (`0.19` is `0.19.0`). Raises InputError outside the range whose flags are known."""

    def image(self, version: str, device: Device) -> str:
        """The engine's own image for that release, pinned by tag."""

    def pin(self, version: str | None, image: str | None, device: Device, *, field: str = "") -> tuple[str, str]:
        """(version, image) to run: each follows from the other where it is left out. Raises InputError when they contradict."""

    def split_extra_args(self, args: Sequence[str], version: str, *, field: str = "extra_args") -> tuple[dict[str, Any], tuple[str, ...]]:
        """(plan fields that the arguments set, the remaining arguments in canonical spelling). Raises InputError with every problem."""

    def accepts(self, flag: str, version: str) -> bool:
        """Whether that release takes the flag."""

    def online_quantization(self, version: str, weights: str) -> str | None:
        """The engine's name for quantizing an unquantized checkpoint to `weights` while loading; None when it cannot."""

    def kv_tiers(self, version: str) -> TierSupport:
        """What that release does with KV blocks that leave the GPU."""

    def command(self, model: ModelPlan, pool: PoolPlan, place: Place = ...) -> list[str]:
        """The whole command line. Raises InputError when the plan asks for what this release cannot do."""

    def configuration(self, model: ModelPlan, pool: PoolPlan) -> dict[str, Any]:
        """What the engine reads from the file at `Place.config_path`; empty where everything stands on the command line."""

    def environment(self, model: ModelPlan, pool: PoolPlan) -> dict[str, str]:
        """Environment variables of the engine process."""

    def pod_fields(self, pool: PoolPlan) -> dict[str, str]:
        """Environment variables that a field of the pod gives, by the field's path."""

    def metric(self, version: str, signal: Signal) -> str:
        """The series name that release exposes; counters carry `_total`, histograms stand without `_bucket`."""

    def caveats(self, *, version: str, image: str, device: Device, efa: bool) -> tuple[str, ...]:
        """What a user should know about running this release on such a pool, as sentences for the plan's warnings."""
