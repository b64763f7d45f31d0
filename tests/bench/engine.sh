#!/bin/bash
# The engine beside LevelDB and RocksDB: fills, reads, scans, group commit.
#
#     tests/bench/engine.sh [--quick]
#
# Every phase runs on all stores one after the other, each in its own process
# on its own directory, so that they meet the same machine. Per phase there are
# two figures: the rate, and the CPU time of an operation, background work
# included. The peer is the better of the two. RocksDB is the only peer with
# zstd, which Debian's LevelDB cannot do, and for cold reads: LevelDB maps its
# files, and the kernel's read-around of 128 KiB a fault warms all of them up
# within the first thousands of reads.
#
# Environment: QUARRY_BUILD (default build/bench), BENCH_DIR (default
# build/bench/data), BENCH_N (rows; default 1,000,000), BENCH_CONFIGS.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

build=${QUARRY_BUILD:-build/bench}
data=${BENCH_DIR:-$build/data}/engine
n=${BENCH_N:-1000000}
configs=${BENCH_CONFIGS:-"none:8192 none:65536 zstd:8192 zstd:65536"}
if [ "${1:-}" = --quick ]; then
    n=100000
    configs="none:8192 zstd:65536"
fi
commits=$((n / 20))
reads=$((n / 2))
mkdir -p "$data"
trap 'rm -rf "$data"' EXIT

# Phases: name, what to do with the directory, arguments of the program.
phases="
fillseq          fresh phase=fillseq
fillrandom       fresh phase=fillrandom
fillrandom_100   fresh phase=fillrandom batch=100
compact          keep  phase=compact
readrandom_hot   keep  phase=readhot cache=4096 ops=$reads
readrandom_warm  keep  phase=readwarm ops=$reads
readmissing      keep  phase=readmissing ops=$n
scan             keep  phase=scan
readrandom_cold  keep  phase=readcold threads=16 drop=1 ops=$((reads / 4))
overwrite        keep  phase=overwrite
commit_sync_16   fresh phase=fillrandom threads=16 sync=1 ops=$commits
"

# one STORE CONFIG FRESH ARGUMENT…: "rate cpu p99" of one run.
one() {
    local store=$1 config=$2 fresh=$3
    shift 3
    local dir=$data/$store
    [ "$fresh" = keep ] || rm -rf "$dir"
    mkdir -p "$dir"
    "$build/tests/bench/bench_engine_$store" "dir=$dir" "n=$n" \
        "compression=${config%:*}" "block=${config#*:}" "$@" |
        awk -F '\t' '{ print $3, $4, $5 }'
}

# Lines "store rate cpu p99" on standard input become figures.
figures() {
    awk -v name="$1" '
        $1 == "quarry" { rate = $2; cpu = $3; p99 = $4; next }
        $2 > best { best = $2 }
        least == "" || $3 < least { least = $3 }
        slow == "" || $4 < slow { slow = $4 }
        END {
            OFS = "\t"
            print name, rate, best, sprintf("%.2f", rate / best), "op/s"
            print name "/cpu", cpu, least, sprintf("%.2f", least / cpu), "us/op"
            if (name ~ /commit_sync/)
                print name "/p99", p99, slow, sprintf("%.2f", slow / p99), "us"
        }'
}

for config in $configs; do
    stores="quarry rocksdb"
    [ "${config%:*}" = zstd ] || stores="$stores leveldb"
    label=${config%:*}-$((${config#*:} / 1024))k
    while read -r name fresh arguments; do
        [ -n "$name" ] || continue
        for store in $stores; do
            [ "$name-$store" != readrandom_cold-leveldb ] || continue
            # shellcheck disable=SC2086 — arguments are words.
            echo "$store $(one "$store" "$config" "$fresh" $arguments)"
        done | figures "engine/$label/$name"
    done <<< "$phases"
    rm -rf "${data:?}"/*
done
