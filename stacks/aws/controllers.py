"""What controllers may do in AWS: each only what its task needs, on what carries this cluster's or deployment's own tags and names."""

from __future__ import annotations

from inferform.plan import DeploymentPlan
from inferform.stacks.aws import iam
from inferform.stacks.aws.account import Account
from inferform.stacks.values import Ref, Text, text

AUTOSCALER = "cluster-autoscaler"
LOAD_BALANCER_CONTROLLER = "aws-load-balancer-controller"
EXTERNAL_SECRETS = "external-secrets"
# The controller writes this tag on everything that it makes; its value is the cluster's name.
_OWNER_TAG = "elbv2.k8s.aws/cluster"


def scale_groups(plan: DeploymentPlan) -> Text:
    """What the cluster autoscaler needs: look at everything, change only the groups of this cluster."""
    look = [
        "autoscaling:DescribeAutoScalingGroups",
        "autoscaling:DescribeAutoScalingInstances",
        "autoscaling:DescribeLaunchConfigurations",
        "autoscaling:DescribeScalingActivities",
        "autoscaling:DescribeTags",
        "ec2:DescribeImages",
        "ec2:DescribeInstanceTypes",
        "ec2:DescribeLaunchTemplateVersions",
        "ec2:GetInstanceTypesFromInstanceRequirements",
        "eks:DescribeNodegroup",
    ]
    tag = f"aws:ResourceTag/k8s.io/cluster-autoscaler/{plan.cluster_name()}"
    change = ["autoscaling:SetDesiredCapacity", "autoscaling:TerminateInstanceInAutoScalingGroup"]
    return iam.document(iam.allow(look, ["*"]), iam.allow(change, ["*"], {"StringEquals": {tag: "owned"}}))


def balance_load(plan: DeploymentPlan, account: Account) -> Text:
    """What the AWS Load Balancer Controller needs for network load balancers of Services.

    It is its published policy without application load balancers, web firewalls, certificates and Cognito, and with the cluster's own tag
    where that asks for any. Source: kubernetes-sigs/aws-load-balancer-controller, docs/install/iam_policy.json (Apache-2.0; read 2026-12-01).
    """
    region, cluster = plan.cloud.region, plan.cluster_name()
    asked, owned = {f"aws:RequestTag/{_OWNER_TAG}": cluster}, {f"aws:ResourceTag/{_OWNER_TAG}": cluster}

    def elb(resource: str) -> Text:
        return account.arn("elasticloadbalancing", resource, region=region)

    def ec2(resource: str) -> Text:
        return account.arn("ec2", resource, region=region)

    # Names are the controller's own: k8s-<namespace>-<service>-<digest>.
    balancers, listeners, targets = elb("loadbalancer/net/k8s-*"), elb("listener/net/k8s-*"), elb("targetgroup/k8s-*")
    groups, vpcs = ec2("security-group/*"), ec2("vpc/*")
    look = [
        "ec2:DescribeAccountAttributes",
        "ec2:DescribeAddresses",
        "ec2:DescribeAvailabilityZones",
        "ec2:DescribeInstances",
        "ec2:DescribeInternetGateways",
        "ec2:DescribeNetworkInterfaces",
        "ec2:DescribeRouteTables",
        "ec2:DescribeSecurityGroups",
        "ec2:DescribeSubnets",
        "ec2:DescribeTags",
        "ec2:DescribeVpcPeeringConnections",
        "ec2:DescribeVpcs",
        "ec2:GetSecurityGroupsForVpc",
        "elasticloadbalancing:DescribeCapacityReservation",
        "elasticloadbalancing:DescribeListenerAttributes",
        "elasticloadbalancing:DescribeListenerCertificates",
        "elasticloadbalancing:DescribeListeners",
        "elasticloadbalancing:DescribeLoadBalancerAttributes",
        "elasticloadbalancing:DescribeLoadBalancers",
        "elasticloadbalancing:DescribeRules",
        "elasticloadbalancing:DescribeSSLPolicies",
        "elasticloadbalancing:DescribeTags",
        "elasticloadbalancing:DescribeTargetGroupAttributes",
        "elasticloadbalancing:DescribeTargetGroups",
        "elasticloadbalancing:DescribeTargetHealth",
    ]
    rules = ["ec2:AuthorizeSecurityGroupIngress", "ec2:RevokeSecurityGroupIngress"]
    change = [
        "elasticloadbalancing:DeleteLoadBalancer",
        "elasticloadbalancing:DeleteTargetGroup",
        "elasticloadbalancing:DeregisterTargets",
        "elasticloadbalancing:ModifyLoadBalancerAttributes",
        "elasticloadbalancing:ModifyTargetGroup",
        "elasticloadbalancing:ModifyTargetGroupAttributes",
        "elasticloadbalancing:RegisterTargets",
        "elasticloadbalancing:SetIpAddressType",
        "elasticloadbalancing:SetSecurityGroups",
        "elasticloadbalancing:SetSubnets",
    ]
    tag = ["elasticloadbalancing:AddTags", "elasticloadbalancing:RemoveTags"]
    create = ["CreateLoadBalancer", "CreateTargetGroup", "CreateListener"]
    return iam.document(
        iam.allow(look, ["*"]),
        iam.allow(["iam:CreateServiceLinkedRole"], ["*"], {"StringEquals": {"iam:AWSServiceName": "elasticloadbalancing.amazonaws.com"}}),
        # The network that a group is made in carries no tag of the controller.
        iam.allow(["ec2:CreateSecurityGroup"], [vpcs]),
        iam.allow(["ec2:CreateSecurityGroup"], [groups], {"StringEquals": asked}),
        iam.allow(["ec2:CreateTags"], [groups], {"StringEquals": {**asked, "ec2:CreateAction": "CreateSecurityGroup"}}),
        iam.allow(["ec2:CreateTags", "ec2:DeleteTags"], [groups], {"StringEquals": owned, "Null": {f"aws:RequestTag/{_OWNER_TAG}": "true"}}),
        iam.allow([*rules, "ec2:DeleteSecurityGroup"], [groups], {"StringEquals": owned}),
        # Targets are pods, so the controller opens the nodes' group for its load balancers.
        iam.allow(rules, [groups], {"StringEquals": {f"aws:ResourceTag/kubernetes.io/cluster/{cluster}": "owned"}}),
        iam.allow([f"elasticloadbalancing:{name}" for name in create[:2]], [balancers, targets], {"StringEquals": asked}),
        iam.allow(
            tag,
            [balancers, targets, listeners],
            {"StringEquals": {**asked, "elasticloadbalancing:CreateAction": create}},
        ),
        iam.allow(tag, [balancers, targets], {"StringEquals": owned, "Null": {f"aws:RequestTag/{_OWNER_TAG}": "true"}}),
        iam.allow(change, [balancers, targets], {"StringEquals": owned}),
        iam.allow(
            [
                "elasticloadbalancing:CreateListener",
                "elasticloadbalancing:DeleteListener",
                "elasticloadbalancing:ModifyListener",
                "elasticloadbalancing:ModifyListenerAttributes",
            ],
            [balancers, listeners],
            {"StringEquals": owned},
        ),
    )


def read_secrets(plan: DeploymentPlan, account: Account) -> Text:
    """What External Secrets needs: the values of this deployment's secrets in Secrets Manager, by their path."""
    path = f"secret:{plan.tenant}/{plan.name}/{plan.environment}/*"
    secrets = account.arn("secretsmanager", path, region=plan.cloud.region)
    return iam.document(iam.allow(["secretsmanager:DescribeSecret", "secretsmanager:GetSecretValue"], [secrets]))


def write_metrics(workspace: Ref) -> Text:
    """What a Prometheus needs to write to one workspace, and nothing that reads it."""
    return iam.document(iam.allow(["aps:RemoteWrite"], [workspace]))


def read_store(bucket: Ref, key: Ref) -> Text:
    """What the Mountpoint for S3 driver needs to show the model store as files: it never writes."""
    return iam.document(
        iam.allow(["s3:GetObject"], [text(bucket, "/*")]),
        iam.allow(["s3:ListBucket"], [bucket]),
        iam.allow(["kms:Decrypt"], [key]),
    )
