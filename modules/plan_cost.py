"""What a plan costs: the part of the DeploymentPlan that speaks of money."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

HOURS_PER_MONTH = 730.0


class Part(BaseModel):
    """A frozen part of the plan."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class PlatformCost(Part):
    """One part around the pools at the steady size: `count` times `usd_per_unit`, which is for an hour or a GB-month."""

    name: str
    count: float
    unit: str
    usd_per_unit: float
    usd_per_hour: float
    as_of: str
    source: str


class ModelCost(Part):
    """What one model costs with its share of the platform (by the price of its pools), steady fleet at the mean load of the month (the peak where the spec names no mean).

    `version` is what runs: source, weights, engine and its version. Input and output prices split the bill by the GPU time that
    prompts and answers take; `utilization` is that load over what the steady fleet carries inside its objectives.
    """

    version: str
    usd_per_hour: float
    usd_per_month: float
    usd_per_request: float
    usd_per_mtok: float
    usd_per_mtok_input: float
    usd_per_mtok_output: float
    utilization: float


class CostPlan(Part):
    """Price of the steady fleet; `usd_per_hour_max` is the fleet at its largest."""

    usd_per_hour: float
    usd_per_month: float
    usd_per_hour_max: float
    usd_per_mtok: float = Field(description="Per million input + output tokens at the mean load of the month; 0 when the load is 0.")
    usd_per_mtok_output: float = Field(description="Per million output tokens, by the GPU time that answers take.")
    by_pool: dict[str, float] = Field(description="USD an hour by MODEL/POOL, plus platform parts.")
    budget_usd_per_month: float | None
    hours_per_month: float = HOURS_PER_MONTH
    usd_per_mtok_input: float = Field(0.0, description="Per million input tokens, by the GPU time that prompts take.")
    usd_per_request: float = Field(0.0, description="Per request of any model at the mean load of the month; 0 when the load is 0.")
    by_model: dict[str, ModelCost] = Field({}, description="By model name; adds up to the whole.")
    by_tenant: dict[str, float] = Field({}, description="USD an hour by tenant; adds up to the whole.")
    platform: tuple[PlatformCost, ...] = Field((), description="Parts around the pools, with the source and day of each price.")
