# How findings say numbers and lists.
package inferform.lib.wording

import rego.v1

# At most one decimal: 12.3, 40200.
rounded(number) := round(number * 10) / 10

# Trimming nothing changes nothing; regopy 1.5 quotes what concat gives inside a longer text otherwise.
listed(values) := trim_prefix(concat(", ", values), "")

gib(bytes) := rounded(bytes / 1073741824)
