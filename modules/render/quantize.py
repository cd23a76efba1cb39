"""The job that makes a model's quantized checkpoint: fetch, calibrate and compare, publish. Only its result is what pods load.

The import stores the original under `base/`; the job reads it there and writes the manifest that pods wait for, if the result
has kept enough of the score.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from inferform import labels
from inferform.engines import find_engine
from inferform.plan import DeploymentPlan, ModelPlan
from inferform.plan_quantize import QuantizePlan
from inferform.quantities import GIB, kubernetes_bytes
from inferform.render import images, naming, priorities, weights
from inferform.render.podtext import environment
from inferform.render.templating import source

WORK, SCRIPTS = "/work", "/quantize"
# What beside the GPU step runs in the pod.
STEP_CPU_MILLIS, STEP_BYTES = 1000, 4 * GIB
_LIGHT = {"requests": {"cpu": f"{STEP_CPU_MILLIS}m", "memory": kubernetes_bytes(STEP_BYTES)}, "limits": {"memory": kubernetes_bytes(STEP_BYTES)}}
_SHELL = ["/bin/bash", f"{SCRIPTS}/quantize.sh"]
# Of what the node has, for the agents of the cluster and the pod's own files.
_TMP_BYTES = 10 * GIB
_WAIT_S = 4 * 3600


def scripts() -> dict[str, str]:
    """Both scripts by file name."""
    return {"quantize.py": source("scripts/quantize.py.j2"), "quantize.sh": source("scripts/quantize.sh.j2")}


def scripts_name() -> str:
    """Name of the ConfigMap that holds them."""
    return f"quantize-scripts-{naming.short_hash(*scripts().values())}"


def job_view(plan: DeploymentPlan, name: str, model: ModelPlan, made: QuantizePlan) -> dict[str, Any]:
    """The job of one model. Its name follows from its inputs, because a job cannot be changed."""
    store = weights.store_environment(plan, name)
    inputs = _identity(model, made)
    common = {**store, "IDENTITY": inputs, "WORK": WORK, "HOME": WORK}
    data = {"DATA_URI": made.data_uri} if made.data_uri else {"DATA_HUB": made.data_hub or "", "DATA_SPLIT": made.data_split}
    calibrate = {
        "BASE": weights.MODEL_PATH, "METHOD": made.method, "GROUP_SIZE": str(made.group_size), "DATA_FIELD": made.data_field, "SAMPLES": str(made.samples),
        "SAMPLE_TOKENS": str(made.sample_tokens), "HELD_OUT": str(made.held_out), "PYTHONUSERBASE": f"{WORK}/python", "PIP_BREAK_SYSTEM_PACKAGES": "1", **data,
        **({"INSTALL": made.installs} if made.installs else {}),
    }  # fmt: skip
    publish = {"MODEL": model.source, "METHOD": made.method, "ENGINE": f"{model.engine} {model.engine_version}", "MIN_SCORE_SHARE": f"{made.min_score_share:g}"}
    base = {**weights.prefetch_environment(plan, name), "STORE": weights.base_store(store["STORE"]), "CACHE": f"{WORK}/base"}
    engine = find_engine(model.engine)
    token = model.hf_token_secret.model_dump() if model.hf_token_secret and made.data_hub else None
    return {
        "name": f"{name}-quantize-{naming.short_hash(inputs, scripts_name(), made.image, made.instance_type)}",
        "namespace": plan.namespace,
        "labels": dict(sorted({**naming.model_labels(plan, name), naming.COMPONENT: naming.QUANTIZE}.items())),
        "service_account": labels.import_account(name),
        "priority_class": priorities.of_model(plan, model),
        "user": engine.user_id,
        "group": engine.group_id,
        "node_selector": {labels.MODEL_LABEL: name, labels.POOL_LABEL: labels.QUANTIZE_POOL},
        "tolerations": _tolerations(made),
        "steps": [
            _step("fetch", images.AWS_CLI, [*_SHELL, "fetch"], {**common, **({"DATA_URI": made.data_uri} if made.data_uri else {})}, _LIGHT),
            _step("base", images.AWS_CLI, ["/bin/bash", "-c", f"[ -e {WORK}/done ] || exec /bin/bash {weights.SCRIPTS_MOUNT}/prefetch.sh"], base, _LIGHT),
            {**_step("quantize", made.image, [*_SHELL, "run"], {**common, **calibrate}, run_resources(made)), "token": token},
        ],
        "last": _step("publish", images.AWS_CLI, [*_SHELL, "publish"], {**common, **publish}, _LIGHT),
        "model_scripts": weights.scripts_name(),
        "scripts": scripts_name(),
        "work_size": kubernetes_bytes(made.disk_bytes),
        "tmp_size": kubernetes_bytes(_TMP_BYTES),
        # Twice the estimate, and time for a node to come and the original to be stored.
        "deadline_s": int(2 * made.hours * 3600) + _WAIT_S,
    }


def _step(name: str, image: str, command: list[str], values: dict[str, str], resources: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "image": image, "command": command, "environment": environment(values), "resources": resources, "token": None}


def run_resources(made: QuantizePlan) -> dict[str, Any]:
    """Requests and limits of the GPU step, which are the pod's: steps run one after the other."""
    fixed = {"memory": kubernetes_bytes(made.memory_bytes), "nvidia.com/gpu": 1}
    disk = {"ephemeral-storage": kubernetes_bytes(made.disk_bytes)}
    return {"requests": {"cpu": f"{made.cpu_millis}m", **disk, **fixed}, "limits": fixed}


def _tolerations(made: QuantizePlan) -> list[dict[str, str]]:
    found = [{"key": made.taint_key, "operator": "Exists", "effect": labels.TAINT_EFFECT}]
    if made.tenant:
        found.append({"key": labels.TENANT_LABEL, "operator": "Equal", "value": made.tenant, "effect": labels.TAINT_EFFECT})
    return found


def _identity(model: ModelPlan, made: QuantizePlan) -> str:
    """Changes with everything that the result depends on."""
    inputs = [
        model.source, made.method, made.group_size, made.data_uri, made.data_hub, made.data_split, made.data_field, made.samples, made.sample_tokens,
        made.held_out, made.min_score_share, made.image, made.installs,
    ]  # fmt: skip
    return hashlib.sha256(json.dumps(inputs).encode()).hexdigest()[:16]
