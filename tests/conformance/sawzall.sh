#!/bin/bash
# The published language tests through `quarry szl`.
#
#     tests/conformance/sawzall.sh QUARRY
#
# Needs ../shared/conformance/sawzall (run.py, tests.tsv, expected) and the
# suite itself, src/engine/language_tests of google/szl, at $QUARRY_SZL_SUITE or
# beside run.py as `suite`. Without them the test is skipped, and says so.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
quarry=$(realpath "$1")
runner=${QUARRY_SHARED:-$PWD/../shared}/conformance/sawzall
suite=${QUARRY_SZL_SUITE:-$runner/suite}
# Fewer than these is a step back.
floor=351
if [ ! -e "$runner/run.py" ] || [ ! -d "$suite" ]; then
    echo "SKIPPED: conformance/sawzall needs $runner/run.py and the suite at" \
        "$suite (QUARRY_SZL_SUITE)"
    exit 77
fi
out=$(python3 "$runner/run.py" "$suite" "$quarry" szl | cut -c1-200)
echo "$out"
passed=$(echo "$out" | sed -n 's/^\([0-9]*\) passed.*/\1/p')
[ "${passed:-0}" -ge "$floor" ]
