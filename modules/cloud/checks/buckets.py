"""The state bucket as bootstrap leaves it, and the name of the model store."""

from __future__ import annotations

from collections.abc import Iterator

from inferform.cloud import state_bucket
from inferform.cloud.bootstrap import refusals
from inferform.cloud.check import Answer, Check, shell
from inferform.cloud.site import Site


def _state(site: Site) -> Iterator[Answer]:
    plan = site.plan
    subject = f"bucket {plan.state.bucket}"
    if plan.state.backend == "local":
        yield Answer("ok", "state", "local files", "no bucket")
        return
    command = shell("inferform", "bootstrap", site.spec, "--env", plan.environment)
    bucket = state_bucket.find(site.api, site.account or "", plan.state.bucket)
    looks = [(p, p.look(bucket)) for p in state_bucket.PROPERTIES] if bucket.exists and bucket.region == plan.cloud.region else []
    reasons = refusals(plan, bucket, looks, adopt=True)
    if reasons:
        yield Answer("blocker", subject, "; ".join(reasons), "a bucket for Terraform state", "choose another name in state.bucket")
    elif not bucket.exists:
        yield Answer("blocker", subject, "not there", "the bucket that holds Terraform state", "let bootstrap make it", command)
    else:
        for prop, look in looks:
            # The mark says who made the bucket; the state is as safe without it.
            if not look.right and prop.name != "tags":
                yield Answer("warning", f"{subject} {prop.name}", look.found, prop.wanted, "let bootstrap set it", command)
        if all(look.right for prop, look in looks if prop.name != "tags"):
            yield Answer("ok", subject, "there, versioned, encrypted, private, TLS only")


def _models(site: Site) -> Iterator[Answer]:
    name = site.plan.model_store.bucket
    bucket = state_bucket.find(site.api, site.account or "", name)
    subject = f"bucket {name}"
    if bucket.exists is None:
        yield Answer("blocker", subject, "belongs to another account", "a free name for the model store", "rename the deployment or the environment")
    elif not bucket.exists:
        yield Answer("ok", subject, "not there yet", "made by apply")
    else:
        tags = {t["Key"]: t["Value"] for t in bucket.read("get_bucket_tagging", "NoSuchTagSet").get("TagSet") or ()}
        if site.owns(tags):
            yield Answer("ok", subject, "there, made by this deployment")
        else:
            yield Answer(
                "blocker",
                subject,
                "made by something else in this account",
                "a free name for the model store",
                "remove that bucket, or rename the deployment or the environment",
            )


CHECKS = (Check("STA001", "State bucket", _state), Check("STA002", "Model store", _models))
