"""Documents beside the Terraform state in S3: who works on another machine finds there what was applied."""

from __future__ import annotations

from dataclasses import dataclass

from inferform.cloud.api import Api, CallFailedError, SessionFactory
from inferform.errors import InferformError
from inferform.plan import DeploymentPlan

FOLDER = "applied"


@dataclass(frozen=True, slots=True)
class S3Shelf:
    """Documents under one prefix of the state bucket, encrypted and versioned as the bucket is.

    Raises (every method): InferformError with what AWS said.
    """

    api: Api
    bucket: str
    prefix: str

    @classmethod
    def of(cls, plan: DeploymentPlan, session_factory: SessionFactory) -> S3Shelf | None:
        """The shelf beside the state of a plan; None where the state is local."""
        if plan.state.backend != "s3":
            return None
        return cls(Api(session_factory, plan.cloud.region), plan.state.bucket, f"{plan.state.key_prefix}/{FOLDER}/")

    def read(self, name: str) -> bytes | None:
        """A document; None when there is none, or no bucket yet."""
        from botocore.exceptions import BotoCoreError  # type: ignore[import-untyped]

        try:
            body = self.api.call("s3", "get_object", Bucket=self.bucket, Key=self.prefix + name)["Body"]
        except CallFailedError as err:
            if err.code in ("NoSuchKey", "NoSuchBucket"):
                return None
            raise _said(err) from err
        try:
            data: bytes = body.read()
        except BotoCoreError as err:
            raise InferformError(f"s3:GetObject: the answer broke off: {err}") from err
        return data

    def write(self, name: str, data: bytes) -> None:
        """Put a document there."""
        try:
            self.api.call("s3", "put_object", Bucket=self.bucket, Key=self.prefix + name, Body=data, ContentType="application/json")
        except CallFailedError as err:
            raise _said(err) from err

    def names(self) -> list[str]:
        """Every document, sorted."""
        try:
            rows = list(self.api.listed("s3", "list_objects_v2", "Contents", Bucket=self.bucket, Prefix=self.prefix))
        except CallFailedError as err:
            raise _said(err) from err
        return sorted(str(r["Key"]).removeprefix(self.prefix) for r in rows)


def _said(err: CallFailedError) -> InferformError:
    return InferformError(f"the caller may not {err.action}" if err.kind == "denied" else f"{err.action}: {err.words}")
