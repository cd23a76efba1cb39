# How findings say numbers and lists.
package inferform.lib.wording

import rego.v1

# A whole number: 40200.
whole(number) := sprintf("%d", [round(number)])

# One decimal: 12.3. Put together from whole numbers, because engines write fractions each in their own way.
decimal(number) := sprintf("%d.%d", [floor(tenths / 10), tenths % 10]) if tenths := round(number * 10)

gib(bytes) := decimal(bytes / 1073741824)

# Trimming nothing changes nothing; regopy 1.5 quotes what concat gives inside a longer text otherwise.
listed(values) := trim_prefix(concat(", ", values), "")
