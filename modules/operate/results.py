"""What plan, apply, drift and destroy return: frozen values that print as JSON."""

from __future__ import annotations

from typing import Literal

from inferform.verdict import Verdict
from pydantic import BaseModel, ConfigDict, Field, JsonValue

Action = Literal["create", "update", "replace", "delete", "forget"]


class Result(BaseModel):
    """A frozen part of a result."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Change(Result):
    """One resource that a stack changes."""

    address: str
    type: str
    action: Action
    attributes: tuple[str, ...] = Field((), description="Top-level attributes that change (update), or that force the replacement (replace).")
    model: str | None = Field(None, description="The model whose node pool this is.")
    pool: str | None = Field(None, description="Pool name where the resource holds the nodes of a pool.")
    nodes: int | None = Field(None, description="Nodes of the group: those it has now where it exists, else those it starts with.")
    renews: tuple[str, ...] = Field((), description="Changed attributes that make the cloud replace the group's running nodes one by one.")


class StackPlan(Result):
    """What one stack will do.

    `saved`: terraform holds a saved plan and apply runs exactly that. `after`: the stack reads outputs that only exist, or
    may change, once the stacks in `waits_for` are applied; `changes` is then what apply may do at most.
    """

    stack: str
    state: Literal["saved", "after"]
    waits_for: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()
    outputs_change: bool = False
    config_digest: str = Field(description="SHA-256 of the cdk.tf.json that terraform reads.")
    plan_digest: str | None = Field(None, description="SHA-256 of the saved plan file.")


class Counts(Result):
    """Resources by what happens to them; a replacement counts once, as `replace`."""

    create: int = 0
    update: int = 0
    replace: int = 0
    delete: int = 0


class Risk(Result):
    """Something a person should weigh before apply. `red` interrupts service or loses data; `block` will be refused by the cloud."""

    level: Literal["notice", "red", "block"]
    code: str = Field(
        description="Stable name, such as pool-replaced, pool-removed, pool-renamed, pool-renewed, serving-changed, min-above-desired, max-below-desired, data-removed."
    )
    address: str
    message: str
    nodes: int | None = None
    remedy: str = ""


class CostDifference(Result):
    """Steady cost before (last applied plan; None at the first apply) and after, USD."""

    before_usd_per_month: float | None
    after_usd_per_month: float
    difference_usd_per_month: float
    budget_usd_per_month: float | None
    by_pool_usd_per_month: dict[str, tuple[float, float]] = Field(description="MODEL/POOL -> (before, after), only where they differ.")


class PlanResult(Result):
    """The saved plan of one deployment in one environment."""

    name: str
    environment: str
    folder: str = Field(description="Folder that holds the saved plan; apply reads it.")
    digest: str = Field(description="SHA-256 over the DeploymentPlan and every stack's digests; names this saved plan.")
    first: bool = Field(description="Nothing was applied before.")
    stacks: tuple[StackPlan, ...] = Field(description="In the order in which they are applied.")
    counts: Counts
    cost: CostDifference
    risks: tuple[Risk, ...]
    allowed: bool = Field(description="The verdict allows apply.")
    verdict: Verdict
    warnings: tuple[str, ...] = ()
    adapted: tuple[str, ...] = Field((), description="What was removed from the configuration for this backend; empty on a real cloud.")
    rollback_to: int | None = Field(None, description="Number of the earlier apply that this plan brings back; None for a plan of the spec.")

    @property
    def has_changes(self) -> bool:
        """True when apply would change a resource or an output."""
        return any(s.changes or s.outputs_change for s in self.stacks)


class StackResult(Result):
    """What happened to one stack. `done_before`: an interrupted run had finished it already."""

    stack: str
    state: Literal["applied", "unchanged", "done_before", "destroyed", "empty"]
    counts: Counts
    seconds: float


class ApplyResult(Result):
    """The outcome of apply."""

    name: str
    environment: str
    folder: str
    digest: str
    resumed: bool = Field(description="An earlier apply of this plan was interrupted and has now been completed.")
    stacks: tuple[StackResult, ...]
    counts: Counts
    outputs: dict[str, dict[str, JsonValue]] = Field(description="Outputs by stack; sensitive ones are left out.")
    warnings: tuple[str, ...] = ()
    rollback_to: int | None = Field(None, description="Number of the earlier apply that this one brought back.")


class Applied(Result):
    """One apply that ended, as the history keeps it."""

    number: int
    name: str
    environment: str
    when: str = Field(description="ISO 8601, UTC.")
    who: str
    digest: str = Field(description="Digest of the saved plan that was applied.")
    spec_digest: str
    deployment_digest: str = Field(description="SHA-256 of the DeploymentPlan.")
    spec_file: str | None = Field(None, description="Absolute path of the spec; None when it was not a file.")
    inferform_version: str
    backend: str
    rollback_to: int | None = Field(None, description="Number of the apply that this one brought back.")
    usd_per_month: float
    nodes: dict[str, int] = Field(description="Steady nodes by MODEL/POOL.")
    counts: Counts
    files: dict[str, str] = Field(description="SHA-256 of what is kept beside this entry, by file name.")


class HistoryResult(Result):
    """What was applied from one folder, oldest first."""

    name: str = Field(description="Name of the deployment; empty where nothing was applied.")
    environment: str
    folder: str
    current: int | None = Field(description="The apply that is in the cloud; None after a destroy.")
    unfinished: bool = Field(description="A later apply began and has not ended.")
    applied: tuple[Applied, ...]


class AttributeDrift(Result):
    """One attribute that the cloud changed; values are shortened, sensitive ones are hidden."""

    path: str
    before: JsonValue
    after: JsonValue


class DriftedResource(Result):
    """A resource that is not as it was applied. `owner` is set when something else rightly owns the change.

    `kind` scaled: the counts of a node group differ; without an owner somebody scaled it by hand.
    """

    stack: str
    address: str
    type: str
    change: Literal["updated", "deleted"]
    kind: Literal["changed", "scaled"] = "changed"
    attributes: tuple[AttributeDrift, ...] = ()
    owner: str | None = Field(None, description="Who owns the change, such as the node autoscaler; then it is not drift.")


class Assumption(Result):
    """Something that the sizing of what is applied rested on and that no longer holds."""

    code: str = Field(
        description="spec-changed, default-changed, sizing-changed, sizing-impossible, price-changed, price-old, capacity-ended, or the id of a live check."
    )
    subject: str
    then: str = Field(description="As it was applied.")
    now: str
    message: str
    remedy: str


class DriftResult(Result):
    """What changed behind Terraform's back since the last apply, and what the sizing rested on that no longer holds."""

    name: str
    environment: str
    folder: str
    drifted: bool = Field(description="Something in the cloud is not as it was applied.")
    outdated: bool = Field(False, description="An assumption of the sizing no longer holds.")
    resources: tuple[DriftedResource, ...] = Field(description="Drift, by stack order and address.")
    expected: tuple[DriftedResource, ...] = Field((), description="Changes that their owner made rightly.")
    assumptions: tuple[Assumption, ...] = ()
    stacks: tuple[str, ...] = Field(description="Stacks that were looked at.")
    warnings: tuple[str, ...] = ()


class DestroyResult(Result):
    """The outcome of destroy, in the order in which stacks were destroyed."""

    name: str
    environment: str
    folder: str
    stacks: tuple[StackResult, ...]
    counts: Counts
    warnings: tuple[str, ...] = ()
