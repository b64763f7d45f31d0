#!/bin/bash
# A walk through the API with the official Node.js client, against a gateway.
#
#     bigtable_node.sh QUARRY
#
# The client comes from npm once and stays in build/conformance. Exit 77: it
# cannot run here.
set -uo pipefail
quarry=$(readlink -f "$1")
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
. "$here/bigtable_lib.sh"

version=7.2.0
home=$here/../../build/conformance/node-$version
command -v node >/dev/null && command -v npm >/dev/null ||
    skip "there is no node or npm"
mkdir -p "$home"
exec 9>"$home/lock" # Two tests may come at once; one fetches.
flock 9
if [ ! -f "$home/complete" ]; then
    echo '{"private": true}' >"$home/package.json"
    (cd "$home" && npm install --no-audit --no-fund --ignore-scripts --silent \
        "@google-cloud/bigtable@$version" &&
        node -e 'require("@google-cloud/bigtable")') \
        >"$bigtable_work/npm" 2>&1 ||
        { tail -5 "$bigtable_work/npm"; skip "npm cannot fetch the client"; }
    touch "$home/complete"
fi
exec 9>&-

bigtable_start "$quarry"
export BIGTABLE_EMULATOR_HOST=$bigtable_address
NODE_PATH=$home/node_modules timeout 900 node "$here/bigtable_node.js"
