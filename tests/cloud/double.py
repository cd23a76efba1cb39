"""The AWS double of these tests: moto behind fakes that reject what AWS rejects, and sessions that can be made to fail.

Every test works in an account of its own, so that nothing it makes is seen by another.
"""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Self

import boto3
import botocore.session
from botocore.awsrequest import AWSResponse
from botocore.loaders import Loader
from inferform.cloud.api import S3_ACTIONS, EndpointSession
from inferform.plan import DeploymentPlan
from inferform.sandbox.fakes_account import Account, BucketOwners
from inferform.sandbox.fakes_market import Market
from inferform.sandbox.fakes_wire import Fakes
from inferform.sandbox.server import _Quiet
from moto.backends import get_backend
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from samples import plan_data
from werkzeug.serving import make_server

# One of the images that every account of the double lists.
IMAGE = "ami-12c6146b"
NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)
# Service models are large; every session of the tests shares what one has read.
_MODELS = Loader(include_default_search_paths=True)
_ACCOUNTS = itertools.count(300_000_000_000)
# Services whose backends moto makes for an account as soon as it calls.
_KEPT = ("ec2", "iam", "s3", "sts")
_ERRORS = {
    "busy": {"s3": ("OperationAborted", 409)},
    "denied": {"ec2": ("UnauthorizedOperation", 403), "s3": ("AccessDenied", 403), "": ("AccessDeniedException", 400)},
    "throttled": {"ec2": ("RequestLimitExceeded", 503), "s3": ("SlowDown", 503), "": ("ThrottlingException", 400)},
    "expired": {"ec2": ("RequestExpired", 400), "s3": ("ExpiredToken", 400), "": ("ExpiredTokenException", 400)},
}


class _Raw:
    """The body of an answer that never was on the wire."""

    def __init__(self, text: str):
        self._text = text.encode()

    def stream(self, **options: object) -> list[bytes]:
        return [self._text]


@dataclass
class AwsDouble:
    """A running double. `fails` is action -> (how, how often), `slow` action -> seconds, `called` every action in order,
    `sent` the last body of each, `heard` the number of calls that reached the double, from whomever.
    """

    market: Market = field(default_factory=Market)
    account: Account = field(default_factory=Account)
    number: str = field(default_factory=lambda: str(next(_ACCOUNTS)))
    fails: dict[str, tuple[str, int]] = field(default_factory=dict)
    slow: dict[str, float] = field(default_factory=dict)
    called: list[str] = field(default_factory=list)
    sent: dict[str, bytes] = field(default_factory=dict)
    url: str = ""
    heard: int = 0

    def start(self) -> Self:
        moto = DomainDispatcherApplication(create_backend_app)
        fakes = BucketOwners(Fakes(moto, {**self.market.fakes(), **self.account.fakes()}))

        def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
            # Calls that name no account (those of a command) are of this test's.
            self.heard += 1
            environ.setdefault("HTTP_X_MOTO_ACCOUNT_ID", self.number)
            return fakes(environ, start_response)

        self._server = make_server("127.0.0.1", 0, application, threaded=True, request_handler=_Quiet)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        # Stopping waits for the next look at the socket, so it looks often.
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        # moto looks for an access key in every account it knows, and each costs it seconds.
        for service in _KEPT:
            get_backend(service).pop(self.number, None)

    def sessions(self, number: str | None = None) -> Callable[[], Any]:
        """Sessions of this test's account, or of another."""

        def make() -> Any:
            session = boto3.Session("AKIDTESTTESTTEST", "secretsecretsecret", botocore_session=_botocore())
            session.events.register("before-call", lambda model, params, **more: self._before(model, params, number or self.number))
            session.events.register("before-send", self._send)
            return EndpointSession(session, self.url)

        return make

    def client(self, service: str, region: str = "us-east-1", number: str | None = None) -> Any:
        """A client that makes things in the account."""
        return self.sessions(number)().client(service, region_name=region)

    def _before(self, model: Any, params: dict[str, Any], number: str) -> None:
        action = _action(model.service_model.signing_name, model.name)
        self.called.append(action)
        if isinstance(params.get("body"), bytes):
            self.sent[action] = params["body"]
        params["headers"]["x-moto-account-id"] = number

    def _send(self, request: Any, event_name: str, **more: object) -> AWSResponse | None:
        _, service, operation = event_name.split(".")
        prefix = {"service-quotas": "servicequotas"}.get(service, service)
        action = _action(prefix, operation)
        time.sleep(self.slow.get(action, 0))
        how, left = self.fails.get(action, ("", 0))
        if left <= 0:
            return None
        self.fails[action] = (how, left - 1)
        code, status = _ERRORS[how].get(prefix) or _ERRORS[how][""]
        text = _body(prefix, code)
        return AWSResponse(request.url, status, {"Content-Type": "text/plain"}, _Raw(text))


def _botocore() -> Any:
    session = botocore.session.Session()
    session.register_component("data_loader", _MODELS)
    return session


def _action(prefix: str, operation: str) -> str:
    return f"{prefix}:{S3_ACTIONS.get(operation, operation) if prefix == 's3' else operation}"


def _body(prefix: str, code: str) -> str:
    if prefix == "ec2":
        return f"<Response><Errors><Error><Code>{code}</Code><Message>not today</Message></Error></Errors></Response>"
    if prefix == "sts":
        return f"<ErrorResponse><Error><Code>{code}</Code><Message>not today</Message></Error></ErrorResponse>"
    if prefix == "s3":
        return f"<Error><Code>{code}</Code><Message>not today</Message></Error>"
    return json.dumps({"__type": code, "message": "not today"})


def ready(double: AwsDouble, **changes: Any) -> DeploymentPlan:
    """The sample plan, and everything in the double that it needs: nothing blocks it. `changes` replaces top-level keys."""
    data = plan_data()
    data["cloud"]["kubernetes_version"] = "1.35"
    data["state"]["bucket"] = f"state-{double.number}"
    data["model_store"]["bucket"] = f"models-{double.number}"
    data["quotas"] = [
        {"family": "G and VT", "market": "on_demand", "vcpus": 16, "detail": "2 x g6.2xlarge x 8 vCPUs"},
        {"family": "G and VT", "market": "spot", "vcpus": 32, "detail": "4 x g6.2xlarge x 8 vCPUs"},
        {"family": "P", "market": "on_demand", "vcpus": 1152, "detail": "6 x p5.48xlarge x 192 vCPUs"},
        {"family": "Standard", "market": "on_demand", "vcpus": 64, "detail": "2 x c7i.4xlarge x 16 vCPUs + 4 x m7i.2xlarge x 8 vCPUs"},
    ]
    data["cost"]["budget_usd_per_month"] = 100_000.0
    double.account.quotas = {
        ("ec2", "L-417A185B"): 1152, ("ec2", "L-DB2E81BA"): 16, ("ec2", "L-3819A6DF"): 32, ("ec2", "L-1216C47A"): 64, ("ec2", "L-0263D0A3"): 5,
    }  # fmt: skip
    double.account.defaults = {
        ("vpc", "L-F678F1CE"): 5, ("vpc", "L-A4707A72"): 5, ("vpc", "L-FE5A380F"): 5, ("eks", "L-1194D53C"): 100, ("eks", "L-6D54EA21"): 30,
        ("eks", "L-BD136A63"): 450,
    }  # fmt: skip
    double.market.on_demand = {
        ("c7i.4xlarge", "us-east-1"): 0.714, ("g6.2xlarge", "us-east-1"): 0.9776, ("m7i.2xlarge", "us-east-1"): 0.4032, ("p5.48xlarge", "us-east-1"): 55.04,
    }  # fmt: skip
    double.market.spot = {("g6.2xlarge", "use1-az4"): 0.41, ("g6.2xlarge", "use1-az6"): 0.40}
    double.market.scores = {"use1-az4": 9, "use1-az6": 8}
    for part in data["models"]["llama-8b"]["pools"]["aggregated"]["purchase"]:
        # AWS scores fewer than three types low.
        part["instance_types"] = ["g6.2xlarge", "g6.4xlarge", "g6.8xlarge"]
    data["models"]["llama-405b"]["pools"]["aggregated"]["purchase"][0]["nodes"] = {"min": 2, "steady": 2, "max": 4}
    return DeploymentPlan.model_validate({**data, **changes})
