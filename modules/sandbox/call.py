"""One AWS API call as the double sees it, and the answers it can give."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any
from xml.sax.saxutils import escape

from werkzeug.wrappers import Request, Response

ACCOUNT = "123456789012"
_SCOPE = re.compile(r"Credential=[^/]+/\d{8}/([^/]+)/([^/]+)/aws4_request")


# Services whose calls the double looks into.
_READ = ("autoscaling", "ec2", "eks")


@dataclass(frozen=True)
class Call:
    """`form` holds the parameters of query APIs (EC2, scaling groups), `body` the document of REST APIs (EKS)."""

    service: str
    region: str
    method: str
    path: str
    form: dict[str, str] = field(default_factory=dict)
    body: dict[str, Any] = field(default_factory=dict)
    query: dict[str, str] = field(default_factory=dict)

    @property
    def action(self) -> str:
        return self.form.get("Action", "")

    def listed(self, prefix: str) -> list[str]:
        """Values of a numbered parameter: `GroupName.1`, `GroupName.2`, ..."""
        found = [(int(m.group(1)), v) for k, v in self.form.items() if (m := re.fullmatch(re.escape(prefix) + r"\.(\d+)", k))]
        return [v for _, v in sorted(found)]


def read_call(environ: dict[str, Any]) -> Call:
    """The call in a WSGI environment; its body can be read again afterwards."""
    request = Request(environ)
    match = _SCOPE.search(request.headers.get("Authorization", ""))
    region, service = match.groups() if match else ("us-east-1", "")
    data = request.get_data(cache=True, parse_form_data=False) if service in _READ else b""
    environ.pop("werkzeug.request", None)
    if data:
        environ["wsgi.input"] = request.stream if not data else _again(data)
    form = dict(_pairs(data)) if service in ("autoscaling", "ec2") else {}
    body = _document(data) if service == "eks" and data else {}
    return Call(service, region, request.method, request.path, form, body, request.args.to_dict())


def _again(data: bytes) -> Any:
    import io

    return io.BytesIO(data)


def _pairs(data: bytes) -> list[tuple[str, str]]:
    from urllib.parse import parse_qsl

    return parse_qsl(data.decode("utf-8", errors="replace"), keep_blank_values=True)


def _document(data: bytes) -> dict[str, Any]:
    try:
        found = json.loads(data)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def ec2_answer(action: str, inner: str) -> Response:
    """A successful answer of the EC2 API; `inner` is XML."""
    text = f'<{action}Response xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><requestId>sandbox</requestId>{inner}</{action}Response>'
    return Response(text, 200, content_type="text/xml")


def ec2_error(code: str, message: str) -> Response:
    """A refusal of the EC2 API."""
    text = f"<Response><Errors><Error><Code>{escape(code)}</Code><Message>{escape(message)}</Message></Error></Errors><RequestID>sandbox</RequestID></Response>"
    return Response(text, 400, content_type="text/xml")


def json_answer(document: dict[str, Any]) -> Response:
    """A successful answer of a REST API."""
    return Response(json.dumps(document, sort_keys=True), 200, content_type="application/json")


def json_error(status: int, code: str, message: str) -> Response:
    """A refusal of a REST API."""
    response = Response(json.dumps({"message": message}), status, content_type="application/json")
    response.headers["x-amzn-ErrorType"] = code
    return response
