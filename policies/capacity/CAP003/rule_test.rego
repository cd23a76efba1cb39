package inferform.tests.CAP003

import rego.v1

import data.capacity.CAP003 as sample
import data.inferform.rules.CAP003 as rule

test_allowed if {
	given := sample.allowed
	subjects := rule.subjects with input.plan as given.plan with input.objects as given.objects
	count(subjects) > 0
	fail := rule.fail with input.plan as given.plan with input.objects as given.objects
	count(fail) == 0
	unknown := rule.unknown with input.plan as given.plan with input.objects as given.objects
	count(unknown) == 0
}

test_disallowed if {
	given := sample.disallowed
	fail := rule.fail with input.plan as given.plan with input.objects as given.objects
	count(fail) > 0
}

test_fc14_custom_taint_key if {
	given := {"models": {"m": {"pools": {"p": {
		"instance_type": "p5.48xlarge",
		"infrastructure": {"gpus_per_node": 8, "taint_key": "acme.example/gpu", "os": "al2023", "efa": null},
	}}}}}
	fail := rule.fail with input.plan as given with input.objects as [agent({"tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]})]
	count(fail) == 1
	all_taints := rule.fail with input.plan as given with input.objects as [agent({"tolerations": [{"operator": "Exists"}]})]
	count(all_taints) == 0
}

test_fc14_agent_that_keeps_away_from_gpus if {
	given := sample.allowed
	agents := [agent({"nodeSelector": {"inferform.dev/role": "system"}}), agent({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{
		"matchExpressions": [{"key": "inferform.dev/accelerator", "operator": "NotIn", "values": ["nvidia"]}],
	}]}}}})]
	subjects := rule.subjects with input.plan as given.plan with input.objects as agents
	count(subjects) == 0
}

agent(spec) := {"kind": "DaemonSet", "metadata": {"name": "a", "namespace": "n"}, "spec": {"template": {"spec": object.union({"containers": []}, spec)}}}

test_fc14_taint_of_a_strict_tenant if {
	given := {"models": {"m": {"pools": {"p": {
		"instance_type": "p5.48xlarge",
		"infrastructure": {"gpus_per_node": 8, "taint_key": "nvidia.com/gpu", "os": "al2023", "efa": null, "tenant": "acme"},
	}}}}}
	gpu := {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
	without := rule.fail with input.plan as given with input.objects as [agent({"tolerations": [gpu]})]
	count(without) == 1
	another := rule.fail with input.plan as given with input.objects as [agent({"tolerations": [gpu, of_tenant("beta")]})]
	count(another) == 1
	own := rule.fail with input.plan as given with input.objects as [agent({"tolerations": [gpu, of_tenant("acme")]})]
	count(own) == 0
}

of_tenant(name) := {"key": "inferform.dev/tenant", "operator": "Equal", "value": name, "effect": "NoSchedule"}
