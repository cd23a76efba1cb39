package inferform.tests.CAP007

import rego.v1

import data.capacity.CAP007 as sample
import data.inferform.rules.CAP007 as rule

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

test_fc15_bottlerocket_brings_its_own if {
	given := sample.allowed
	entry := given.plan.models["llama-70b"].pools.aggregated
	own := {"models": {"m": {"pools": {"p": object.union(entry, {"infrastructure": object.union(entry.infrastructure, {"os": "bottlerocket"})})}}}}
	fail := rule.fail with input.plan as own with input.objects as given.objects
	count(fail) == 1
	none := rule.fail with input.plan as own with input.objects as []
	count(none) == 0
}

test_fc31_divided_gpus_have_a_plugin_of_their_own if {
	given := sample.allowed
	entry := given.plan.models["llama-70b"].pools.aggregated
	divided := object.union(entry, {"infrastructure": object.union(entry.infrastructure, {"sharing": {"mode": "mig"}})})
	plan := {"models": {"llama-70b": {"pools": {"aggregated": entry}}, "m": {"pools": {"p": divided}}}}
	image := "nvcr.io/nvidia/k8s-device-plugin:v0.18.1"
	own := {"kind": "DaemonSet", "metadata": {"name": "own"}, "spec": {"template": {"spec": {
		"nodeSelector": {"inferform.dev/model": "m", "inferform.dev/pool": "p"},
		"containers": [{"name": "plugin", "image": image}],
	}}}}
	whole := {"kind": "DaemonSet", "metadata": {"name": "whole"}, "spec": {"template": {"spec": {
		"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "inferform.dev/gpu-sharing", "operator": "DoesNotExist"}]}]}}},
		"containers": [{"name": "plugin", "image": image}],
	}}}}
	both := rule.fail with input.plan as plan with input.objects as [own, whole]
	count(both) == 0
	lacking := rule.fail with input.plan as plan with input.objects as [whole]
	count(lacking) == 1
	everywhere := {"kind": "DaemonSet", "metadata": {"name": "all"}, "spec": {"template": {"spec": {"containers": [{"name": "plugin", "image": image}]}}}}
	twice := rule.fail with input.plan as plan with input.objects as [own, everywhere]
	count(twice) == 1
}
