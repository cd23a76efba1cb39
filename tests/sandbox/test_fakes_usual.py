"""The double as it is dressed for preflight."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from inferform.catalog.prices import price
from inferform.cloud.api import sessions
from inferform.cloud.preflight import preflight
from inferform.cloud.results import Finding
from inferform.plan import DeploymentPlan
from inferform.sandbox.backend import client
from inferform.sandbox.fakes_usual import dressed, new_account, usual_market
from inferform.sandbox.server import Double, _Quiet
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from samples import plan_data
from werkzeug.serving import make_server


@pytest.fixture
def url() -> Iterator[str]:
    """The address of a dressed double."""
    moto = DomainDispatcherApplication(create_backend_app)

    def alone(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        # An account of its own, so that what other tests of this process made is not seen.
        return moto({**environ, "HTTP_X_MOTO_ACCOUNT_ID": "299999999999"}, start_response)

    server = make_server("127.0.0.1", 0, dressed(alone), threaded=True, request_handler=_Quiet)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_a_new_account_has_no_gpu_quota() -> None:
    """As AWS gives it: nothing for P and G, a handful of the rest."""
    assert {0} == {new_account().defaults[("ec2", code)] for code in ("L-417A185B", "L-DB2E81BA", "L-7212CCBC", "L-3819A6DF")}
    assert 5 == new_account().defaults[("ec2", "L-0263D0A3")]


def test_prices_are_those_of_the_catalogue() -> None:
    """What a plan counts with is what the double sells for."""
    listed = price("p5.48xlarge", "us-east-1", "on_demand")
    assert listed is not None
    assert listed.usd_per_hour == usual_market().on_demand["p5.48xlarge", "us-east-1"]


def test_preflight_can_ask_everything(url: str) -> None:
    """Nothing is unknown on the dressed double: the state bucket and the quotas of a new account are what stands in the way."""
    data = plan_data()
    data["cloud"]["kubernetes_version"] = "1.35"
    data["state"]["bucket"], data["model_store"]["bucket"] = "dressed-state", "dressed-models"
    result = preflight(DeploymentPlan.model_validate(data), sessions(url), now=datetime(2026, 12, 1, tzinfo=UTC))
    unknown: list[Finding] = [f for f in result.findings if f.severity == "unknown"]
    assert [] == unknown
    assert {"STA001", "QTA001"} == {f.id for f in result.findings if f.severity == "blocker"}


def test_the_sandbox_wears_it(double: Double) -> None:
    """The double that commands talk to with --sandbox answers what preflight asks and moto lacks, here the GPU quota of a new account."""
    quota = client(double.url, "service-quotas", "us-east-1").get_aws_default_service_quota(ServiceCode="ec2", QuotaCode="L-417A185B")["Quota"]
    assert 0 == quota["Value"]
