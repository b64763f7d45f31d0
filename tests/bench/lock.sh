#!/bin/bash
# The replicated log under the lock service beside libraft: three processes over
# loopback, commands of 16 bytes from within the leader, 1, 16 and 128 under
# way; and how long a killed leader is missed.
#
#     tests/bench/lock.sh [--quick]
#
# libraft gets group commit around it and the election's times that are our
# default. Each figure is the median of nine runs of a second, ours and the
# peer's in turn.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=${QUARRY_BUILD:-build/bench}
runs=9 seconds=1
[ "${1:-}" != --quick ] || runs=1
programs=$(dirname "$(find "$build" -name bench_lock_quarry -type f | sed -n 1p)")
work=$(mktemp -d "$build/lock.XXXXXX")
trap 'rm -rf "$work"' EXIT

# On the first run only: what is not there is said once.
peer=$programs/bench_lock_libraft
[ -x "$peer" ] || echo "lock: libraft-dev is not installed: no peer" >&2

median() { sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

# run PROGRAM ARGUMENT…: its line, in a fresh directory.
run() {
    local program=$1 directory
    shift
    [ -x "$program" ] || { echo; return; }
    directory=$(mktemp -d "$work/cell.XXXXXX")
    timeout 60 "$program" "$directory" "$@"
    rm -rf "$directory"
}

# figure NAME OURS PEER UNIT: more is better, but where the unit is a time.
figure() {
    awk -v n="$1" -v o="$2" -v p="$3" -v u="$4" 'BEGIN {
        if (p == "")
            printf "%s\t%s\t\t\t%s\n", n, o, u
        else
            printf "%s\t%s\t%s\t%.2f\t%s\n", n, o, p,
                (u ~ /\/s$/) ? o / p : p / o, u
    }'
}

for in_flight in 1 16 128; do
    ours="" theirs=""
    for _ in $(seq "$runs"); do
        ours+=$(run "$programs/bench_lock_quarry" "$in_flight" "$seconds")$'\n'
        theirs+=$(run "$peer" "$in_flight" "$seconds")$'\n'
    done
    names=("commits, $in_flight under way" "latency p50" "latency p99")
    units=(commits/s µs µs)
    for field in 1 2 3; do
        name=${names[$((field - 1))]}
        [ "$field" -eq 1 ] || name="${names[0]}: $name"
        figure "$name" \
            "$(printf %s "$ours" | cut -d' ' -f$field | median)" \
            "$(printf %s "$theirs" | cut -d' ' -f$field | median)" \
            "${units[$((field - 1))]}"
    done
done
ours=""
for _ in $(seq "$runs"); do
    ours+=$(run "$programs/bench_lock_quarry" kill)$'\n'
done
figure "a killed leader is missed for" "$(printf %s "$ours" | median)" "" ms
