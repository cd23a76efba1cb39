"""Every call to AWS goes through here: one place for sessions, retries, time limits and what a refusal means."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

# Makes a boto3 Session, or something with its `client(service, **options)`.
SessionFactory = Callable[[], Any]

# credentials: none, or not valid. denied: an IAM permission is missing. unreachable: no answer. throttled: too many calls.
# refused: AWS answered with an error; `code` says which.
Kind = Literal["credentials", "denied", "unreachable", "throttled", "refused"]

_ATTEMPTS = 5
_NOT_AWS = "the answer is not from AWS; does a proxy stand between?"
_CONNECT_S, _READ_S = 5.0, 15.0

_CREDENTIAL_CODES = frozenset(
    {
        "AuthFailure", "ExpiredToken", "ExpiredTokenException", "IncompleteSignature", "InvalidAccessKeyId", "InvalidClientTokenId",
        "InvalidSignatureException", "RequestExpired", "SignatureDoesNotMatch", "TokenRefreshRequired", "UnrecognizedClientException",
    }
)  # fmt: skip
_DENIED_CODES = frozenset(
    {"403", "AccessDenied", "AccessDeniedException", "AuthorizationError", "ForbiddenException", "NotAuthorized", "UnauthorizedOperation"}
)
_THROTTLED_CODES = frozenset(
    {
        "BandwidthLimitExceeded", "LimitExceededException", "PriorRequestNotComplete", "RequestLimitExceeded", "RequestThrottled", "RequestThrottledException",
        "SlowDown", "Throttling", "ThrottlingException", "ThrottledException", "TooManyRequestsException", "EC2ThrottledException",
    }
)  # fmt: skip
# botocore's own exceptions, by name so that nothing is imported to know them.
_CREDENTIAL_ERRORS = frozenset(
    {
        "ConfigNotFound", "ConfigParseError", "CredentialRetrievalError", "InfiniteLoopConfigError", "InvalidConfigError", "LoginAuthorizationCodeError",
        "LoginError", "LoginInsufficientPermissions", "LoginRefreshRequired", "LoginTokenLoadError", "MissingDependencyException", "NoAuthTokenError",
        "NoCredentialsError", "PartialCredentialsError", "ProfileNotFound", "SSOError", "SSOTokenLoadError", "TokenRetrievalError",
        "UnauthorizedSSOTokenError", "UnknownCredentialError",
    }
)  # fmt: skip

# IAM actions that are not called as the API operation is. Source: service authorization reference, Amazon S3 (read 2026-12-01).
S3_ACTIONS = {
    "DeleteBucketLifecycle": "PutLifecycleConfiguration",
    "DeleteBucketEncryption": "PutEncryptionConfiguration",
    "DeleteBucketOwnershipControls": "PutBucketOwnershipControls",
    "DeletePublicAccessBlock": "PutBucketPublicAccessBlock",
    "GetBucketAccelerateConfiguration": "GetAccelerateConfiguration",
    "GetBucketCors": "GetBucketCORS",
    "GetBucketEncryption": "GetEncryptionConfiguration",
    "GetBucketLifecycleConfiguration": "GetLifecycleConfiguration",
    "GetBucketReplication": "GetReplicationConfiguration",
    "GetObjectLockConfiguration": "GetBucketObjectLockConfiguration",
    "GetPublicAccessBlock": "GetBucketPublicAccessBlock",
    "HeadBucket": "ListBucket",
    "HeadObject": "GetObject",
    "ListBuckets": "ListAllMyBuckets",
    "ListObjectVersions": "ListBucketVersions",
    "ListObjectsV2": "ListBucket",
    "PutBucketEncryption": "PutEncryptionConfiguration",
    "PutBucketLifecycleConfiguration": "PutLifecycleConfiguration",
    "PutBucketReplication": "PutReplicationConfiguration",
    "PutPublicAccessBlock": "PutBucketPublicAccessBlock",
}


class CallFailedError(Exception):
    """A call that gave no result. `action` is the IAM action (`ec2:DescribeVpcs`), `code` the error code AWS gave, if any."""

    def __init__(self, kind: Kind, action: str, words: str, code: str = "", region: str = ""):
        self.kind, self.action, self.words, self.code, self.region = kind, action, words, code, region
        super().__init__(f"{action}: {words}")


@dataclass(frozen=True, slots=True)
class EndpointSession:
    """A session whose clients all talk to one address: a double of AWS."""

    session: Any
    url: str

    def client(self, service: str, **options: Any) -> Any:
        return self.session.client(service, endpoint_url=self.url, **options)


def sessions(sandbox: str | None = None) -> SessionFactory:
    """Sessions with the caller's own credentials, found as the AWS CLI finds them; with `sandbox`, of the double at that address."""

    def make() -> Any:
        import boto3  # type: ignore[import-untyped]

        # A double takes any signature; it only has to be there.
        return boto3.Session() if sandbox is None else EndpointSession(boto3.Session("sandbox", "sandbox"), sandbox)

    return make


class Api:
    """Calls in one region with botocore's standard retries. Made for threads: clients are shared, their creation is not."""

    def __init__(self, session_factory: SessionFactory, region: str):
        self.region = region
        self._factory = session_factory
        self._session: Any = None
        self._clients: dict[tuple[str, str], Any] = {}
        self._lock = threading.Lock()

    def call(self, service: str, operation: str, *, region: str = "", **parameters: Any) -> dict[str, Any]:
        """The answer to `operation` (`describe_vpcs`), without paging. Raises: CallFailedError."""
        where = region or self.region
        with _Translated(service, operation, where) as translated:
            client = translated.client = self._client(service, where)
            answer: dict[str, Any] = getattr(client, operation)(**parameters)
        return answer

    def listed(self, service: str, operation: str, key: str, *, region: str = "", **parameters: Any) -> Iterator[Any]:
        """Every item under `key` on all pages. Raises: CallFailedError."""
        where = region or self.region
        with _Translated(service, operation, where) as translated:
            client = translated.client = self._client(service, where)
            for page in client.get_paginator(operation).paginate(**parameters):
                yield from page.get(key) or ()

    def _client(self, service: str, region: str) -> Any:
        with self._lock:
            if (service, region) not in self._clients:
                from botocore.config import Config  # type: ignore[import-untyped]

                config = Config(
                    retries={"mode": "standard", "total_max_attempts": _ATTEMPTS}, connect_timeout=_CONNECT_S, read_timeout=_READ_S, max_pool_connections=32
                )
                self._session = self._session or self._factory()
                self._clients[service, region] = self._session.client(service, region_name=region, config=config)
            return self._clients[service, region]


class _Translated:
    """Turns what botocore raises into a CallFailedError; faults of our own (wrong parameters) pass through."""

    def __init__(self, service: str, operation: str, region: str):
        self.service, self.operation, self.region = service, operation, region
        self.client: Any = None

    def __enter__(self) -> _Translated:
        return self

    def __exit__(self, kind: type[BaseException] | None, err: BaseException | None, trace: object) -> None:
        from botocore.exceptions import BotoCoreError, ClientError, ParamValidationError  # type: ignore[import-untyped]
        from botocore.parsers import ResponseParserError  # type: ignore[import-untyped]

        if isinstance(err, ClientError):
            raise self._refused(err) from err
        if isinstance(err, ResponseParserError):
            raise CallFailedError("unreachable", self.action, _NOT_AWS, region=self.region) from err
        if isinstance(err, BotoCoreError) and not isinstance(err, ParamValidationError):
            credentials = type(err).__name__ in _CREDENTIAL_ERRORS
            raise CallFailedError("credentials" if credentials else "unreachable", self.action, _one_line(str(err)), region=self.region) from err

    @property
    def action(self) -> str:
        """The IAM action of the call."""
        camel = "".join(word.capitalize() for word in self.operation.split("_"))
        if self.client is None:
            return f"{self.service}:{camel}"
        name = self.client.meta.method_to_api_mapping.get(self.operation, camel)
        prefix = self.client.meta.service_model.signing_name
        return f"{prefix}:{S3_ACTIONS.get(name, name) if prefix == 's3' else name}"

    def _refused(self, err: Any) -> CallFailedError:
        code = str(err.response.get("Error", {}).get("Code", ""))
        if str(err.response.get("Error", {}).get("Message", "")).lstrip().startswith("<"):
            # A page for people: no service of AWS answers with one.
            return CallFailedError("unreachable", self.action, f"{_NOT_AWS} (status {code})", code, self.region)
        kind: Kind = "refused"
        if code in _CREDENTIAL_CODES:
            kind = "credentials"
        elif code in _DENIED_CODES:
            kind = "denied"
        elif code in _THROTTLED_CODES:
            kind = "throttled"
        return CallFailedError(kind, self.action, _one_line(str(err.response.get("Error", {}).get("Message", "")) or code), code, self.region)


def _one_line(text: str) -> str:
    return " ".join(text.split())[:300]
