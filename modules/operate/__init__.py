"""Plan, apply, rollback, drift and destroy: joins sizing, rendering, stacks, policy and terraform.

plan.plan(loaded, out, progress, *, backend, actor, waivers=None) -> PlanResult
apply.apply(loaded, out, progress, *, backend, actor) -> ApplyResult
rollback.rollback(folder, progress, *, backend, actor, rules, to=None) -> PlanResult
drift.drift(loaded, out, progress, *, backend) -> DriftResult
destroy.destroy(loaded, out, progress, *, backend, actor, confirmed=None) -> DestroyResult

`out` is the deployment's folder; None means `.inferform/<name>/<environment>` below the working directory.
`backend` says which terraform works against which cloud (`backend.Backend`), `actor` who acts and when (`audit.Actor`).
"""
