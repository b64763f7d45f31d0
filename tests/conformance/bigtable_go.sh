#!/bin/bash
# The integration tests of the official Go client for Bigtable, as Debian ships
# them, against a gateway.
#
#     bigtable_go.sh QUARRY [-test.OPTION…]
#
# The tests start an in-memory server of their own; a copy is made whose
# environment connects to ours instead, without TLS. Exit 77: it cannot run
# here.
set -uo pipefail
quarry=$(readlink -f "$1")
shift
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
. "$here/bigtable_lib.sh"

package=/usr/share/gocode/src/cloud.google.com/go/bigtable
[ -f "$package/integration_test.go" ] ||
    skip "the package golang-google-cloud-dev is not installed"
command -v go >/dev/null || skip "there is no go"

# build_suite FILE: the suite as one program.
build_suite() {
    local copy=$bigtable_work/go/src/cloud.google.com/go/bigtable
    # The copy shadows the installed package: it comes first in GOPATH.
    mkdir -p "$bigtable_work/go/src/cloud.google.com"
    cp -r "$(dirname "$package")" "$bigtable_work/go/src/cloud.google.com"
    patch_suite "$copy/export_test.go"
    (cd "$copy" && GO111MODULE=off GOFLAGS= \
        GOPATH=$bigtable_work/go:/usr/share/gocode \
        go test -vet=off -c -o "$1.new" . && mv "$1.new" "$1")
}

# patch_suite FILE
patch_suite() {
    python3 - "$1" <<'PATCH'
import re
import sys

path = sys.argv[1]
text = open(path).read()
# Tests ask "is this the real service?" to decide what to run: everything that
# needs nothing but the API is run.
text = text.replace(
    'srv, err := bttest.NewServer("localhost:0", '
    'grpc.MaxRecvMsgSize(200<<20), grpc.MaxSendMsgSize(100<<20))',
    'var err error\n\tsrv := &bttest.Server{Addr: '
    'os.Getenv("GATEWAY_ADDRESS")}')
text = text.replace("e.server.Close()", "")
text = text.replace("env := &EmulatedEnv{",
                    "config.UseProd = true\n\tconfig.Cluster = "
                    'config.Instance + "-cluster"\n\tenv := &EmulatedEnv{')
text = text.replace("(*InstanceAdminClient, error) {\n\treturn nil, nil",
                    "(*InstanceAdminClient, error) {\n"
                    "\tconn, err := grpc.Dial(e.server.Addr, "
                    "grpc.WithInsecure(), grpc.WithBlock())\n"
                    "\tif err != nil {\n\t\treturn nil, err\n\t}\n"
                    "\tc, err := NewInstanceAdminClient("
                    "context.Background(), e.config.Project, "
                    "option.WithGRPCConn(conn))\n"
                    "\tif err == nil { // The one the tests count on.\n"
                    "\t\tc.CreateInstance(context.Background(), "
                    "&InstanceConf{InstanceId: e.config.Instance, "
                    "DisplayName: e.config.Instance, "
                    "ClusterId: e.config.Cluster, Zone: \"zone\", "
                    "NumNodes: 3, InstanceType: PRODUCTION})\n\t}\n"
                    "\treturn c, err")
text = text.replace('"flag"', '"flag"\n\t"os"')
open(path, "w").write(text)
PATCH
}

# It is built once, for a directory and for a cell.
kept=$here/../../build/conformance/go
mkdir -p "$kept"
sum=$({ go version; cat "$here/bigtable_go.sh" "$package"/*.go; } |
    sha256sum | cut -c 1-16)
suite=$kept/bigtable-$sum
exec 9>"$kept/lock" # Two tests may come at once; one builds.
flock 9
if [ ! -x "$suite" ]; then
    build_suite "$suite" || exit 1
fi
exec 9>&-

bigtable_start "$quarry"
export GATEWAY_ADDRESS=$bigtable_address
unset BIGTABLE_EMULATOR_HOST
cd "$package" || exit 1
"$suite" -test.run TestIntegration -test.v -test.timeout 900s \
    -test.skip 'AdminCreateInstance|InstanceAdminClient_AppProfile' -it.instance-to-create made-by-test "$@" \
    >"$bigtable_work/out" 2>&1
status=$?
grep -E '^ *--- |^(ok|FAIL|PASS|panic)|integration_test.go:' "$bigtable_work/out"
passed=$(grep -c '^--- PASS' "$bigtable_work/out")
skipped=$(grep -c '^--- SKIP' "$bigtable_work/out")
failed=$(grep -c '^--- FAIL' "$bigtable_work/out")
[ "$passed" -gt 0 ] || tail -40 "$bigtable_work/out"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$status" -eq 0 ] && [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
