"""The parts of a spec about the cluster itself: who may use it, what it logs, its add-ons and the controllers that call AWS."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from typing import Annotated, Literal

from inferform import names
from inferform.names import Strict
from pydantic import Field

LogType = Literal["api", "audit", "authenticator", "controllerManager", "scheduler"]
LOG_TYPES: tuple[LogType, ...] = ("api", "audit", "authenticator", "controllerManager", "scheduler")
# What CloudWatch Logs takes as a retention. Source: PutRetentionPolicy of the API reference (read 2026-12-01).
RetentionDays = Literal[1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653]
AddonName = Literal["aws-ebs-csi-driver", "aws-fsx-csi-driver", "aws-mountpoint-s3-csi-driver", "coredns", "eks-pod-identity-agent", "kube-proxy", "vpc-cni"]


_RESERVED = tuple(
    map(ipaddress.IPv4Network, ("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16", "224.0.0.0/3"))
)


class Endpoint(Strict):
    """Who reaches the Kubernetes API from outside the VPC; nobody by default. Inside the VPC the endpoint is always private."""

    public_cidrs: names.Cidrs = Field((), description="IPv4 ranges that may reach the public API endpoint; empty: private.", examples=[["203.0.113.0/24"]])

    def faults(self) -> Iterator[tuple[str, str]]:
        # Source: EKS user guide, "Configure network access to cluster API server endpoint": no reserved addresses (read 2026-12-01).
        for cidr in self.public_cidrs:
            inside = next((kept for kept in _RESERVED if ipaddress.IPv4Network(cidr).subnet_of(kept)), None)
            if inside is not None:
                yield (
                    "public_cidrs",
                    f"{cidr} lies in {inside}, which no client on the internet comes from, and EKS refuses it; name the public addresses you come from",
                )


class AccessEntry(Strict):
    """What one IAM principal may do in the cluster, by an EKS access entry."""

    principal: names.PrincipalArn = Field(description="IAM role or user.", examples=["arn:aws:iam::111122223333:role/on-call"])
    level: Literal["view", "edit", "admin", "cluster_admin"] = Field("view", description="EKS access policy.")
    namespaces: Annotated[tuple[names.Name, ...], Field(max_length=32)] = Field((), description="Namespaces it holds for; empty: the whole cluster.")

    def faults(self) -> Iterator[tuple[str, str]]:
        if self.level == "cluster_admin" and self.namespaces:
            yield "namespaces", "cluster_admin holds for the whole cluster; use admin for namespaces, or leave namespaces out"


class Controllers(Strict):
    """Controllers that call AWS. Each gets a role of its own by EKS Pod Identity, and none where it is not asked for."""

    load_balancer: bool | Literal["auto"] = Field("auto", description="AWS Load Balancer Controller; auto: where a gateway is rendered.")
    ebs_csi: bool = Field(True, description="EBS CSI driver, for volumes of Prometheus and other tools.")
    s3_csi: bool = Field(False, description="Mountpoint for S3 CSI driver, which reads the model store.")
    external_secrets: bool = Field(False, description="External Secrets Operator, which reads the deployment's own secrets in Secrets Manager.")


class RemoteWrite(Strict):
    """Metrics kept in Amazon Managed Service for Prometheus: a workspace of the deployment, and a role that may only write to it."""

    service_account: names.Name = Field("prometheus", description="Service account of the Prometheus that writes, in observability.namespace.")


AddonVersions = dict[AddonName, names.AddonVersion]
AccessEntries = Annotated[dict[names.Name, AccessEntry], Field(max_length=64)]
