"""`inferform check`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from inferform.cli.options import Env, Policies, Spec, Strict, Waivers
from inferform.cli.output import Output
from inferform.errors import EXIT_DENIED, EXIT_DONE

FORMATS = ("text", "json", "sarif", "junit")
EXAMPLES = (
    "inferform check deployment.yaml --env prod",
    "inferform synth deployment.yaml --out build && inferform check deployment.yaml --stacks build",
    "inferform check deployment.yaml --schemas cluster",
    "inferform check deployment.yaml --waivers waivers.yaml --format sarif > inferform.sarif",
)


def run(
    out: Output,
    spec: Spec,
    *,
    env: Env = None,
    stacks: Annotated[
        Path | None, typer.Option("--stacks", metavar="DIR", help="Judge the stacks that `inferform synth` wrote here too.", show_default=False)
    ] = None,
    terraform_plan: Annotated[
        Path | None, typer.Option("--terraform-plan", metavar="DIR", help="Judge these too: STACK.json, each from `terraform show -json`.", show_default=False)
    ] = None,
    schemas: Annotated[
        str | None,
        typer.Option(
            "--schemas",
            metavar="DIR|cluster",
            help="Hold rendered objects against these custom resource definitions, and against Kubernetes' own schemas.",
            show_default=False,
        ),
    ] = None,
    waivers: Waivers = None,
    strict: Strict = False,
    policy: Policies = None,
) -> int:
    """Judge a deployment by the policy rules.

    Looks at the spec, its plan and the rendered objects, and at stacks and terraform plans where they are given. With --schemas
    each object must also be what its schema takes. Ends with 3 where the verdict denies.
    """
    from inferform.cli.formats.verdict import written
    from inferform.cli.inputs import stack_configs, terraform_plans
    from inferform.cli.session import rules
    from inferform.load import load_spec, located
    from inferform.operate.steps import Evidence, Steps
    from inferform.planner import size
    from inferform.render import render

    loaded = load_spec(spec, env)
    judged = rules(waivers, strict=strict, folders=policy)
    configs = stack_configs(stacks) if stacks else {}
    plans = terraform_plans(terraform_plan) if terraform_plan else {}
    with located(loaded):
        plan = size(loaded.spec, loaded.environment)
        rendered = render(plan)
    verdict = Steps().judge(Evidence(loaded, plan, rendered, configs, plans), judged)
    if schemas:
        from inferform.cli.inputs import custom_kinds
        from inferform.schemas import check_schemas, with_schemas

        checked = check_schemas(rendered, plan.cloud.kubernetes_version, custom_kinds(schemas))
        verdict = with_schemas(verdict, checked)
        out.note(f"{checked.objects} objects were held against the schemas of Kubernetes {checked.kubernetes_version} and of {schemas}")
    out.write(written(verdict, out.format))
    if not configs and not plans:
        out.note("the Terraform stacks were not judged; give them with --stacks DIR (inferform plan judges them always)")
    return EXIT_DENIED if verdict.denied else EXIT_DONE
