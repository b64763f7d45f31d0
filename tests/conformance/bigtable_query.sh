#!/bin/bash
# Queries in GoogleSQL with the official Python client, against a gateway.
#
#     bigtable_query.sh QUARRY
#
# The client is installed by pip once and stays in build/conformance. Exit 77: it cannot
# run here.
set -uo pipefail
quarry=$(readlink -f "$1")
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
. "$here/bigtable_lib.sh"

version=2.50.2
home=$here/../../build/conformance/python-$version
mkdir -p "$home"
exec 9>"$home/lock" # Two tests may come at once; one fetches.
flock 9
if [ ! -f "$home/complete" ]; then
    python3 -m venv "$home/env" >"$bigtable_work/venv" 2>&1 ||
        { tail -3 "$bigtable_work/venv"; skip "there is no module venv"; }
    "$home/env/bin/pip" install --quiet --disable-pip-version-check \
        "google-cloud-bigtable==$version" >"$bigtable_work/pip" 2>&1 ||
        { tail -5 "$bigtable_work/pip"; skip "pip cannot fetch the client"; }
    touch "$home/complete"
fi
exec 9>&-

"$quarry" sql -c "SELECT 1" >"$bigtable_work/duckdb" 2>&1 || {
    cat "$bigtable_work/duckdb"
    skip "DuckDB is not here, or was not when quarry was built"
}
# DuckDB keeps what it made for the process.
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0
bigtable_start "$quarry"
export BIGTABLE_EMULATOR_HOST=$bigtable_address
timeout 300 "$home/env/bin/python" "$here/bigtable_query.py"
