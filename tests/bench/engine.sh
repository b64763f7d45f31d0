#!/bin/bash
# The engine beside LevelDB and RocksDB: fills, reads, scans, group commit.
#
#     tests/bench/engine.sh [OPTION…]
#         --quick          100,000 rows, none:8192 and zstd:65536, one thread
#         --full           1,000,000 rows, all four configurations, 1 and 2
#                          threads, three times
#         --rows N         of 1,000 bytes each
#         --configs LIST   compression:block bytes, separated by spaces
#         --threads LIST   of readers and writers, separated by spaces
#         --phases LIST    only these, of those below; the fills make the data
#         --repeat N       print medians of N runs
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
# build/bench/data); BENCH_N and BENCH_CONFIGS are defaults of --rows and
# --configs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

build=${QUARRY_BUILD:-build/bench}
data=${BENCH_DIR:-$build/data}/engine
all_configs="none:8192 zstd:65536 none:65536 zstd:8192"
n=${BENCH_N:-1000000}
configs=${BENCH_CONFIGS:-$all_configs}
threads=1
repeat=1
wanted=
while [ "$#" -gt 0 ]; do
    case $1 in
    --quick) n=100000 configs="none:8192 zstd:65536" ;;
    --full) n=1000000 configs=$all_configs threads="1 2" repeat=3 ;;
    --rows) n=$2 && shift ;;
    --configs) configs=$2 && shift ;;
    --threads) threads=$2 && shift ;;
    --phases) wanted=" $2 " && shift ;;
    --repeat) repeat=$2 && shift ;;
    *) echo "engine: unknown option $1" >&2 && exit 2 ;;
    esac
    shift
done
commits=$((n / 20))
reads=$((n / 2))
mkdir -p "$data"
trap 'rm -rf "$data"' EXIT

# Phases: name, what to do with the directory, arguments of the program. Those
# with threads of their own run only beside one thread.
phases="
fillseq          fresh phase=fillseq
fillrandom       fresh phase=fillrandom
fillrandom_100   fresh phase=fillrandom batch=100
compact          keep  phase=compact
scan_first       keep  phase=scan drop=1
readrandom_hot   keep  phase=readhot cache=4096 ops=$reads
readrandom_warm  keep  phase=readwarm ops=$reads
readskewed       keep  phase=readskewed ops=$n
readmissing      keep  phase=readmissing ops=$n
scan             keep  phase=scan
readrandom_cold  keep  phase=readcold threads=16 drop=1 ops=$((reads / 4))
overwrite        keep  phase=overwrite
readskewed_runs  keep  phase=readskewed ops=$n
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

# Lines "phase store rate cpu p99" of one or more runs on standard input become
# figures: medians of each store, beside the better peer.
figures() {
    awk -v label="$1" '
        function median(list,    v, k, i, j, t) {
            k = split(list, v, " ")
            for (i = 2; i <= k; i++)
                for (j = i; j > 1 && v[j - 1] + 0 > v[j] + 0; j--) {
                    t = v[j]; v[j] = v[j - 1]; v[j - 1] = t
                }
            return k % 2 ? v[(k + 1) / 2] : (v[k / 2] + v[k / 2 + 1]) / 2
        }
        {
            if (!($1 in seen)) { seen[$1] = 1; order[++phases] = $1 }
            stores[$2] = 1
            for (i = 3; i <= 5; i++)
                all[$1, $2, i] = all[$1, $2, i] " " $i
        }
        END {
            OFS = "\t"
            for (k = 1; k <= phases; k++) {
                p = order[k]
                best = 0; least = 0; slow = 0
                for (s in stores) {
                    if (s == "quarry" || !((p, s, 3) in all)) continue
                    r = median(all[p, s, 3]); c = median(all[p, s, 4])
                    l = median(all[p, s, 5])
                    if (r > best) best = r
                    if (!least || c < least) least = c
                    if (!slow || l < slow) slow = l
                }
                rate = median(all[p, "quarry", 3])
                cpu = median(all[p, "quarry", 4])
                p99 = median(all[p, "quarry", 5])
                name = label "/" p
                if (rate <= 0 || cpu <= 0 || !least) continue
                print name, rate, best, sprintf("%.2f", rate / best), "op/s"
                print name "/cpu", cpu, least, sprintf("%.2f", least / cpu), "us/op"
                if (p ~ /commit_sync/)
                    print name "/p99", p99, slow, sprintf("%.2f", slow / p99), "us"
            }
        }'
}

# round CONFIG THREADS: all phases once, on all stores: "phase store rate cpu p99".
round() {
    local config=$1 count=$2 name fresh arguments store
    local stores="quarry rocksdb"
    [ "${config%:*}" = zstd ] || stores="$stores leveldb"
    while read -r name fresh arguments; do
        [ -n "$name" ] || continue
        case $wanted in "" | *" $name "*) ;; *) continue ;; esac
        case $arguments in
        *threads=*) [ "$count" = 1 ] || continue ;;
        *) arguments="$arguments threads=$count" ;;
        esac
        for store in $stores; do
            [ "$name-$store" != readrandom_cold-leveldb ] || continue
            # shellcheck disable=SC2086 — arguments are words.
            echo "$name $store $(one "$store" "$config" "$fresh" $arguments)"
        done
    done <<< "$phases"
}

for count in $threads; do
    for config in $configs; do
        label=engine/${config%:*}-$((${config#*:} / 1024))k
        [ "$count" = 1 ] || label=$label-${count}t
        for ((i = 0; i < repeat; i++)); do
            round "$config" "$count"
            rm -rf "${data:?}"/*
        done | figures "$label"
    done
done
