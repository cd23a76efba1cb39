"""EKS of the double, through boto3: it answers and refuses as EKS does."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError

ROLE = "arn:aws:iam::123456789012:role/r"


def refused(call: Any, **arguments: Any) -> str:
    """The code with which a call is refused."""
    with pytest.raises(ClientError) as caught:
        call(**arguments)
    return str(caught.value.response["Error"]["Code"])


@pytest.fixture(scope="module")
def subnet(double: Any) -> str:
    """A subnet for node groups."""
    from inferform.sandbox.backend import client

    ec2 = client(double.url, "ec2", "us-east-1")
    made = ec2.create_subnet(VpcId=ec2.create_vpc(CidrBlock="10.6.0.0/16")["Vpc"]["VpcId"], CidrBlock="10.6.0.0/24")
    return str(made["Subnet"]["SubnetId"])


@pytest.fixture
def cluster(eks: Any, request: pytest.FixtureRequest) -> str:
    """A cluster named after its test."""
    name = request.node.name.split("[")[0].replace("_", "-")[:90]
    if name not in eks.list_clusters()["clusters"]:
        eks.create_cluster(name=name, version="1.33", roleArn=ROLE, resourcesVpcConfig={"subnetIds": []})
    return name


def group(eks: Any, cluster: str, subnet: str, **more: Any) -> Any:
    """Create a node group."""
    arguments: dict[str, Any] = {
        "clusterName": cluster,
        "nodegroupName": "g",
        "nodeRole": ROLE,
        "subnets": [subnet],
        "scalingConfig": {"minSize": 3, "desiredSize": 3, "maxSize": 6},
    }
    return eks.create_nodegroup(**{**arguments, **more})["nodegroup"]


def test_addons(eks: Any, cluster: str) -> None:
    """An add-on is created once, described, updated, listed and deleted; versions are offered."""
    assert "v1.99.0-eksbuild.1" == eks.describe_addon_versions(addonName="vpc-cni")["addons"][0]["addonVersions"][0]["addonVersion"]
    made = eks.create_addon(clusterName=cluster, addonName="vpc-cni", configurationValues='{"env": {}}', tags={"a": "b"})["addon"]
    assert ("ACTIVE", "v1.99.0-eksbuild.1", '{"env": {}}', {"a": "b"}) == (made["status"], made["addonVersion"], made["configurationValues"], made["tags"])
    update = eks.update_addon(clusterName=cluster, addonName="vpc-cni", addonVersion="v1.98.0-eksbuild.1")["update"]
    assert "Successful" == eks.describe_update(name=cluster, updateId=update["id"], addonName="vpc-cni")["update"]["status"]
    assert "v1.98.0-eksbuild.1" == eks.describe_addon(clusterName=cluster, addonName="vpc-cni")["addon"]["addonVersion"]
    assert ["vpc-cni"] == eks.list_addons(clusterName=cluster)["addons"]
    assert "ResourceInUseException" == refused(eks.create_addon, clusterName=cluster, addonName="vpc-cni")
    eks.delete_addon(clusterName=cluster, addonName="vpc-cni")
    assert "ResourceNotFoundException" == refused(eks.describe_addon, clusterName=cluster, addonName="vpc-cni")


def test_addons_that_are_refused(eks: Any, cluster: str) -> None:
    """Unknown add-ons and clusters are refused with EKS's codes."""
    assert "InvalidParameterException" == refused(eks.create_addon, clusterName=cluster, addonName="nonsense")
    assert "ResourceNotFoundException" == refused(eks.create_addon, clusterName="absent", addonName="vpc-cni")
    assert "ResourceNotFoundException" == refused(eks.describe_update, name=cluster, updateId="absent")


def test_addons_go_with_their_cluster(eks: Any) -> None:
    """A new cluster of the same name starts without add-ons."""
    for _ in range(2):
        eks.create_cluster(name="short-lived", version="1.33", roleArn=ROLE, resourcesVpcConfig={"subnetIds": []})
        assert [] == eks.list_addons(clusterName="short-lived")["addons"]
        eks.create_addon(clusterName="short-lived", addonName="coredns")
        eks.delete_cluster(name="short-lived")


def test_node_group_answers_remote_access_only_when_it_was_asked_for(eks: Any, cluster: str, subnet: str) -> None:
    """A made-up remote access block would make terraform replace the group on the next plan."""
    assert "remoteAccess" not in group(eks, cluster, subnet)
    assert "remoteAccess" not in eks.describe_nodegroup(clusterName=cluster, nodegroupName="g")["nodegroup"]
    group(eks, cluster, subnet, nodegroupName="h", remoteAccess={"ec2SshKey": "mine"})
    assert {"ec2SshKey": "mine"} == eks.describe_nodegroup(clusterName=cluster, nodegroupName="h")["nodegroup"]["remoteAccess"]


@pytest.mark.parametrize(
    "scaling",
    [
        {"minSize": 5, "desiredSize": 4, "maxSize": 6},
        {"minSize": 1, "desiredSize": 7, "maxSize": 6},
        {"minSize": 3, "desiredSize": 3, "maxSize": 2},
    ],
)
def test_node_counts_that_are_refused(eks: Any, cluster: str, subnet: str, scaling: dict[str, int]) -> None:
    """min <= desired <= max, at creation."""
    assert "InvalidParameterException" == refused(lambda: group(eks, cluster, subnet, nodegroupName="bad", scalingConfig=scaling))


def test_fc10_minimum_above_the_desired_count_is_refused(eks: Any, cluster: str, subnet: str) -> None:
    """FC-10: min 5 alone while 3 are desired is refused; with desired raised first it is taken."""
    group(eks, cluster, subnet)
    both = {"clusterName": cluster, "nodegroupName": "g"}
    assert "InvalidParameterException" == refused(eks.update_nodegroup_config, **both, scalingConfig={"minSize": 5})
    update = eks.update_nodegroup_config(**both, scalingConfig={"desiredSize": 5})["update"]
    assert "Successful" == eks.describe_update(name=cluster, updateId=update["id"], nodegroupName="g")["update"]["status"]
    eks.update_nodegroup_config(**both, scalingConfig={"minSize": 5})
    assert {"minSize": 5, "desiredSize": 5, "maxSize": 6} == eks.describe_nodegroup(**both)["nodegroup"]["scalingConfig"]


def test_node_group_needs_subnets_that_exist(eks: Any, cluster: str) -> None:
    """An unknown subnet is refused."""
    assert "InvalidParameterException" == refused(lambda: group(eks, cluster, "subnet-0123456789abcdef0"))


def test_kubernetes_goes_up_one_version_at_a_time(eks: Any, cluster: str) -> None:
    """1.33 to 1.34 is taken, 1.36 and 1.33 are refused."""
    for version in ("1.35", "1.33", "1.32"):
        assert "InvalidParameterException" == refused(eks.update_cluster_version, name=cluster, version=version)
    eks.update_cluster_version(name=cluster, version="1.34")
    assert "1.34" == eks.describe_cluster(name=cluster)["cluster"]["version"]


def test_node_group_takes_a_new_template_version(eks: Any, cluster: str, subnet: str) -> None:
    """A new version of the launch template is rolled out by an update that succeeds."""
    group(eks, cluster, subnet, launchTemplate={"id": "lt-1", "version": "1"})
    both = {"clusterName": cluster, "nodegroupName": "g"}
    update = eks.update_nodegroup_version(**both, launchTemplate={"id": "lt-1", "version": "2"})["update"]
    assert "Successful" == eks.describe_update(name=cluster, updateId=update["id"], nodegroupName="g")["update"]["status"]
    assert "2" == eks.describe_nodegroup(**both)["nodegroup"]["launchTemplate"]["version"]


def test_cluster_settings_are_updated(eks: Any, cluster: str) -> None:
    """Logging and endpoint access are changed one at a time, and the rest of the network settings stays."""
    logging = {"clusterLogging": [{"types": ["api"], "enabled": True}]}
    update = eks.update_cluster_config(name=cluster, logging=logging)["update"]
    assert "Successful" == eks.describe_update(name=cluster, updateId=update["id"])["update"]["status"]
    eks.update_cluster_config(name=cluster, resourcesVpcConfig={"endpointPublicAccess": False, "endpointPrivateAccess": True})
    found = eks.describe_cluster(name=cluster)["cluster"]
    assert (logging, False, []) == (found["logging"], found["resourcesVpcConfig"]["endpointPublicAccess"], found["resourcesVpcConfig"]["subnetIds"])
    assert "InvalidParameterException" == refused(eks.update_cluster_config, name=cluster)
