"""The AWS double: moto's server on a free loopback port, with behaving fakes in front of what moto lacks.

State lives in this process and is gone with it. Several doubles in one process share moto's state.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, Self

from inferform.sandbox import autoscaling, ec2
from inferform.sandbox.call import Call, read_call
from inferform.sandbox.eks import Eks
from inferform.sandbox.fakes_usual import dressed
from inferform.sandbox.placement_groups import PlacementGroups
from moto.backends import get_backend
from moto.core.config import default_user_config
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from werkzeug.serving import BaseWSGIServer, make_server
from werkzeug.test import run_wsgi_app
from werkzeug.wrappers import Response

# The double keeps placement groups, which those of the fakes for preflight would hide.
_ANSWERED = (("ec2", "DescribePlacementGroups"),)
Wsgi = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


class Application:
    """The WSGI application: a fake answers where there is one, else moto."""

    def __init__(self) -> None:
        self.moto: Wsgi = DomainDispatcherApplication(create_backend_app)
        self.placement_groups = PlacementGroups()
        self.eks = Eks()
        self._lock = threading.Lock()

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        call = read_call(environ)
        if call.service not in ("autoscaling", "ec2", "eks"):
            return self.moto(environ, start_response)
        # moto's backends are not made for threads; the calls that change networks and clusters go one by one.
        with self._lock:
            answered = self._fake(call, environ)
            # A response without content is false to Python, so None is asked for by name.
            response = answered if answered is not None else self._ask_moto(environ)
        return response(environ, start_response)

    def _fake(self, call: Call, environ: dict[str, Any]) -> Response | None:
        def go_on() -> Response:
            return self._ask_moto(environ)

        answers: tuple[Callable[[], Response | None], ...] = (
            lambda: self.placement_groups.answer(call),
            lambda: self.eks.answer(call, go_on),
            lambda: ec2.answer(call, go_on),
            lambda: autoscaling.answer(call, go_on),
        )
        for fake in answers:
            answered = fake()
            if answered is not None:
                return answered
        return None

    def _ask_moto(self, environ: dict[str, Any]) -> Response:
        body, status, headers = run_wsgi_app(self.moto, environ, buffered=True)
        return Response(body, status, headers)


class _Quiet(MotoRequestHandler):
    """Handles requests without a line for each on the error stream."""

    def log(self, type: str, message: str, *args: Any) -> None:
        """Say nothing."""


class Double:
    """A running double. `with Double() as double: double.url`."""

    def __init__(self, port: int = 0) -> None:
        # Roles attach AWS managed policies, which moto only knows when told.
        default_user_config["iam"] = {"load_aws_managed_policies": True}
        self.application = Application()
        self._server: BaseWSGIServer = make_server("127.0.0.1", port, dressed(self.application, answered=_ANSWERED), threaded=True, request_handler=_Quiet)
        self._thread = threading.Thread(target=self._server.serve_forever, name="aws-double", daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def start(self) -> Self:
        # Imported here and not by the first requests, whose threads could wait for each other's imports.
        for service in ("ec2", "eks", "iam", "sts", "s3"):
            get_backend(service)
        self._thread.start()
        return self

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()
