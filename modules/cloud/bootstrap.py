"""Makes the state bucket of a plan, or completes it. Run again it changes nothing; it touches no bucket that is not its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from inferform.cloud import state_bucket
from inferform.cloud.api import Api, CallFailedError, SessionFactory
from inferform.cloud.facts import base_region
from inferform.cloud.results import BootstrapResult, BucketStep
from inferform.cloud.state_bucket import PROPERTIES, Bucket, Look, Property
from inferform.errors import InferformError, StateError
from inferform.plan import DeploymentPlan

# Takes how many of how many steps are done.
Progress = Callable[[int, int], None]


def bootstrap(
    plan: DeploymentPlan, session_factory: SessionFactory, *, dry_run: bool = False, adopt: bool = False, progress: Progress = lambda done, total: None
) -> BootstrapResult:
    """Bring the state bucket to what it must be; `dry_run` only tells what would be done.

    `adopt` takes a bucket that holds nothing but Terraform state and was made by somebody else.
    Raises: StateError when the bucket must not be touched, with every reason; InferformError when AWS refuses a call.
    """
    region = plan.cloud.region
    if plan.state.backend == "local":
        return BootstrapResult(
            name=plan.name, environment=plan.environment, backend="local", bucket=None, region=region, account=None, dry_run=dry_run, changed=False, steps=(),
            notes=("state.backend is local: the state lies in the deployment's folder and needs no bucket",),
        )  # fmt: skip
    api = Api(session_factory, region)
    total = len(PROPERTIES) + 1
    with _told(plan.state.bucket):
        account = str(api.call("sts", "get_caller_identity", region=base_region(region))["Account"])
        bucket = state_bucket.find(api, account, plan.state.bucket)
        looks = [(p, p.look(bucket)) for p in PROPERTIES] if bucket.exists and bucket.region == region else []
        _refuse(plan, bucket, looks, adopt=adopt)
        if not bucket.exists and not dry_run:
            state_bucket.create(bucket)
        steps = [_step("bucket", "there" if bucket.exists else "missing", f"in {region}", right=bool(bucket.exists), new=True, dry_run=dry_run)]
        progress(1, total)
        for at, prop in enumerate(PROPERTIES, 2):
            look = dict(looks).get(prop) or (Look("missing", False) if dry_run else prop.look(bucket))
            if not look.right and not dry_run:
                prop.put(bucket, look)
            steps.append(_step(prop.name, look.found, prop.wanted, right=look.right, new=not bucket.exists, dry_run=dry_run))
            progress(at, total)
    changed = not dry_run and any(s.action != "kept" for s in steps)
    return BootstrapResult(
        name=plan.name, environment=plan.environment, backend="s3", bucket=bucket.name, region=region, account=account, dry_run=dry_run, changed=changed,
        steps=tuple(steps),
    )  # fmt: skip


def refusals(plan: DeploymentPlan, bucket: Bucket, looks: list[tuple[Property, Look]], *, adopt: bool) -> tuple[str, ...]:
    """Why the bucket must not be touched; empty when it may."""
    if bucket.exists is None:
        return ("it belongs to another account; set state.bucket to another name (bucket names are shared by everybody)",)
    if not bucket.exists:
        return ()
    if bucket.region != plan.cloud.region:
        return (f"it is in {bucket.region} and the plan reads it in {plan.cloud.region}; set state.bucket to another name",)
    found = [look.conflict for _, look in looks if look.conflict]
    if not state_bucket.marked(bucket):
        count, others = state_bucket.strangers(bucket)
        if others:
            found.append(f"it holds other things than Terraform state ({', '.join(others)}); state wants a bucket of its own")
        elif count and not adopt and any(not look.right for _, look in looks):
            found.append("it holds state and was made by somebody else; --adopt lets bootstrap change it")
    return tuple(found)


def _refuse(plan: DeploymentPlan, bucket: Bucket, looks: list[tuple[Property, Look]], *, adopt: bool) -> None:
    found = refusals(plan, bucket, looks, adopt=adopt)
    if found:
        raise StateError(f"bucket {bucket.name} is left as it is: {'; '.join(found)}")


def _step(name: str, found: str, wanted: str, *, right: bool, new: bool, dry_run: bool) -> BucketStep:
    if right:
        return BucketStep(name=name, found=found, wanted=wanted, action="kept")
    if dry_run:
        return BucketStep(name=name, found=found, wanted=wanted, action="would create" if new else "would change")
    return BucketStep(name=name, found=found, wanted=wanted, action="created" if new else "changed")


@contextmanager
def _told(bucket: str) -> Iterator[None]:
    """Failed calls as errors that say what to do."""
    try:
        yield
    except CallFailedError as err:
        if err.code == "BucketAlreadyExists":
            raise StateError(f"bucket {bucket} is left as it is: it belongs to another account; set state.bucket to another name") from err
        if err.code == "InvalidBucketAclWithObjectOwnership":
            raise StateError(
                f"bucket {bucket}: its access list grants other accounts access; remove those grants (aws s3api put-bucket-acl --acl private) first"
            ) from err
        if err.code == "OperationAborted":
            raise StateError(f"bucket {bucket}: S3 is busy with another change of it; run bootstrap again in a minute") from err
        what = {
            "credentials": f"no valid AWS credentials: {err.words}; sign in (aws sso login, aws configure) or give the job a role",
            "denied": f"AWS does not let the caller {err.action} on bucket {bucket}; inferform bootstrap --policies prints the policy that does",
            "unreachable": f"AWS does not answer {err.action}: {err.words}; check network and proxy",
        }.get(err.kind, f"AWS refused {err.action}: {err.words} ({err.code})")
        raise InferformError(f"{what}; what is done stays, so run bootstrap again") from err
