"""What moto's EKS lacks or answers otherwise than EKS does: add-ons, updates, node group answers and refusals.

Source: EKS API reference (read 2026-12-01). State lies beside moto's clusters and goes with them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from inferform.sandbox.call import ACCOUNT, Call, json_answer, json_error
from moto.ec2.models import ec2_backends
from moto.eks.models import Cluster, eks_backends
from werkzeug.wrappers import Response

Json = dict[str, Any]
# moto answers this for every node group; EKS answers it only when the request had it, and terraform would replace the group.
_DEFAULT_REMOTE_ACCESS = {"ec2SshKey": "eksKeypair"}
_MADE_AT = 1_700_000_000.0
_CLUSTER = r"/clusters/(?P<cluster>[^/]+)"
_ADDON = _CLUSTER + r"/addons/(?P<addon>[^/]+)"
_GROUP = _CLUSTER + r"/node-groups/(?P<group>[^/]+)"


def _addon_versions() -> dict[str, tuple[str, ...]]:
    """Add-ons that the double offers, newest version first."""
    names = ("vpc-cni", "coredns", "kube-proxy", "eks-pod-identity-agent", "aws-ebs-csi-driver", "aws-fsx-csi-driver", "aws-mountpoint-s3-csi-driver")
    return dict.fromkeys((*names, "metrics-server", "eks-node-monitoring-agent"), ("v1.99.0-eksbuild.1", "v1.98.0-eksbuild.1"))


@dataclass
class Eks:
    """Add-ons by (region, cluster, name) and the updates that were asked for."""

    addons: dict[tuple[str, str, str], Json] = field(default_factory=dict)
    updates: dict[str, Json] = field(default_factory=dict)
    remote_access: set[tuple[str, str, str]] = field(default_factory=set)

    def answer(self, call: Call, go_on: Callable[[], Response]) -> Response | None:
        """The answer to a call to EKS; None for every other call. `go_on` lets moto answer."""
        if call.service != "eks":
            return None
        routes: tuple[tuple[str, str, Callable[..., Response | None]], ...] = (
            ("GET", r"/addons/supported-versions", self._versions),
            ("POST", _CLUSTER + r"/addons", self._create_addon),
            ("GET", _CLUSTER + r"/addons", self._list_addons),
            ("GET", _ADDON, self._describe_addon),
            ("DELETE", _ADDON, self._delete_addon),
            ("POST", _ADDON + r"/update", self._update_addon),
            ("POST", _CLUSTER + r"/updates", self._update_version),
            ("POST", _CLUSTER + r"/update-config", self._update_cluster),
            ("GET", _CLUSTER + r"/updates/(?P<update>[^/]+)", self._describe_update),
            ("POST", _CLUSTER + r"/node-groups", self._check_group),
            ("POST", _GROUP + r"/update-config", self._check_scaling),
            ("POST", _GROUP + r"/update-version", self._update_group_version),
        )
        for method, pattern, handler in routes:
            match = re.fullmatch(pattern, call.path) if method == call.method else None
            if match:
                names = match.groupdict()
                cluster = self._clusters(call).get(names["cluster"]) if "cluster" in names else None
                if "cluster" in names and cluster is None:
                    return json_error(404, "ResourceNotFoundException", f"No cluster found for name: {names['cluster']}.")
                answered = handler(call, cluster, names)
                if answered is not None:
                    return answered
        return self._mend(call, go_on())

    @staticmethod
    def _clusters(call: Call) -> dict[str, Cluster]:
        found: dict[str, Cluster] = eks_backends[ACCOUNT][call.region].clusters
        return found

    # Add-ons

    def _versions(self, call: Call, cluster: None, names: dict[str, str]) -> Response:
        wanted, kubernetes = call.query.get("addonName"), call.query.get("kubernetesVersion", "1.33")
        offered = [
            {
                "addonName": name,
                "addonVersions": [
                    {"addonVersion": v, "compatibilities": [{"clusterVersion": kubernetes, "defaultVersion": i == 0, "platformVersions": ["*"]}]}
                    for i, v in enumerate(versions)
                ],
            }
            for name, versions in sorted(_addon_versions().items())
            if wanted in (None, name)
        ]
        return json_answer({"addons": offered})

    def _create_addon(self, call: Call, cluster: Cluster, names: dict[str, str]) -> Response:
        name = str(call.body.get("addonName", ""))
        versions = _addon_versions().get(name)
        if versions is None:
            return json_error(400, "InvalidParameterException", f"Addon {name} specified is not supported")
        if (call.region, cluster.name, name) in self.addons:
            return json_error(409, "ResourceInUseException", f"Addon already exists with name {name} and cluster name {cluster.name}")
        arn = f"arn:aws:eks:{call.region}:{ACCOUNT}:addon/{cluster.name}/{name}/sandbox"
        addon: Json = {
            "addonName": name,
            "clusterName": cluster.name,
            "status": "ACTIVE",
            "addonVersion": call.body.get("addonVersion") or versions[0],
            "health": {"issues": []},
            "addonArn": arn,
            "createdAt": _MADE_AT,
            "modifiedAt": _MADE_AT,
            "tags": call.body.get("tags") or {},
        }
        addon |= {k: call.body[k] for k in ("serviceAccountRoleArn", "configurationValues") if call.body.get(k)}
        self.addons[call.region, cluster.name, name] = addon
        return json_answer({"addon": addon})

    def _list_addons(self, call: Call, cluster: Cluster, names: dict[str, str]) -> Response:
        return json_answer({"addons": sorted(n for region, c, n in self.addons if (region, c) == (call.region, cluster.name))})

    def _found(self, call: Call, cluster: Cluster, names: dict[str, str]) -> Json | None:
        return self.addons.get((call.region, cluster.name, names["addon"]))

    def _describe_addon(self, call: Call, cluster: Cluster, names: dict[str, str]) -> Response:
        addon = self._found(call, cluster, names)
        return json_answer({"addon": addon}) if addon else _no_addon(names)

    def _delete_addon(self, call: Call, cluster: Cluster, names: dict[str, str]) -> Response:
        addon = self.addons.pop((call.region, cluster.name, names["addon"]), None)
        return json_answer({"addon": {**addon, "status": "DELETING"}}) if addon else _no_addon(names)

    def _update_addon(self, call: Call, cluster: Cluster, names: dict[str, str]) -> Response:
        addon = self._found(call, cluster, names)
        if addon is None:
            return _no_addon(names)
        addon |= {k: call.body[k] for k in ("addonVersion", "serviceAccountRoleArn", "configurationValues") if call.body.get(k)}
        return self._updated("AddonUpdate")

    # Updates

    def _updated(self, kind: str) -> Response:
        update = {"id": f"update-{len(self.updates) + 1}", "status": "Successful", "type": kind, "params": [], "createdAt": _MADE_AT, "errors": []}
        self.updates[str(update["id"])] = update
        return json_answer({"update": update})

    def _describe_update(self, call: Call, cluster: Cluster, names: dict[str, str]) -> Response:
        update = self.updates.get(names["update"])
        return json_answer({"update": update}) if update else json_error(404, "ResourceNotFoundException", f"No update found for ID: {names['update']}")

    def _update_version(self, call: Call, cluster: Cluster, names: dict[str, str]) -> Response:
        """A cluster goes up one minor version at a time, never down."""
        now, wanted = str(cluster.version), str(call.body.get("version", ""))
        if not re.fullmatch(r"1\.\d+", wanted) or int(wanted[2:]) != int(now[2:]) + 1:
            return json_error(400, "InvalidParameterException", f"Unsupported Kubernetes minor version update from {now} to {wanted}")
        cluster.version = wanted
        return self._updated("VersionUpdate")

    def _update_cluster(self, call: Call, cluster: Cluster, names: dict[str, str]) -> Response:
        """Only what is named in the request changes."""
        network = call.body.get("resourcesVpcConfig") or {}
        logging = call.body.get("logging") or {}
        if bool(network) == bool(logging):
            return json_error(400, "InvalidParameterException", "Only one type of update can be allowed.")
        if network:
            cluster.resources_vpc_config = {**cluster.resources_vpc_config, **network}
        else:
            cluster.logging = logging
        return self._updated("EndpointAccessUpdate" if network else "LoggingUpdate")

    def _update_group_version(self, call: Call, cluster: Cluster, names: dict[str, str]) -> Response:
        group = cluster.nodegroups.get(names["group"])
        if group is None:
            return json_error(404, "ResourceNotFoundException", f"No node group found for name: {names['group']}.")
        if call.body.get("version"):
            group.version = call.body["version"]
        if call.body.get("releaseVersion"):
            group.release_version = call.body["releaseVersion"]
        if call.body.get("launchTemplate"):
            group.launch_template = {**(group.launch_template or {}), **call.body["launchTemplate"]}
        return self._updated("VersionUpdate")

    # Node groups

    def _check_group(self, call: Call, cluster: Cluster, names: dict[str, str]) -> Response | None:
        """Refuse what EKS refuses; None lets moto make the group."""
        subnets = call.body.get("subnets") or []
        known = {s for zone in ec2_backends[ACCOUNT][call.region].subnets.values() for s in zone}
        unknown = [s for s in subnets if s not in known]
        if not subnets or unknown:
            return json_error(400, "InvalidParameterException", f"The subnet ID '{(unknown or [''])[0]}' does not exist")
        if call.body.get("remoteAccess"):
            self.remote_access.add((call.region, cluster.name, str(call.body.get("nodegroupName"))))
        return _scaling_fault(call.body.get("scalingConfig") or {})

    def _check_scaling(self, call: Call, cluster: Cluster, names: dict[str, str]) -> Response | None:
        """A minimum above the nodes that are desired is refused (FC-10)."""
        group = cluster.nodegroups.get(names["group"])
        return _scaling_fault({**group.scaling_config, **(call.body.get("scalingConfig") or {})}) if group else None

    # Answers of moto

    def _mend(self, call: Call, response: Response) -> Response:
        """moto's answer in the shape that EKS gives it."""
        if response.status_code >= 300 or not response.data:
            return response
        try:
            document = json.loads(response.data)
        except ValueError:
            return response
        if call.method == "DELETE" and "cluster" in document:
            self.addons = {k: v for k, v in self.addons.items() if k[:2] != (call.region, document["cluster"]["name"])}
        group = document.get("nodegroup")
        if isinstance(group, dict) and (call.region, group["clusterName"], group["nodegroupName"]) not in self.remote_access:
            if group.get("remoteAccess") == _DEFAULT_REMOTE_ACCESS:
                del group["remoteAccess"]
            (group.get("resources") or {}).pop("remoteAccessSecurityGroup", None)
        if isinstance(document.get("update"), dict):
            self.updates[str(document["update"]["id"])] = document["update"]
        response.set_data(json.dumps(document, sort_keys=True))
        return response


def _no_addon(names: dict[str, str]) -> Response:
    return json_error(404, "ResourceNotFoundException", f"No addon: {names['addon']} found in cluster: {names['cluster']}")


def _scaling_fault(config: Json) -> Response | None:
    low, desired, high = (int(config.get(k, d)) for k, d in (("minSize", 1), ("desiredSize", 1), ("maxSize", 1)))
    if high < 1:
        return json_error(400, "InvalidParameterException", "Maximum size must be at least 1")
    if low > high:
        return json_error(400, "InvalidParameterException", f"Minimum capacity {low} can't be greater than maximum size {high}")
    if low > desired:
        return json_error(400, "InvalidParameterException", f"Minimum capacity {low} can't be greater than desired size {desired}")
    if desired > high:
        return json_error(400, "InvalidParameterException", f"desired capacity {desired} can't be greater than max size {high}")
    return None
