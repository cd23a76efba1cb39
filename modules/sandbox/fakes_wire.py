"""Puts fakes of whole API operations in front of the double: parsed and written by AWS's own service models.

A fake is a function of its parameters; what it gives is written as the service would, for whichever protocol that is. Calls that
no fake is for go on to the application behind.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from inferform.sandbox.call import ec2_error, json_error
from moto.core.parse import PROTOCOL_PARSERS
from moto.core.request import Request
from moto.core.routing import get_service_router
from moto.core.serialize import get_serializer_class
from moto.core.utils import get_service_model
from werkzeug.exceptions import NotFound
from werkzeug.wrappers import Response

Json = dict[str, Any]
Wsgi = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]
# Parameters and region -> the answer.
Fake = Callable[[Json, str], Json]

_SCOPE = re.compile(r"Credential=[^/]+/\d{8}/([^/]+)/([^/]+)/aws4_request")
# Signing names that are not the name of the service model.
_MODELS = {"servicequotas": "service-quotas"}
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
        found = read_operation(environ, {service for service, _ in self.fakes})
        if found is None:
            return None
        model, name, region, parameters = found
        fake = self.fakes.get((model, name))
        if fake is None:
            return None
        try:
            return _written(model, name, fake(parameters(), region))
        except RefusedError as err:
            return _refused(model, err)
        except NotImplementedError:
            return None


def read_operation(environ: dict[str, Any], services: Container[str]) -> tuple[str, str, str, Callable[[], Json]] | None:
    """(service model, operation, region, its parameters) of a signed call to one of `services`; None for anything else.

    The body can be read again afterwards; large and streamed ones are left unread.
    """
    match = _SCOPE.search(environ.get("HTTP_AUTHORIZATION", ""))
    length = int(environ.get("CONTENT_LENGTH") or 0)
    region, signed = match.groups() if match else ("", "")
    model = _MODELS.get(signed, signed)
    if model not in services or length > _MOST_BYTES or "HTTP_TRANSFER_ENCODING" in environ:
        return None
    body = environ["wsgi.input"].read(length) if length else b""

    def request() -> Request:
        return Request({**environ, "wsgi.input": io.BytesIO(body)})

    environ["wsgi.input"] = io.BytesIO(body)
    try:
        operation, labels = get_service_router(model).match(request())
    except NotFound:
        return None

    def parameters() -> Json:
        given, protocol = request(), operation.service_model.metadata["protocol"]
        wire: Any = {
            "method": given.method, "values": given.values, "headers": given.headers, "body": body, "url_path": given.path, "url_params": labels,
        }  # fmt: skip
        parsed: Json = PROTOCOL_PARSERS[protocol](operation).parse(wire)
        return parsed

    return model, str(operation.name), region, parameters


def _refused(model: str, err: RefusedError) -> Response:
    if model in ("ec2", "eks"):
        return ec2_error(err.code, err.message) if model == "ec2" else json_error(err.status, err.code, err.message)
    text = json.dumps({"__type": err.code, "message": err.message})
    return Response(text, err.status, content_type="application/x-amz-json-1.1")


def _written(model: str, name: str, answer: Json) -> Response:
    operation = get_service_model(model).operation_model(name)
    wire = get_serializer_class(model, operation.service_model.metadata["protocol"])(operation).serialize(answer)
    return Response(wire["body"], wire["status_code"], wire["headers"])
