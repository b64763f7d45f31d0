#!/bin/bash
# The public Bigtable API beside the in-memory server that ships with the
# official Go client (Debian's golang-google-cloud-dev), or beside the emulator
# named by $BIGTABLE_EMULATOR, which is started with its port as --port: both
# under one load generator on that client.
#
#     tests/bench/gateway.sh [--quick]
#
# 20,000 rows of one cell of 1,000 bytes, one connection, 64 calls at once. The
# client needs as much CPU as a server, so the figure that counts is the
# server's CPU time per row: ours includes the synced log, flushes and
# compactions, while the peer keeps everything in memory. Each figure is the
# median of three runs, ours and the peer's taken in turn.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=${QUARRY_BUILD:-build/bench}
quarry=$(readlink -f "$build/quarry")
runs=3 seconds=3
[ "${1:-}" != --quick ] || runs=1 seconds=1

leave() {
    echo "SKIPPED: $1" >&2
    exit 0
}
load=${QUARRY_SHARED:-../shared}/bench/bigtable-load/main.go
[ -f "$load" ] || leave "the load generator is not here ($load)"
command -v go >/dev/null || leave "there is no go"
[ -d /usr/share/gocode/src/cloud.google.com/go/bigtable ] ||
    leave "golang-google-cloud-dev is not installed"

tools=$build/gateway-peers
mkdir -p "$tools"
tools=$(readlink -f "$tools")
load=$(readlink -f "$load")
export GO111MODULE=off GOPATH=/usr/share/gocode GOFLAGS=
[ -x "$tools/load" ] || go build -o "$tools/load" "$load"
if [ -z "${BIGTABLE_EMULATOR:-}" ] && [ ! -x "$tools/bttest" ]; then
    cat >"$tools/bttest.go" <<'GO'
package main

import (
	"flag"
	"fmt"

	"cloud.google.com/go/bigtable/bttest"
	"google.golang.org/grpc"
)

func main() {
	port := flag.Int("port", 0, "")
	flag.Parse()
	_, err := bttest.NewServer(fmt.Sprintf("127.0.0.1:%d", *port),
		grpc.MaxRecvMsgSize(256<<20), grpc.MaxSendMsgSize(256<<20))
	if err != nil {
		panic(err)
	}
	select {}
}
GO
    go build -o "$tools/bttest" "$tools/bttest.go"
fi
peer=${BIGTABLE_EMULATOR:-$tools/bttest}

work=$(mktemp -d)
pid=
end() {
    [ -z "$pid" ] || { kill "$pid" && wait "$pid" || true; } 2>/dev/null
    pid=
}
trap 'end; rm -rf "$work"' EXIT

free_port() {
    python3 tests/cli/ports.py
}

# start ours|peer: a fresh server; sets pid and port.
start() {
    port=$(free_port)
    rm -rf "$work/data"
    if [ "$1" = ours ]; then
        "$quarry" server --data "$work/data" --roles gateway \
            --listen "127.0.0.1:$(free_port)" \
            --bigtable-api "127.0.0.1:$port" --log "$work/log" >/dev/null &
    else
        "$peer" --port "$port" >/dev/null 2>&1 &
    fi
    pid=$!
    for _ in $(seq 100); do
        (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && return
        sleep 0.1
    done
    echo "$1: no server" >&2
    exit 1
}

phases=randread,scan,seqwrite,randwrite,bulk100
for run in $(seq "$runs"); do
    for who in ours peer; do
        start "$who"
        BIGTABLE_EMULATOR_HOST=127.0.0.1:$port "$tools/load" -conc 64 \
            -secs "$seconds" -ops "fill,$phases" -pid "$pid" \
            >"$work/out.$who.$run"
        end
    done
done

# column WHO PHASE N: the median over the runs.
column() {
    cat "$work"/out."$1".* |
        awk -v p="$2" -v n="$3" '$1 == p { print $n }' | sort -g |
        awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

declare -A title=(
    [randread]="random read" [scan]="scan of 1,000 rows"
    [seqwrite]="sequential write" [randwrite]="random write"
    [bulk100]="bulk write of 100")
for phase in ${phases//,/ }; do
    awk -v t="${title[$phase]}" \
        -v o="$(column ours "$phase" 10)" -v p="$(column peer "$phase" 10)" \
        -v or="$(column ours "$phase" 4)" -v pr="$(column peer "$phase" 4)" \
        'BEGIN {
        printf "%s: server CPU\t%s\t%s\t%.2f\tµs/row\n", t, o, p, p / o
        printf "%s\t%s\t%s\t%.2f\trows/s\n", t, or, pr, or / pr
    }'
done
