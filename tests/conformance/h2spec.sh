#!/bin/bash
# h2spec, the suite of RFC 9113 and RFC 7541 for servers, against a gateway.
#
#     h2spec.sh QUARRY
#
# Exit 77: it cannot run here.
set -uo pipefail
quarry=$(readlink -f "$1")
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
. "$here/bigtable_lib.sh"

h2spec=$(command -v h2spec || echo "$HOME/go/bin/h2spec")
[ -x "$h2spec" ] || skip "there is no h2spec: scripts/deps conformance installs it"

bigtable_start "$quarry"
"$h2spec" -h "${bigtable_address%:*}" -p "${bigtable_address##*:}" -o 20 \
    --path /google.bigtable.v2.Bigtable/PingAndWarm >"$bigtable_work/out" 2>&1
status=$?
grep -F -A 8 '×' "$bigtable_work/out"
grep -E '^[0-9]+ tests, ' "$bigtable_work/out" || {
    tail -n 20 "$bigtable_work/out"
    exit 1
}
exit "$status"
