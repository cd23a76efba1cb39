# Joins what every rule found.
#
#   opa eval  --data policies --input document.json --format pretty data.inferform.main.report
#   conftest test --policy policies --namespace inferform.main document.json
#
# A rule is a package inferform.rules.<ID> that defines
#   about     its header: title, severity (deny or warn), needs (sections of the document), remedy, source
#   subjects  a list: what it looks at
#   expects   when defined and nothing is there to look at, the rule fails and this says why something must be there
#   fail      a set of {"address", "message"}
#   unknown   a set of {"address", "message"}: cannot be told before apply
package inferform.main

import rego.v1

report := report_of(outcomes)

outcomes := [outcome |
	rule := data.inferform.rules[id]
	outcome := {
		"id": id,
		"about": object.get(rule, "about", {}),
		"subjects": count(object.get(rule, "subjects", [])),
		"expects": [reason | reason := rule.expects],
		"fail": object.get(rule, "fail", set()),
		"unknown": object.get(rule, "unknown", set()),
	}
]

# Inferform itself asks for the outcomes rule by rule, which is quicker in its engine, and hands them to this function.
report_of(found) := {
	"rules": [object.union(outcome.about, {"id": outcome.id, "subjects": outcome.subjects}) | some outcome in found],
	"results": array.concat(
		array.concat(failed(judged(found)), undecided(judged(found))),
		array.concat(missed(judged(found)), skipped(found)),
	),
}

judged(found) := [outcome | some outcome in found; count(lacks(outcome)) == 0]

lacks(outcome) := [need | some need in object.get(outcome.about, "needs", []); need in absent]

absent := [section |
	some section in ["spec", "plan", "objects", "terraform", "files"]
	not input[section]
]

failed(found) := [{"id": outcome.id, "result": "fail", "address": finding.address, "message": finding.message} |
	some outcome in found
	some finding in outcome.fail
]

undecided(found) := [{"id": outcome.id, "result": "unknown", "address": finding.address, "message": finding.message} |
	some outcome in found
	some finding in outcome.unknown
]

# Nothing to look at where something must be.
missed(found) := [{"id": outcome.id, "result": "fail", "address": "", "message": sprintf("found nothing to check, but %s", [reason])} |
	some outcome in found
	outcome.subjects == 0
	some reason in outcome.expects
]

skipped(found) := array.concat(
	[{"id": outcome.id, "result": "not_applicable", "address": "", "message": sprintf("the document has no %s", [need])} |
		some outcome in found
		some need in lacks(outcome)
	],
	[{"id": outcome.id, "result": "not_applicable", "address": "", "message": "nothing of the kind is planned"} |
		some outcome in judged(found)
		outcome.subjects == 0
		count(outcome.expects) == 0
		count(outcome.fail) == 0
	],
)

# What conftest reads.
deny contains {"msg": text(item), "id": item.id, "address": item.address} if {
	some item in report.results
	item.result == "fail"
	item.id in denying
}

warn contains {"msg": text(item), "id": item.id, "address": item.address} if {
	some item in report.results
	item.result == "fail"
	not item.id in denying
}

warn contains {"msg": text(item), "id": item.id, "address": item.address} if {
	some item in report.results
	item.result == "unknown"
}

denying := {outcome.id | some outcome in outcomes; outcome.about.severity == "deny"}

text(item) := sprintf("%s %s: %s", [item.id, item.address, item.message])
