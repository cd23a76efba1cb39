"""From the plan to Kubernetes objects: one module a family, one template an artefact. `render` is the way in, `tree.write` the way out."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable

from inferform.plan import DeploymentPlan
from inferform.render import tree
from inferform.render.compatibility import needed
from inferform.render.gateway import render_gateway
from inferform.render.isolation import render_isolation
from inferform.render.nodes import render_nodes
from inferform.render.observability import render_observability
from inferform.render.platform import render_platform
from inferform.render.refusals import refuse_what_cannot_run
from inferform.render.scaling import render_scaling
from inferform.render.serving import render_serving
from inferform.render.templating import fill

__all__ = ["FAMILIES", "render"]

# In the order in which a person would read them, and a cluster could take them.
FAMILIES: dict[str, Callable[[DeploymentPlan], dict[str, str]]] = {
    "nodes": render_nodes,
    "platform": render_platform,
    "serving": render_serving,
    "isolation": render_isolation,
    "scaling": render_scaling,
    "gateway": render_gateway,
    "observability": render_observability,
}
KUSTOMIZATION = "kustomization.yaml"
_API_VERSION = re.compile(r"^apiVersion: ([A-Za-z0-9./-]+)$", re.MULTILINE)


def render(plan: DeploymentPlan) -> dict[str, str]:
    """Every file of the deployment by its path below the output folder; the same plan gives the same bytes.

    Objects stand in `<family>/`, with a kustomization per family and one for all; Helm values (`*-values.yaml`) are for
    the charts they name and no part of it. Raises InputError for a plan that no objects can honour.
    """
    refuse_what_cannot_run(plan)
    files: dict[str, str] = {}
    families = []
    for family, make in FAMILIES.items():
        made = {path: text.removeprefix("---\n") for path, text in make(plan).items()}
        if not made:
            continue
        objects = [path for path in sorted(made) if not path.endswith("-values.yaml")]
        files |= {f"{family}/{path}": made[path] for path in sorted(made)}
        if not objects:
            # Only values of charts: kustomize takes no empty folder.
            continue
        families.append(family)
        files[f"{family}/{KUSTOMIZATION}"] = fill("kustomization.yaml.j2", {"resources": objects})
    files[KUSTOMIZATION] = fill("kustomization.yaml.j2", {"resources": families})
    files[tree.INDEX] = _index(plan, files)
    return dict(sorted(files.items()))


def _index(plan: DeploymentPlan, files: dict[str, str]) -> str:
    """What was rendered, for whom, from what, and what the cluster needs for it."""
    versions = {v for path, text in files.items() if not path.endswith((KUSTOMIZATION, "-values.yaml")) for v in _API_VERSION.findall(text)}
    index = {
        "format": tree.FORMAT,
        "deployment": plan.name,
        "tenant": plan.tenant,
        "environment": plan.environment,
        "namespace": plan.namespace,
        "spec_digest": plan.spec_digest,
        "inferform_version": plan.inferform_version,
        "needs": needed(versions),
        "files": {path: hashlib.sha256(text.encode("utf-8")).hexdigest() for path, text in sorted(files.items())},
    }
    return json.dumps(index, indent=2, ensure_ascii=False) + "\n"
