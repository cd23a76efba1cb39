"""Records what Terraform's AWS provider calls while a fleet is planned, applied, planned again and destroyed on the double.

    .venv/bin/python tests/cloud/record_calls.py

writes provider_calls.json beside this file: [phase, IAM action, ARN of the resource where the call names one]. It takes minutes, so the
tests read the record; run it again when the stacks change.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from inferform.cloud.api import S3_ACTIONS
from inferform.operate.apply import apply
from inferform.operate.destroy import destroy
from inferform.operate.plan import plan
from inferform.sandbox.backend import sandbox_backend
from inferform.sandbox.call import ACCOUNT
from inferform.sandbox.fakes_wire import Wsgi, read_operation
from inferform.sandbox.server import Application, _Quiet
from moto.core.config import default_user_config
from werkzeug.serving import make_server

Json = dict[str, Any]
RECORD = Path(__file__).with_name("provider_calls.json")
SERVICES = {"autoscaling", "ec2", "eks", "iam", "kms", "logs", "s3", "ssm", "sts"}


class Recorder:
    """The double, with every call written down: (phase, action, ARN of its resource where the call names one)."""

    def __init__(self, application: Wsgi) -> None:
        self.phase = ""
        self.calls: set[tuple[str, str, str]] = set()
        self._application = application

    def __call__(self, environ: Json, start_response: Callable[..., Any]) -> Iterable[bytes]:
        found = read_operation(environ, SERVICES)
        if found:
            service, name, region, parameters = found
            action = f"{service}:{S3_ACTIONS.get(name, name) if service == 's3' else name}"
            self.calls.add((self.phase, action, _arn(service, region, parameters())))
        return self._application(environ, start_response)


def _arn(service: str, region: str, given: Json) -> str:
    """ARN of what a call is about, for the kinds that have names; empty for the others."""
    if service == "iam":
        role, profile = given.get("RoleName"), given.get("InstanceProfileName")
        return f"arn:aws:iam::{ACCOUNT}:instance-profile/{profile}" if profile else f"arn:aws:iam::{ACCOUNT}:role/{role}" if role else ""
    if service == "eks":
        cluster = given.get("clusterName") or given.get("name")
        return f"arn:aws:eks:{region}:{ACCOUNT}:cluster/{cluster}" if cluster else ""
    if service == "s3":
        return f"arn:aws:s3:::{given['Bucket']}" if given.get("Bucket") else ""
    if service == "autoscaling":
        name = given.get("AutoScalingGroupName")
        return f"arn:aws:autoscaling:{region}:{ACCOUNT}:autoScalingGroup:1:autoScalingGroupName/{name}" if name else ""
    if service == "logs":
        return f"arn:aws:logs:{region}:{ACCOUNT}:log-group:{given['logGroupName']}" if given.get("logGroupName") else ""
    return ""


def record() -> set[tuple[str, str, str]]:
    """The calls of a fleet's life, by phase."""
    from sandbox.life import ACTOR, RULES, fleet

    # Roles attach policies of AWS, which moto knows only when told.
    default_user_config["iam"] = {"load_aws_managed_policies": True}
    recorder = Recorder(Application())
    server = make_server("127.0.0.1", 0, recorder, threaded=True, request_handler=_Quiet)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        backend = sandbox_backend(f"http://127.0.0.1:{server.server_port}", Path(folder) / "provider", os.environ)
        source, out = fleet(), Path(folder) / "out"
        steps: tuple[tuple[str, Callable[[], object]], ...] = (
            ("plan", lambda: plan(source, out, backend=backend, actor=ACTOR, rules=RULES)),
            ("apply", lambda: apply(source, out, backend=backend, actor=ACTOR, rules=RULES)),
            ("plan", lambda: plan(source, out, backend=backend, actor=ACTOR, rules=RULES)),
            ("destroy", lambda: destroy(source, out, backend=backend, actor=ACTOR)),
        )
        for recorder.phase, step in steps:
            step()
            print(recorder.phase, "done", flush=True)
    server.shutdown()
    server.server_close()
    return recorder.calls


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    rows = ",\n".join(json.dumps(row) for row in sorted(record()))
    RECORD.write_text(f"[\n{rows}\n]\n", encoding="utf-8")
