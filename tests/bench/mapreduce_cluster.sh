#!/bin/bash
# The same job by the local engine and by three nodes of a cluster on this
# machine: word_count, its results compared; and a job of one record.
#
#     tests/bench/mapreduce_cluster.sh [--quick]
#
# 1 GB of text, or 100 MB; the best of BENCH_RUNS (3) runs of each counts. The
# text is made by a program in ../shared/bench/mapreduce, without which there is
# nothing to measure.
#
# Environment: QUARRY_BUILD (default build/bench), BENCH_DIR (default
# build/bench/data), BENCH_RUNS, QUARRY_SHARED.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

build=$(realpath "${QUARRY_BUILD:-build/bench}")
data=${BENCH_DIR:-$build/data}/mapreduce_cluster
source=${QUARRY_SHARED:-../shared}/bench/mapreduce/gentext.c
runs=${BENCH_RUNS:-3}
bytes=1000000000
[ "${1:-}" != --quick ] || bytes=100000000

if [ ! -r "$source" ]; then
    echo "mapreduce_cluster: SKIPPED: $source is not here" >&2
    exit 0
fi
mkdir -p "$data"
data=$(realpath "$data")
cc -O2 "$source" -o "$data/gentext"
cd "$data"
quarry=$build/quarry
cluster=cluster:$data/cell
number=0
finish() {
    "$quarry" cluster stop --data "$data/cell" >/dev/null 2>&1 || true
    rm -rf "$data"
}
trap finish EXIT

./gentext "$bytes" 1 >text
printf 'one\n' >line
"$quarry" cluster start -n 3 --data "$data/cell" >&2
"$quarry" -t "$cluster" fs put text /text
"$quarry" -t "$cluster" fs put line /line

# best VARIABLE COMMAND…: the least wall time of some runs; @ in the command
# stands for a number of the run.
best() {
    local name=$1 least='' began taken
    shift
    for _ in $(seq "$runs"); do
        number=$((number + 1))
        began=$(date +%s.%N)
        "${@//@/$number}" >said 2>&1 || { cat said >&2; exit 1; }
        taken=$(echo "$(date +%s.%N) - $began" | bc)
        if [ -z "$least" ] || [ "$(echo "$taken < $least" | bc)" = 1 ]; then
            least=$taken
        fi
    done
    printf -v "$name" %s "$least"
}
row() {
    printf '%s\t%.3f\t%.3f\t%.3f\ts\n' "$1" "$2" "$3" \
        "$(echo "scale=6; $3 / $2" | bc)"
}
sums() {
    sort | sha256sum
}

local_job=("$quarry" -t "file:$data/store" job run word_count
           --input "file:$data/text" --output "file:$data/out@")
cell_job=("$quarry" -t "$cluster" job run word_count
          --input file:/text --output file:/out@)
best local "${local_job[@]}"
mine=$(cat "out$number"/part-* | sums)
best cell "${cell_job[@]}"
parts=$("$quarry" -t "$cluster" fs ls "/out$number" --format csv |
        grep -o '/out.*/part-[0-9]*')
theirs=$(for p in $parts; do "$quarry" -t "$cluster" fs cat "$p"; done | sums)
[ "$mine" = "$theirs" ] || { echo "the results differ" >&2; exit 1; }
row "word_count of $((bytes / 1000000)) MB, three nodes, beside the local engine" \
    "$cell" "$local"
best one "$quarry" -t "$cluster" job run word_count \
    --input file:/line --output file:/one@
row "a job of one record, three nodes, beside the bar of 0.3 s" "$one" 0.3
