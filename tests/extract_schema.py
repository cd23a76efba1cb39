"""Write stacks/aws/schema.json from the published bindings of the provider; a tool for developers.

    python tests/extract_schema.py [WHEEL]

The bindings' wheel carries the provider's whole typed surface as a jsii assembly (JSON in a tarball). It is read as data and
never imported: importing it takes 40 s and over 1 GB. Without WHEEL, pip downloads the pinned one.
"""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path
from typing import Any

BINDINGS, VERSION, READ = "cdktf-cdktf-provider-aws", "21.22.1", "2026-12-01"
TARGET = Path(__file__).resolve().parents[1] / "stacks" / "aws" / "schema.json"

# What the stacks use; a type that is missing here cannot be synthesized.
RESOURCES = (
    "aws_autoscaling_group",
    "aws_autoscaling_lifecycle_hook",
    "aws_autoscaling_schedule",
    "aws_cloudwatch_event_rule",
    "aws_cloudwatch_event_target",
    "aws_cloudwatch_log_group",
    "aws_default_security_group",
    "aws_eip",
    "aws_eks_access_entry",
    "aws_eks_access_policy_association",
    "aws_eks_addon",
    "aws_eks_cluster",
    "aws_eks_node_group",
    "aws_eks_pod_identity_association",
    "aws_flow_log",
    "aws_fsx_data_repository_association",
    "aws_fsx_lustre_file_system",
    "aws_iam_instance_profile",
    "aws_iam_role",
    "aws_iam_role_policy",
    "aws_iam_role_policy_attachment",
    "aws_internet_gateway",
    "aws_kms_alias",
    "aws_kms_key",
    "aws_launch_template",
    "aws_nat_gateway",
    "aws_placement_group",
    "aws_prometheus_workspace",
    "aws_route",
    "aws_route_table",
    "aws_route_table_association",
    "aws_s3_bucket",
    "aws_s3_bucket_lifecycle_configuration",
    "aws_s3_bucket_ownership_controls",
    "aws_s3_bucket_policy",
    "aws_s3_bucket_public_access_block",
    "aws_s3_bucket_replication_configuration",
    "aws_s3_bucket_server_side_encryption_configuration",
    "aws_s3_bucket_versioning",
    "aws_security_group",
    "aws_security_group_rule",
    "aws_sqs_queue",
    "aws_sqs_queue_policy",
    "aws_subnet",
    "aws_vpc",
    "aws_vpc_endpoint",
)
DATA_SOURCES = ("aws_caller_identity", "aws_ec2_instance_type_offerings", "aws_eks_addon_version", "aws_partition")

_LINK = re.compile(r"/([0-9.]+)/docs/?(resources|data-sources)?/?([a-z0-9_]*)#([A-Za-z0-9_]+)")


def download(folder: Path) -> Path:
    """The pinned wheel, fetched by pip into `folder`."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), f"{BINDINGS}=={VERSION}"]
    subprocess.run(command, check=True, capture_output=True)
    return next(folder.glob("*.whl"))


def assembly(wheel: Path) -> dict[str, Any]:
    """The jsii assembly inside the tarball inside the wheel."""
    with zipfile.ZipFile(wheel) as archive:
        tarball = next(n for n in archive.namelist() if n.endswith(".tgz"))
        with archive.open(tarball) as raw, tarfile.open(fileobj=raw, mode="r:gz") as tar:
            for member in tar:
                if member.name.endswith((".jsii", ".jsii.gz")) and (stream := tar.extractfile(member)):
                    data = stream.read()
                    return dict(json.loads(gzip.decompress(data) if member.name.endswith(".gz") else data))
    raise SystemExit(f"no jsii assembly in {wheel}")


def snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()


def _docs(prop: dict[str, Any]) -> str:
    docs = prop.get("docs", {})
    return f"{docs.get('summary', '')} {docs.get('remarks', '')}"


class Extractor:
    """Turns the structs and classes of one assembly into attribute tables."""

    def __init__(self, types: dict[str, Any]):
        self.types = types

    def kind(self, ref: dict[str, Any], *, block: bool) -> tuple[str, str | None]:
        """(type in our spelling, name of the nested struct or output class)."""
        if "primitive" in ref:
            return ref["primitive"], None
        if "collection" in ref:
            inner, nested = self.kind(ref["collection"]["elementtype"], block=block)
            if nested:
                return ("blocks" if block else "objects"), nested
            return ("map" if ref["collection"]["kind"] == "map" else "list") + f"({inner})", None
        if "union" in ref:
            options = [self.kind(o, block=block) for o in ref["union"]["types"] if o.get("fqn") != "cdktf.IResolvable"]
            return next((o for o in options if o[1]), options[0])
        fqn = ref["fqn"]
        known = self.types.get(fqn)
        if known and known["kind"] == "interface":
            return ("block" if block else "object"), fqn
        base = (known or {}).get("base")
        if base == "cdktf.ComplexList":
            return "objects", re.sub(r"List$", "OutputReference", fqn)
        if base == "cdktf.ComplexObject":
            return "object", fqn
        maps = {"cdktf.StringMap": "map(string)", "cdktf.NumberMap": "map(number)", "cdktf.BooleanMap": "map(boolean)", "cdktf.AnyMap": "map(any)"}
        return maps.get(fqn, "any"), None

    def settable(self, fqn: str) -> dict[str, Any]:
        """Attributes of a configuration struct."""
        out: dict[str, Any] = {}
        for prop in self.types[fqn].get("properties", []):
            link = _LINK.search(_docs(prop))
            name = link.group(4) if link else snake(prop["name"])
            kind, nested = self.kind(prop["type"], block=_docs(prop).startswith(f"{name} block."))
            row: dict[str, Any] = {"type": kind}
            if not prop.get("optional"):
                row["required"] = True
            if nested:
                row["attributes"] = self.settable(nested)
            out[name] = row
        return out

    def readable(self, fqn: str, known: dict[str, Any]) -> dict[str, Any]:
        """`known` with what the provider computes, read from the class that gives it out."""
        out = dict(known)
        for prop in self.types[fqn].get("properties", []):
            if prop.get("static") or prop["name"].endswith("Input") or prop["name"] in ("internalValue", "fqn", "timeouts"):
                continue
            name = snake(prop["name"])
            kind, nested = self.kind(prop["type"], block=False)
            nested = nested if nested and self.types.get(nested, {}).get("kind") == "class" else None
            if name not in out:
                out[name] = {"type": kind, "computed": True}
            if nested:
                out[name] = {**out[name], "attributes": self.readable(nested, out[name].get("attributes", {}))}
        return out


def extract(wheel: Path) -> dict[str, Any]:
    """The schema document for the types that the stacks use."""
    content = assembly(wheel)
    types = content["types"]
    extractor = Extractor(types)
    found: dict[str, dict[str, Any]] = {"resource": {}, "data": {}}
    version = ""
    for fqn, definition in types.items():
        where = {"cdktf.TerraformResource": "resource", "cdktf.TerraformDataSource": "data"}.get(definition.get("base", ""))
        if not where or f"{fqn}Config" not in types:
            continue
        link = next((m for p in types[f"{fqn}Config"].get("properties", []) if (m := _LINK.search(_docs(p)))), None)
        link = link or re.search(r"/([0-9.]+)/docs/(resources|data-sources)/([a-z0-9_]+)", _docs(definition))
        name = f"aws_{link.group(3)}" if link else ""
        if name in (RESOURCES if where == "resource" else DATA_SOURCES):
            found[where][name] = extractor.readable(fqn, extractor.settable(f"{fqn}Config"))
            version = link.group(1) if link else version
    provider = next(f for f in types if f.endswith(".AwsProviderConfig"))
    missing = [n for n in (*RESOURCES, *DATA_SOURCES) if n not in found["resource"] and n not in found["data"]]
    if missing:
        raise SystemExit(f"not in {wheel.name}: {', '.join(missing)}")
    return {
        "source": f"{BINDINGS} {VERSION}, jsii assembly (MPL-2.0; attribute names and types only)",
        "read": READ,
        "provider": "hashicorp/aws",
        "provider_version": version,
        "configuration": extractor.settable(provider),
        **found,
    }


def text(document: dict[str, Any]) -> str:
    """The document as it is stored: sorted, one top-level attribute a line."""
    return json.dumps(document, indent=None, sort_keys=True, separators=(",", ":")).replace('},"', '},\n"') + "\n"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        wheel = Path(sys.argv[1]) if len(sys.argv) > 1 else download(Path(folder))
        TARGET.write_text(text(extract(wheel)), encoding="utf-8")


if __name__ == "__main__":
    main()
