"""Stack `model_store`: the bucket that holds weights, and its copy in another region."""

from __future__ import annotations

from inferform.stacks.aws import encryption, replication
from inferform.stacks.aws.account import open_account
from inferform.stacks.aws.bucket import bucket
from inferform.stacks.aws.file_system import key_statement
from inferform.stacks.resource import Stack

OUTPUTS = {"bucket_name": "string", "bucket_arn": "string", "key_arn": "string"}


def build(stack: Stack) -> None:
    """Fill the stack."""
    account = open_account(stack)
    store = stack.plan.model_store
    reads = [key_statement(stack.plan, account)] if store.lustre else []
    key = encryption.key(stack, account, "model-store", "Weights in the model store", more=reads)
    models, versioning = bucket(stack, "models", store.bucket, key)
    if store.replica:
        replication.copy(stack, account, store.replica, source=models, source_key=key, versioning=versioning)
    stack.output("bucket_name", models.ref("id"))
    stack.output("bucket_arn", models.ref("arn"))
    stack.output("key_arn", key.ref("arn"))
