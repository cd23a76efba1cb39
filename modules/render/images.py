"""Images of what is rendered around the engines, pinned. Read 2026-12-01; a newer tag goes here and nowhere else."""

from __future__ import annotations

# NVIDIA/k8s-device-plugin and NVIDIA/dcgm-exporter releases, as NVIDIA's GPU operator pairs them.
NVIDIA_DEVICE_PLUGIN = "nvcr.io/nvidia/k8s-device-plugin:v0.18.1"
MIG_MANAGER = "nvcr.io/nvidia/cloud-native/k8s-mig-manager:v0.13.1"
DCGM_EXPORTER = "nvcr.io/nvidia/k8s/dcgm-exporter:4.5.3-4.8.2-distroless"
# The registry and tag that the plugin's own chart uses in every region.
EFA_DEVICE_PLUGIN = "602401143452.dkr.ecr.us-west-2.amazonaws.com/eks/aws-efa-k8s-device-plugin:v0.5.20"
# bash, coreutils, curl and the AWS CLI: all that the model scripts use.
AWS_CLI = "public.ecr.aws/aws-cli/aws-cli:2.31.29"
BUSYBOX = "public.ecr.aws/docker/library/busybox:1.37.0"
# vllm-project/router releases, tagged as its publishing script does; the tests run the wheel of the same release.
VLLM_ROUTER = "vllm/vllm-router:v0.1.17"
PAUSE = "registry.k8s.io/pause:3.10"


def pinned() -> dict[str, str]:
    """Name -> tag of every image above."""
    found = [value for name, value in globals().items() if name.isupper()]
    return {reference.rsplit("/", 1)[-1].partition(":")[0]: reference.rpartition(":")[2] for reference in found}
