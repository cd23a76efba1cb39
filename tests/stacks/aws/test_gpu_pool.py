"""Node groups: where nodes run, how they are wired, bought and told to join."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from typing import Any

import pytest
import samples
import yaml
from inferform.errors import InputError
from inferform.labels import TAINT_VALUE
from inferform.plan_serving import KvTiersPlan
from inferform.stacks.aws.groups import groups
from inferform.stacks.aws.node_template import resource_tags
from synthesis import changed, one_pool, part, sample_stacks, stacks_of, user_data_text

Json = dict[str, Any]
EFA = {"network_cards": 32, "interfaces": 32, "interface_type_first": "efa", "interface_type_rest": "efa-only"}
CUSTOM_AMI = {"ami_id": "ami-0123456789abcdef0", "ami_type": None, "max_pods": 110}


def nodes_of(plan: Any) -> Json:
    """Resources of the stack `nodes`."""
    return dict(stacks_of(plan)["nodes"]["resource"])


def node_config(template: Json) -> Json:
    """The NodeConfig in a template's user data."""
    body = user_data_text(template).split("Content-Type: application/node.eks.aws\n\n")[1].split("\n--")[0]
    return dict(yaml.safe_load(body))


def test_fc06_subnets_are_filtered_by_what_each_zone_offers() -> None:
    """A group gets only subnets of its zones where the type is offered, and stops with type and zones when none is left."""
    stack = sample_stacks()["nodes"]
    group = stack["resource"]["aws_eks_node_group"]["llama-70b-aggregated"]
    offers = stack["data"]["aws_ec2_instance_type_offerings"]["llama-70b-aggregated-p5-48xlarge"]
    assert {"location_type": "availability-zone-id", "filter": [{"name": "instance-type", "values": ["p5.48xlarge"]}]} == offers
    zones = stack["locals"]["zones-llama-70b-aggregated"]
    assert '${sort(setintersection(["use1-az4", "use1-az6"], data.aws_ec2_instance_type_offerings.llama-70b-aggregated-p5-48xlarge.locations))}' == zones
    subnets = "data.terraform_remote_state.network.outputs.private_subnets"
    assert f"${{matchkeys(values({subnets}), keys({subnets}), local.zones-llama-70b-aggregated)}}" == group["subnet_ids"]
    (precondition,) = group["lifecycle"]["precondition"]
    assert "llama-70b-aggregated: p5.48xlarge is not offered in use1-az4, use1-az6." in precondition["error_message"]
    assert (
        '${anytrue([contains(local.zones-llama-70b-aggregated, "use1-az4"), contains(local.zones-llama-70b-aggregated, "use1-az6")])}'
        == precondition["condition"]
    )


def test_fc06_a_mixed_group_runs_where_any_of_its_types_is_offered() -> None:
    """A scaling group with two types takes the zones of either, since it picks a type per zone itself."""
    zones = sample_stacks()["nodes"]["locals"]["zones-llama-8b-aggregated"]
    offers = "data.aws_ec2_instance_type_offerings.llama-8b-aggregated"
    assert f'["use1-az4", "use1-az6"], setunion({offers}-g6-2xlarge.locations, {offers}-g6-4xlarge.locations)' in zones


def test_fc07_a_coupled_pool_lives_in_one_zone_with_its_own_placement_group() -> None:
    """The EFA pool has one zone and one placement group with strategy cluster; other pools have none."""
    stack = sample_stacks()["nodes"]
    groups = stack["resource"]["aws_placement_group"]
    assert {"llama-405b-aggregated": {"name": "contract-qa-prod-llama-405b-aggregated", "strategy": "cluster"}} == groups
    template = stack["resource"]["aws_launch_template"]["llama-405b-aggregated"]
    assert {"group_name": "${aws_placement_group.llama-405b-aggregated.name}"} == template["placement"]
    assert 'setintersection(["use1-az4"], ' in stack["locals"]["zones-llama-405b-aggregated"]


@pytest.mark.parametrize("infrastructure", [{"placement_group": True}, {"efa": EFA}, {"coupled": True}])
def test_fc07_a_coupled_pool_in_two_zones_is_refused(infrastructure: Json) -> None:
    """Cluster placement, EFA or coupling over two zones is an error that names both zones and the field that selects one."""
    with pytest.raises(InputError) as caught:
        stacks_of(one_pool(**infrastructure))
    (problem,) = caught.value.problems
    assert ("models.m.nodes.zones", "use1-az4, use1-az6") == (problem.field, problem.value)


def test_fc07_a_placement_group_never_stands_on_a_reservation() -> None:
    """A cluster placement group together with a capacity reservation is refused."""
    plan = one_pool([part("reserved", reservation_id="cr-0123456789abcdef0")], placement_group=True, coupled=True, zones=["use1-az4"])
    with pytest.raises(InputError, match="cannot stand on top of a capacity reservation"):
        stacks_of(plan)


BLOCK = part("capacity_block", (0, 2, 2), reservation_id="cr-0123456789abcdef0", zone="use1-az4", ends_at="2026-12-24T11:30:00Z")


def test_fc08_a_capacity_block_is_bought_as_one() -> None:
    """Market type, reservation and the single type stand in the template; the node group says CAPACITY_BLOCK, names no type and stays in the block's zone."""
    stack = stacks_of(one_pool([BLOCK]))["nodes"]
    key = "m-aggregated-cr-0123456789abcdef0"
    template = stack["resource"]["aws_launch_template"][key]
    assert {"market_type": "capacity-block"} == template["instance_market_options"]
    assert {"capacity_reservation_target": {"capacity_reservation_id": "cr-0123456789abcdef0"}} == template["capacity_reservation_specification"]
    assert "p5.48xlarge" == template["instance_type"]
    group = stack["resource"]["aws_eks_node_group"][key]
    assert "CAPACITY_BLOCK" == group["capacity_type"]
    assert "instance_types" not in group
    assert 2 == group["scaling_config"]["max_size"]
    assert 'setintersection(["use1-az4"], ' in stack["locals"][f"zones-{key}"]


@pytest.mark.parametrize(
    ("infrastructure", "scaling_group"),
    [
        ({}, "aws_eks_node_group.m-aggregated-cr-0123456789abcdef0.resources[0].autoscaling_groups[0].name"),
        ({"kind": "self_managed", "ami_type": None}, "aws_autoscaling_group.m-aggregated-cr-0123456789abcdef0.name"),
    ],
)
def test_fc08_a_block_is_empty_40_minutes_before_it_ends(infrastructure: Json, scaling_group: str) -> None:
    """EC2 starts to end instances 30 minutes before a block does, so its group goes to zero at 10:50 for an end at 11:30."""
    drain = nodes_of(one_pool([BLOCK], **infrastructure))["aws_autoscaling_schedule"]["m-aggregated-cr-0123456789abcdef0-drain"]
    assert f"${{{scaling_group}}}" == drain["autoscaling_group_name"]
    assert ("2026-12-24T10:50:00Z", 0, 0, -1) == tuple(drain[n] for n in ("start_time", "min_size", "desired_capacity", "max_size"))


def test_fc08_a_self_managed_block_is_no_mix() -> None:
    """The scaling group of a block launches its template as it is."""
    key = "m-aggregated-cr-0123456789abcdef0"
    group = nodes_of(one_pool([BLOCK], kind="self_managed", ami_type=None))["aws_autoscaling_group"][key]
    assert "mixed_instances_policy" not in group
    assert {"id": f"${{aws_launch_template.{key}.id}}", "version": f"${{aws_launch_template.{key}.latest_version}}"} == group["launch_template"]


def test_fc08_a_block_beside_other_purchases_is_a_group_of_its_own() -> None:
    """Block and on-demand overflow of one pool become two groups; the second has the rest of the counts."""
    groups = nodes_of(one_pool([BLOCK, part("on_demand", (0, 0, 3))]))["aws_eks_node_group"]
    assert {"m-aggregated": 3, "m-aggregated-cr-0123456789abcdef0": 2} == {k: g["scaling_config"]["max_size"] for k, g in groups.items()}


def test_fc08_a_block_with_two_types_is_refused() -> None:
    """A capacity block holds one instance type."""
    with pytest.raises(InputError, match="a capacity block holds a single instance type"):
        stacks_of(one_pool([{**BLOCK, "instance_types": ["p5.48xlarge", "p5e.48xlarge"]}]))


def test_fc09_a_custom_image_gets_a_complete_node_config() -> None:
    """With an own image the NodeConfig names cluster, endpoint, certificate authority and service range, kubelet settings included, and no bootstrap.sh."""
    resources = nodes_of(one_pool(**CUSTOM_AMI))
    template = resources["aws_launch_template"]["m-aggregated"]
    assert "ami-0123456789abcdef0" == template["image_id"]
    text = user_data_text(template)
    assert text.startswith('MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="NODECONFIG"\n')
    assert "bootstrap.sh" not in text
    remote = "${data.terraform_remote_state.cluster.outputs."
    config = node_config(template)
    assert ("node.eks.aws/v1alpha1", "NodeConfig") == (config["apiVersion"], config["kind"])
    assert {
        "name": "contract-qa-prod",
        "apiServerEndpoint": f"{remote}endpoint}}",
        "certificateAuthority": f"{remote}certificate_authority}}",
        "cidr": f"{remote}service_cidr}}",
    } == config["spec"]["cluster"]
    assert {"maxPods": 110} == config["spec"]["kubelet"]["config"]
    assert f"--register-with-taints=nvidia.com/gpu={TAINT_VALUE}:NoSchedule" in config["spec"]["kubelet"]["flags"]
    group = resources["aws_eks_node_group"]["m-aggregated"]
    assert "ami_type" not in group
    assert "version" not in group


def test_the_kubelet_keeps_what_pods_were_sized_by() -> None:
    """nodeadm would keep memory for all pods that the type can hold, whatever maxPods says, and the pod of a whole node would never fit."""
    kept = {"memory": "1465Mi", "cpu": "110m", "ephemeral-storage": "1Gi"}
    for more in ({}, CUSTOM_AMI, {"kind": "self_managed"}):
        template = nodes_of(one_pool(**{**more, "kube_reserved": kept}))["aws_launch_template"]["m-aggregated"]
        assert kept == node_config(template)["spec"]["kubelet"]["config"]["kubeReserved"]


def test_fc09_without_an_own_image_the_group_names_the_accelerated_one() -> None:
    """A managed GPU group on EKS's image says AL2023_x86_64_NVIDIA; its NodeConfig leaves the cluster to EKS."""
    resources = sample_stacks()["nodes"]["resource"]
    assert "AL2023_x86_64_NVIDIA" == resources["aws_eks_node_group"]["llama-70b-aggregated"]["ami_type"]
    template = resources["aws_launch_template"]["llama-70b-aggregated"]
    assert "image_id" not in template
    assert "cluster" not in node_config(template)["spec"]


def test_fc09_amazon_linux_2_is_refused_from_kubernetes_1_33() -> None:
    """AL2_x86_64_GPU on 1.33 is an error with the images that exist."""
    with pytest.raises(InputError, match=r"no Amazon Linux 2 images for Kubernetes 1.33 \(found AL2_x86_64_GPU\); legal: AL2023_x86_64_NVIDIA"):
        stacks_of(one_pool(ami_type="AL2_x86_64_GPU"))


def test_self_managed_nodes_without_a_known_image_are_refused() -> None:
    """A self-managed pool of an image type without a parameter is an error that lists the types that have one."""
    with pytest.raises(InputError, match="no image is known") as caught:
        stacks_of(one_pool(kind="self_managed", ami_type="WINDOWS_CORE_2022_x86_64"))
    assert "AL2023_x86_64_NVIDIA" in caught.value.problems[0].legal


def test_fc10_only_an_autoscaled_group_ignores_its_desired_size() -> None:
    """The autoscaler owns the count after creation; without an autoscaler the count is the plan's."""
    (scaled,) = nodes_of(one_pool(autoscaled=True))["aws_eks_node_group"].values()
    (fixed,) = nodes_of(one_pool(autoscaled=False))["aws_eks_node_group"].values()
    assert ["scaling_config[0].desired_size"] == scaled["lifecycle"]["ignore_changes"]
    assert {"min_size": 1, "desired_size": 1, "max_size": 2} == fixed["scaling_config"]
    assert "ignore_changes" not in fixed["lifecycle"]


def test_an_empty_managed_group_tells_what_its_type_does_not() -> None:
    """Tags of the node group name EFA, huge pages and the disk of a KV cache tier; a plain group and one of fixed size have none."""
    prefix = "k8s.io/cluster-autoscaler/node-template/resources"
    wired: Json = {"zones": ["use1-az4"], "coupled": True, "efa": EFA}
    assert {f"{prefix}/vpc.amazonaws.com/efa": "32", f"{prefix}/hugepages-2Mi": str(5 * 2**30)} == only_group(one_pool(**wired))["tags"]
    assert "tags" not in only_group(one_pool())
    assert "tags" not in only_group(one_pool(autoscaled=False, **wired))
    (model,) = (plan := one_pool()).models.values()
    pool = model.pools["aggregated"]
    tier = KvTiersPlan.model_construct(disk_bytes=2**40)
    tiered = pool.model_copy(update={"pod": pool.pod.model_copy(update={"kv_tiers": tier})})
    tags = resource_tags(replace(groups(plan)[0], pool=tiered))
    assert {f"{prefix}/ephemeral-storage": str(pool.infrastructure.ephemeral_storage_bytes)} == tags


def only_group(plan: Any) -> Json:
    (group,) = nodes_of(plan)["aws_eks_node_group"].values()
    return dict(group)


@pytest.mark.parametrize(
    ("instance_type", "cards"),
    [("p5.48xlarge", 32), ("p5e.48xlarge", 32), ("p5en.48xlarge", 16), ("p6-b200.48xlarge", 8), ("p4d.24xlarge", 4), ("p4de.24xlarge", 4)],
)
def test_fc12_one_interface_per_card(instance_type: str, cards: int) -> None:
    """Every card has one interface: card 0 is device 0 and efa, all others device 1, deleted with the instance, never an address list beside them."""
    plan = one_pool(instance_type=instance_type, zones=["use1-az4"], coupled=True, efa={**EFA, "network_cards": cards, "interfaces": cards})
    template = nodes_of(plan)["aws_launch_template"]["m-aggregated"]
    interfaces = template["network_interfaces"]
    assert list(range(cards)) == [i["network_card_index"] for i in interfaces]
    assert [0] + [1] * (cards - 1) == [i["device_index"] for i in interfaces]
    assert ["efa"] + ["efa-only"] * (cards - 1) == [i["interface_type"] for i in interfaces]
    assert {"true"} == {i["delete_on_termination"] for i in interfaces}
    assert "vpc_security_group_ids" not in template


def test_fc12_the_first_card_of_p6_b300_carries_plain_traffic() -> None:
    """Sixteen EFA interfaces on seventeen cards: card 0 is an ordinary interface, the others are efa-only."""
    plan = one_pool(instance_type="p6-b300.48xlarge", zones=["use1-az4"], coupled=True, efa={**EFA, "network_cards": 17, "interfaces": 16})
    interfaces = nodes_of(plan)["aws_launch_template"]["m-aggregated"]["network_interfaces"]
    assert ["interface"] + ["efa-only"] * 16 == [i["interface_type"] for i in interfaces]


def test_fc12_fewer_interfaces_than_cards_are_refused() -> None:
    """Two cards without an interface cannot be meant."""
    with pytest.raises(InputError, match="EFA interfaces are one a network card"):
        stacks_of(one_pool(zones=["use1-az4"], coupled=True, efa={**EFA, "interfaces": 30}))


def test_fc13_efa_groups_are_open_to_themselves_both_ways() -> None:
    """The group on the EFA interfaces has an all-protocol rule from itself and one to itself; pools without EFA have neither."""
    resources = sample_stacks()["nodes"]["resource"]
    assert ["llama-405b-aggregated-efa"] == list(resources["aws_security_group"])
    rules = resources["aws_security_group_rule"]
    assert {"llama-405b-aggregated-efa-egress": "egress", "llama-405b-aggregated-efa-ingress": "ingress"} == {k: r["type"] for k, r in rules.items()}
    group = "${aws_security_group.llama-405b-aggregated-efa.id}"
    assert {("-1", True, group)} == {(r["protocol"], r["self"], r["security_group_id"]) for r in rules.values()}
    assert all(group in i["security_groups"] for i in resources["aws_launch_template"]["llama-405b-aggregated"]["network_interfaces"])
    assert sorted(f"aws_security_group_rule.{k}" for k in rules) == resources["aws_eks_node_group"]["llama-405b-aggregated"]["depends_on"]


def test_fc14_nodes_carry_the_one_taint() -> None:
    """GPU groups have the plan's taint key with effect NO_SCHEDULE; CPU groups have none; an own key is taken over."""
    groups = sample_stacks()["nodes"]["resource"]["aws_eks_node_group"]
    assert [{"key": "nvidia.com/gpu", "value": TAINT_VALUE, "effect": "NO_SCHEDULE"}] == groups["llama-70b-aggregated"]["taint"]
    assert "taint" not in groups["bge-aggregated"]
    (own,) = nodes_of(one_pool(taint_key="example.com/gpu"))["aws_eks_node_group"].values()
    assert "example.com/gpu" == own["taint"][0]["key"]


def test_fc16_local_disks_are_claimed_by_the_node_config() -> None:
    """Types with local disks get localStorage RAID0 in the NodeConfig, others do not, and nobody writes mkfs or mount."""
    templates = sample_stacks()["nodes"]["resource"]["aws_launch_template"]
    assert {"localStorage": {"strategy": "RAID0"}} == node_config(templates["llama-70b-aggregated"])["spec"]["instance"]
    assert {"localStorage": {"strategy": "RAID0"}} == node_config(templates["llama-8b-aggregated"])["spec"]["instance"]
    assert "instance" not in node_config(templates["bge-aggregated"])["spec"]
    assert not any(word in user_data_text(t) for t in templates.values() for word in ("mkfs", "mount "))


def test_fc16_bottlerocket_binds_its_directories_to_the_local_disks() -> None:
    """Bottlerocket claims local disks by a bootstrap command that must succeed on every boot, and keeps its data on the second volume."""
    template = nodes_of(one_pool(os="bottlerocket", ami_type="BOTTLEROCKET_x86_64_NVIDIA"))["aws_launch_template"]["m-aggregated"]
    text = user_data_text(template)
    assert '["apiclient", "ephemeral-storage", "init"], ["apiclient", "ephemeral-storage", "bind", "--dirs", "/var/lib/containerd", "/var/lib/kubelet"' in text
    assert 'essential = true\nmode = "always"\n' in text
    assert {"/dev/xvda": 4, "/dev/xvdb": 100} == {v["device_name"]: v["ebs"]["volume_size"] for v in template["block_device_mappings"]}


def test_a_self_managed_bottlerocket_node_knows_its_cluster() -> None:
    """Settings of a self-managed Bottlerocket node name the cluster, its labels and its taint, and the image comes by parameter."""
    template = nodes_of(one_pool(os="bottlerocket", kind="self_managed", ami_type=None))["aws_launch_template"]["m-aggregated"]
    text = user_data_text(template)
    assert 'cluster-name = "contract-qa-prod"\napi-server = "${data.terraform_remote_state.cluster.outputs.endpoint}"\n' in text
    assert f'"nvidia.com/gpu" = ["{TAINT_VALUE}:NoSchedule"]' in text
    assert "resolve:ssm:/aws/service/bottlerocket/aws-k8s-1.33-nvidia/x86_64/latest/image_id" == template["image_id"]


def test_fc38_removing_a_pool_leaves_the_others_byte_identical() -> None:
    """Without llama-70b every other pool's resources are unchanged, and nothing is named after a position."""

    def without(data: Json) -> None:
        del data["models"]["llama-70b"]

    before, after = sample_stacks()["nodes"]["resource"], nodes_of(changed(without))
    kept = {kind: {k: v for k, v in named.items() if not k.startswith("llama-70b")} for kind, named in before.items()}
    assert kept == after


def test_fc38_the_order_of_pools_means_nothing() -> None:
    """The same models in reverse order give the same stacks."""

    def reverse(data: Json) -> None:
        data["models"] = dict(reversed(list(data["models"].items())))

    assert sample_stacks() == stacks_of(changed(reverse))


def test_nodes_hide_their_credentials_and_encrypt_their_disks() -> None:
    """Every template asks for IMDSv2 tokens with one hop and for encrypted gp3 volumes of the plan's size."""
    for template in sample_stacks()["nodes"]["resource"]["aws_launch_template"].values():
        options = template["metadata_options"]
        assert ("required", 1) == (options["http_tokens"], options["http_put_response_hop_limit"])
        (volume,) = template["block_device_mappings"]
        assert {"volume_size": 100, "volume_type": "gp3", "encrypted": "true", "delete_on_termination": "true"} == volume["ebs"]


def test_fc11_a_managed_group_with_spot_overflow_is_refused() -> None:
    """On-demand base and spot in one EKS managed group is an error that names self_managed as the way (FC-11)."""
    with pytest.raises(InputError, match="legal: self_managed") as caught:
        stacks_of(one_pool([part("on_demand"), part("spot", (0, 1, 4))]))
    assert "models.m.nodes.kind" == caught.value.problems[0].field


def test_every_problem_comes_at_once() -> None:
    """Two pools with two faults each give four problems."""

    def spoil(data: Json) -> None:
        bad = samples.pool(infrastructure={"zones": ["use1-az4", "use1-az5"], "coupled": True})
        data["models"] = {n: samples.model({"aggregated": bad}) for n in ("a", "b")}

    with pytest.raises(InputError) as caught:
        stacks_of(changed(spoil))
    assert ["models.a.nodes.zones"] * 2 + ["models.b.nodes.zones"] * 2 == [p.field for p in caught.value.problems]


def test_nodes_that_share_images_keep_layers_and_ask_mirrors() -> None:
    """With image peers containerd keeps what it unpacked and reads mirror settings; other nodes are told nothing of it."""
    plan = changed(lambda d: d["model_store"].update(distribution={"image_peers": True}))
    config = node_config(nodes_of(plan)["aws_launch_template"]["llama-70b-aggregated"])["spec"]["containerd"]["config"]
    images = tomllib.loads(config)["plugins"]["io.containerd.cri.v1.images"]
    assert (False, "/etc/containerd/certs.d") == (images["discard_unpacked_layers"], images["registry"]["config_path"])
    assert "containerd" not in node_config(sample_stacks()["nodes"]["resource"]["aws_launch_template"]["llama-70b-aggregated"])["spec"]
