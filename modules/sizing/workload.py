"""What one model is asked to do, with the defaults of each traffic profile."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from inferform.sizing.lengths import Lengths
from inferform.sizing.queueing import Load


@dataclass(frozen=True, slots=True)
class ProfileDefaults:
    """Objectives and habits of a kind of traffic. `headroom` is capacity kept above the busiest hour, as a share of it."""

    ttft_p95_s: float | None
    tpot_p95_s: float | None
    headroom: float
    latency_sensitive: bool
    sequences: int


# Interactive: a reader's pace is about 20 tokens a second. Agentic: turns wait for each other, so TPOT counts more than TTFT.
# Headroom is 30-50 % (requirements A2). It stands above a rate that already meets the objectives, not above saturation, so it
# starts at the low end; agents come in bursts of turns and get more.
PROFILES = {
    "interactive": ProfileDefaults(1.0, 0.050, 0.3, latency_sensitive=True, sequences=256),
    "agentic": ProfileDefaults(2.0, 0.040, 0.4, latency_sensitive=True, sequences=256),
    "batch": ProfileDefaults(None, None, 0.3, latency_sensitive=False, sequences=512),
}
# Encoders answer once per request; there is no token after the first.
EMBED_TTFT_P95_S = 0.5


@dataclass(frozen=True, slots=True)
class Demand:
    """Traffic and objectives of one model. Lengths in tokens, `requests_per_s` in the busiest hour, `burst` a multiple of it."""

    profile: str
    requests_per_s: float
    prompt: Lengths
    output: Lengths
    shared_prefix_tokens: int
    burst: float
    ttft_p95_s: float | None
    tpot_p95_s: float | None
    role: Literal["aggregated", "prefill", "decode"] = "aggregated"

    @property
    def defaults(self) -> ProfileDefaults:
        """What the profile stands for."""
        return PROFILES[self.profile]

    def load(self, *, prefix_caching: bool) -> Load:
        """The lengths as the queueing model takes them; a shared prefix counts in whole cache blocks of 16 tokens.

        A prefill replica stops at the first token; a decode replica gets the prompt's cache from elsewhere but has to hold it.
        """
        shared = float(self.shared_prefix_tokens // 16 * 16) if prefix_caching else 0.0
        if self.role == "prefill":
            return Load(self.prompt, Lengths(1, 1), shared)
        if self.role == "decode":
            return Load(self.prompt, self.output, self.prompt.mean - 1, shared)
        return Load(self.prompt, self.output, shared)

    def capacity_needed(self) -> float:
        """Requests a second that the steady fleet must be able to carry: the busiest hour plus headroom."""
        return self.requests_per_s * (1 + self.defaults.headroom)

    def burst_needed(self) -> float:
        """Requests a second that the fleet at its largest must be able to carry."""
        return self.capacity_needed() * self.burst


def context_length(prompt: Lengths, output: Lengths, longest: int) -> int:
    """Context to serve when the spec names none: twice the 95th percentiles, in whole 1,024 tokens, at most the model's own.

    Raises nothing: a workload longer than the model is found by whoever compares the two.
    """
    wanted = 2 * (prompt.p95 + output.p95)
    return int(min(longest, -(-wanted // 1024) * 1024))
