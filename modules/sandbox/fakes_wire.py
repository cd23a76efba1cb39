"""Puts fakes of whole API operations in front of the double: parsed and written by AWS's own service models.

A fake is a function of its parameters; what it gives is written as the service would, for whichever protocol that is. Calls that
no fake is for go on to the application behind.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

from inferform.sandbox.call import ec2_error, json_error
from moto.core.parse import PROTOCOL_PARSERS
from moto.core.serialize import get_serializer_class
from moto.core.utils import get_service_model
from werkzeug.wrappers import Request, Response

Json = dict[str, Any]
Wsgi = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]
# Parameters and region -> the answer.
Fake = Callable[[Json, str], Json]

_SCOPE = re.compile(r"Credential=[^/]+/\d{8}/([^/]+)/([^/]+)/aws4_request")
# Signing name -> the name of the service model.
_MODELS = {"ec2": "ec2", "eks": "eks", "pricing": "pricing", "servicequotas": "service-quotas", "ssm": "ssm"}
_MOST_BYTES = 1 << 20


class RefusedError(Exception):
    """AWS refuses a call: error code, message, HTTP status."""

    def __init__(self, code: str, message: str, status: int = 400):
        self.code, self.message, self.status = code, message, status
        super().__init__(f"{code}: {message}")


@dataclass(frozen=True)
class Fakes:
    """The application behind, with fakes by (model name, operation) in front: `Fakes(app, {("ec2", "DescribeX"): fake})`.

    A fake raises NotImplementedError to let the application answer after all.
    """

    application: Wsgi
    fakes: Mapping[tuple[str, str], Fake]

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        answer = self._answer(environ)
        return answer(environ, start_response) if answer is not None else self.application(environ, start_response)

    def _answer(self, environ: dict[str, Any]) -> Response | None:
        request = Request(environ)
        match = _SCOPE.search(request.headers.get("Authorization", ""))
        model = _MODELS.get(match.group(2)) if match else None
        if match is None or model is None or int(request.headers.get("Content-Length") or 0) > _MOST_BYTES:
            return None
        body = request.get_data(cache=True, parse_form_data=False)
        environ.pop("werkzeug.request", None)
        environ["wsgi.input"] = io.BytesIO(body)
        name = _operation(model, request, body)
        fake = self.fakes.get((model, name))
        if fake is None:
            return None
        try:
            return _written(model, name, fake(_parameters(model, name, request, body), match.group(1)))
        except RefusedError as err:
            return _refused(model, err)
        except NotImplementedError:
            return None


def _refused(model: str, err: RefusedError) -> Response:
    if model in ("ec2", "eks"):
        return ec2_error(err.code, err.message) if model == "ec2" else json_error(err.status, err.code, err.message)
    text = json.dumps({"__type": err.code, "message": err.message})
    return Response(text, err.status, content_type="application/x-amz-json-1.1")


def _operation(model: str, request: Request, body: bytes) -> str:
    if model == "ec2":
        return parse_qs(body.decode("utf-8", errors="replace")).get("Action", [""])[0]
    if model == "eks":
        service = get_service_model(model)
        fits = (
            n for n in service.operation_names if (http := service.operation_model(n).http)["method"] == request.method and http["requestUri"] == request.path
        )
        return str(next(fits, ""))
    return request.headers.get("X-Amz-Target", "").rpartition(".")[2]


def _parameters(model: str, name: str, request: Request, body: bytes) -> Json:
    operation = get_service_model(model).operation_model(name)
    protocol = operation.service_model.metadata["protocol"]
    values = Request.from_values(method="POST", data=body, content_type="application/x-www-form-urlencoded").form if protocol == "ec2" else request.args
    wire: Any = {
        "method": request.method, "values": values, "headers": request.headers, "body": body, "url_path": request.path, "url_params": {},
    }  # fmt: skip
    parsed: Json = PROTOCOL_PARSERS[protocol](operation).parse(wire)
    return parsed


def _written(model: str, name: str, answer: Json) -> Response:
    operation = get_service_model(model).operation_model(name)
    wire = get_serializer_class(model, operation.service_model.metadata["protocol"])(operation).serialize(answer)
    return Response(wire["body"], wire["status_code"], wire["headers"])
