package inferform.rules.NET006

import rego.v1

import data.inferform.lib.plan
import data.inferform.lib.terraform

about := {
	"title": "EFA interfaces may talk to each other, both ways",
	"severity": "deny",
	"needs": ["plan", "terraform"],
	"remedy": "Add two rules to a group of the EFA interfaces: protocol -1 from itself, and protocol -1 to itself.",
	"source": "FC-13; AWS EC2 user guide, EFA security groups",
}

# Launch templates with EFA interfaces, and how security groups are put on each of those.
subjects := [subject |
	some template in terraform.of_types({"aws_launch_template"})
	wirings := [wiring |
		some interface in terraform.blocks(template, "network_interfaces")
		interface.known.interface_type in {"efa", "efa-only"}
		wiring := {
			"references": object.get(object.get(interface.config, "security_groups", {}), "references", []),
			"ids": object.get(interface.known, "security_groups", []),
		}
	]
	count(wirings) > 0
	subject := {"at": template.at, "name": template.name, "stack": template.stack, "wirings": wirings}
]

expects := "the plan has pools with EFA" if count(plan.efa_pools) > 0

fail contains {"address": entry.at, "message": "no launch template with EFA interfaces for this pool"} if {
	some entry in plan.efa_pools
	prefix := sprintf("%s-%s", [entry.model_name, entry.pool_name])
	count([1 | some template in subjects; startswith(template.name, prefix)]) == 0
}

# An open rule for 0.0.0.0/0 does not help: EFA packets are neither IPv4 nor IPv6.
fail contains {"address": template.at, "message": sprintf("no group of its EFA interfaces lets all traffic %s itself", [direction[way]])} if {
	some template in subjects
	found := groups(template)
	count(found) > 0
	some way in ["ingress", "egress"]
	count([1 | some group in found; group.at in opened[way]]) == 0
}

unknown contains {"address": template.at, "message": "the groups of its EFA interfaces are made elsewhere"} if {
	some template in subjects
	count(groups(template)) == 0
}

direction := {"ingress": "in from", "egress": "out to"}

security_groups := terraform.of_types({"aws_security_group"})

# Addresses of the groups that are open to themselves, by direction: by rules of their own, or by blocks in the group.
opened := {"ingress": open_groups("ingress"), "egress": open_groups("egress")}

open_groups(way) := union({inside(way), by_old_rules(way), by_new_rules(way)})

inside(way) := {group.at |
	some group in security_groups
	some block in terraform.blocks(group, way)
	everything(block.known.protocol)
	terraform.is_true(block, "self")
}

by_old_rules(way) := {group_of(rule, "security_group_id") |
	some rule in terraform.of_types({"aws_security_group_rule"})
	rule.known.type == way
	everything(rule.known.protocol)
	to_itself(rule)
}

to_itself(rule) if terraform.is_true(rule, "self")

to_itself(rule) if group_of(rule, "source_security_group_id") == group_of(rule, "security_group_id")

by_new_rules(way) := {group_of(rule, "security_group_id") |
	some rule in terraform.of_types({sprintf("aws_vpc_security_group_%s_rule", [way])})
	everything(rule.known.ip_protocol)
	group_of(rule, "referenced_security_group_id") == group_of(rule, "security_group_id")
}

# The group that an attribute refers to, by reference or, once applied, by its id.
group_of(rule, name) := sprintf("%s/aws_security_group.%s", [rule.stack, parts[1]]) if {
	some reference in rule.config[name].references
	parts := split(reference, ".")
	parts[0] == "aws_security_group"
}

group_of(rule, name) := by_id[rule.known[name]]

by_id := {group.known.id: group.at | some group in security_groups}

everything(protocol) if protocol in {"-1", "all", -1}

# Groups of the same stack that are on every EFA interface.
groups(template) := [group |
	some group in security_groups
	group.stack == template.stack
	attached(template.wirings[0], group)
	count([1 | some wiring in template.wirings; not attached(wiring, group)]) == 0
]

attached(wiring, group) if {
	some reference in wiring.references
	startswith(sprintf("%s.", [reference]), sprintf("aws_security_group.%s.", [group.name]))
}

attached(wiring, group) if group.known.id in wiring.ids
