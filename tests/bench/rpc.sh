#!/bin/bash
# Calls beside a plain libuv echo: 100 bytes and 64 KiB, 1, 64 and 256 under way
# on one connection over loopback. The peer has a length before each message and
# nothing else: no checksums, deadlines, cancellation or back-pressure.
#
#     tests/bench/rpc.sh [--quick]
#
# Each figure is the median of five runs, ours and the peer's taken in turn: the
# rate, and the CPU time of a call on both sides together.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=${QUARRY_BUILD:-build/bench}
runs=5
[ "${1:-}" != --quick ] || runs=1
programs=$(dirname "$(find "$build" -name bench_rpc_quarry -type f | sed -n 1p)")

median() { sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

for bytes in 100 65536; do
    for in_flight in 1 64 256; do
        calls=100000
        [ "$bytes" -lt 1000 ] || calls=20000
        [ "$in_flight" -gt 1 ] || calls=$((calls / 4))
        ours="" peer=""
        for _ in $(seq "$runs"); do
            ours+=$("$programs/bench_rpc_quarry" "$bytes" "$in_flight" \
                "$calls")$'\n'
            peer+=$("$programs/bench_rpc_libuv" "$bytes" "$in_flight" \
                "$calls")$'\n'
        done
        for field in 1 2; do
            o=$(printf %s "$ours" | cut -d' ' -f$field | median)
            p=$(printf %s "$peer" | cut -d' ' -f$field | median)
            awk -v b="$bytes" -v k="$in_flight" -v f="$field" -v o="$o" \
                -v p="$p" 'BEGIN {
                name = sprintf("echo of %d bytes, %d under way", b, k)
                if (f == 1)
                    printf "%s\t%s\t%s\t%.2f\tcalls/s\n", name, o, p, o / p
                else
                    printf "%s: CPU\t%s\t%s\t%.2f\tµs\n", name, o, p, p / o
            }'
        done
    done
done
