# Terraform resources, from a plan or from synthesized stacks; see "document" in policies/README.md.
#
# A block is {"known": attributes, "unknown": what is known after apply, "config": how it is written}; a resource is a
# block with its address. An attribute is known, unknown, or absent.
package inferform.lib.terraform

import rego.v1

# Everything that exists after the change; pure deletions are left out.
resources := [resource |
	document := input.terraform[stack]
	some change in document.resource_changes
	change.mode == "managed"
	stays(change)
	resource := block_of(stack, change)
]

data_sources := [resource |
	document := input.terraform[stack]
	some change in document.resource_changes
	change.mode == "data"
	resource := block_of(stack, change)
]

stays(change) if {
	some action in change.change.actions
	action in {"no-op", "create", "update"}
}

block_of(stack, change) := {
	"at": sprintf("%s/%s", [stack, change.address]),
	"stack": stack,
	"type": change.type,
	"name": change.name,
	"known": object.get(change.change, "after", {}),
	"unknown": object.get(change.change, "after_unknown", {}),
	"config": object.get(change, "config", {}),
}

of_types(types) := [resource | some resource in resources; resource.type in types]

# Nested blocks of one name, as a list, whether they are written as one object or as a list.
blocks(block, name) := [nested |
	unknown := items(block.unknown, name)
	config := items(block.config, name)
	known := as_list(block.known[name])[i]
	nested := {"known": known, "unknown": item(unknown, i), "config": item(config, i)}
]

item(list, i) := list[i] if i < count(list)

item(list, i) := {} if i >= count(list)

as_list(value) := value if is_array(value)

as_list(value) := [value] if is_object(value)

# What a tree of unknowns or expressions says of the blocks of one name.
items(tree, name) := [] if not is_object(tree)

items(tree, name) := found if {
	is_object(tree)
	found := object.get(tree, name, [])
	is_array(found)
}

items(tree, name) := [found] if {
	is_object(tree)
	found := object.get(tree, name, [])
	is_object(found)
}

items(tree, name) := [] if {
	is_object(tree)
	is_boolean(object.get(tree, name, []))
}

is_unknown(block, name) if block.unknown == true

is_unknown(block, name) if block.unknown[name] == true

# Some element of a list is unknown.
has_unknown(block, name) if is_unknown(block, name)

has_unknown(block, name) if {
	is_array(block.unknown[name])
	some element in block.unknown[name]
	element == true
}

is_true(block, name) if block.known[name] in {true, "true"}

# Set, to a literal or by reference to another resource: what FC-33 asks of an attribute that is only known after apply.
is_set(block, name) if {
	value := block.known[name]
	not value in {"", null}
}

is_set(block, name) if {
	is_unknown(block, name)
	count(block.config[name].references) > 0
}

# Not set as far as anybody can see, but it may be after apply.
may_be_set(block, name) if {
	is_unknown(block, name)
	not is_set(block, name)
}

# Text of an attribute: the value, or the template it is written with where references stand in it.
text(block, name) := block.known[name] if is_string(block.known[name])

text(block, name) := block.config[name].template if {
	is_unknown(block, name)
	is_string(block.config[name].template)
}

# Those of `others` whose attribute `name` refers to `resource`, by reference or by the value of its attribute `key`.
referring(others, name, resource, key) := [other | some other in others; refers(other, name, resource, key)]

refers(other, name, resource, key) if {
	other.stack == resource.stack
	some reference in other.config[name].references
	startswith(sprintf("%s.", [reference]), sprintf("%s.%s.", [resource.type, resource.name]))
}

refers(other, name, resource, key) if {
	value := other.known[name]
	not value in {"", null}
	value == resource.known[key]
}
