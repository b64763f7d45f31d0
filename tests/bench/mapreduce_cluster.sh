#!/bin/bash
# Jobs on nodes of a cluster on this machine: word_count beside the local engine,
# its results compared; the smallest job, and how soon its task runs; ten thousand
# tasks; and on eight workers what it costs when one is stopped for the whole job
# and when two are killed in the midst of it.
#
#     tests/bench/mapreduce_cluster.sh [--quick] [PART]…
#
# PARTs are words, small, tasks, stopped and killed, losses stands for the last
# two; all of them if none is named. 1 GB of text, or 100 MB; the best of
# BENCH_RUNS (3) runs of each counts. The text is made by a program in
# ../shared/bench/mapreduce, without which there is nothing to measure.
#
# Environment: QUARRY_BUILD (default build/bench), BENCH_DIR (default
# build/bench/data), BENCH_RUNS, QUARRY_SHARED.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

here=$(pwd)
build=$(realpath "${QUARRY_BUILD:-build/bench}")
data=${BENCH_DIR:-$build/data}/mapreduce_cluster
source=${QUARRY_SHARED:-../shared}/bench/mapreduce/gentext.c
runs=${BENCH_RUNS:-3}
bytes=1000000000
tasks=10000
if [ "${1:-}" = --quick ]; then
    bytes=100000000
    tasks=1000
    shift
fi
parts=" ${*:-words small tasks losses} "
parts=${parts/ losses / stopped killed }

if [ ! -r "$source" ]; then
    echo "mapreduce_cluster: SKIPPED: $source is not here" >&2
    exit 0
fi
mkdir -p "$data"
data=$(realpath "$data")
cc -O2 "$source" -o "$data/gentext"
cd "$data"
quarry=$build/quarry
cluster=
number=0
workers=()
finish() {
    [ "${#workers[@]}" -eq 0 ] || kill -CONT "${workers[@]}" 2>/dev/null || true
    [ "${#workers[@]}" -eq 0 ] || kill -9 "${workers[@]}" 2>/dev/null || true
    for cell in "$data"/cell*; do
        "$quarry" cluster stop --data "$cell" >/dev/null 2>&1 || true
    done
    rm -rf "$data"
}
trap finish EXIT

wanted() {
    [[ $parts == *" $1 "* ]]
}
# cell NAME: a cluster of three nodes.
cell() {
    "$quarry" cluster start -n 3 --data "$data/$1" >&2
    cluster=cluster:$data/$1
}
job() {
    "$quarry" -t "$cluster" job "$@"
}
# await COMMAND…: until it succeeds.
await() {
    local i
    for ((i = 0; i < 1200; i++)); do
        ! "$@" >/dev/null 2>&1 || return 0
        sleep 0.05
    done
    echo "gave up waiting for: $*" >&2
    exit 1
}
./gentext "$bytes" 1 >text

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

# output NAME: the bytes of an output in the cell.
output() {
    local part
    "$quarry" -t "$cluster" fs ls "$1" --format csv |
        grep -o '/out.*/part-[0-9]*' | while read -r part; do
        "$quarry" -t "$cluster" fs cat "$part"
    done
}

words() {
    "$quarry" -t "$cluster" fs put text /text
    best local "$quarry" -t "file:$data/store" job run word_count \
        --input "file:$data/text" --output "file:$data/out@"
    mine=$(cat "out$number"/part-* | sums)
    best there job run word_count --input file:/text --output file:/out@
    [ "$mine" = "$(output "/out$number" | sums)" ] || {
        echo "the results differ" >&2
        exit 1
    }
    row "word_count of $((bytes / 1000000)) MB, three nodes, beside the local engine" \
        "$there" "$local"
}

# How long after the command was begun the mapper's process ran.
first_task() {
    local least='' began ran taken
    for _ in $(seq 5); do
        number=$((number + 1))
        began=$(date +%s%N)
        job run --mapper 'date +%s%N; cat >/dev/null' --input file:/line \
            --output "file:/out$number" >said 2>&1 || { cat said >&2; exit 1; }
        ran=$(output "/out$number" | grep -o '[0-9]*' | sed -n 1p)
        taken=$(((ran - began) / 1000))
        [ -n "$least" ] && [ "$least" -le "$taken" ] || least=$taken
    done
    row "from the shell to the first task, beside the bar of 0.1 s" \
        "$(echo "scale=6; $least / 1000000" | bc)" 0.1
}
small() {
    printf 'one\n' >line
    "$quarry" -t "$cluster" fs put line /line
    best one job run word_count --input file:/line --output file:/out@
    row "a job of one record, three nodes, beside the bar of 0.3 s" "$one" 0.3
    first_task
}

# A line a task.
tasks() {
    local count
    seq -f '%099.0f' "$tasks" >lines
    "$quarry" -t "$cluster" fs put lines /lines
    best all job run word_count --input file:/lines --output file:/out@ \
        --split 100 --reducers 2
    count=$(job counters last --format csv | sed -n 's/^shuffle.runs,//p')
    row "$count tasks, each, in ms, beside the bar of 3 ms" \
        "$(echo "scale=6; $all * 1000 / $count" | bc)" 3 | sed 's/s$/ms/'
}

# worker N: a process that is a worker and nothing else, of one slot.
worker() {
    local dir=$data/losses/w$1 port
    port=$(python3 "$here/tests/cli/ports.py")
    mkdir -p "$dir"
    sed -e "s|^name = .*|name = w$1|" -e "s|^data = .*|data = \"$dir\"|" \
        -e '/^console/d' -e "s|^listen = .*|listen = 127.0.0.1:$port|" \
        -e "s|^roles = .*|roles = worker|" -e "s|^log = .*|log = \"$dir/log\"|" \
        -e "s|^pid-file = .*|pid-file = \"$dir/pid\"|" \
        "$data/cell8/n1/server.conf" >"$dir/server.conf"
    printf '[worker]\nslots = 1\n' >>"$dir/server.conf"
    rm -f "$dir/pid"
    setsid "$quarry" server --config "$dir/server.conf" >"$dir/out" 2>&1 &
    workers+=($!)
}
# tree PID: it and all below it.
tree() {
    echo "$1"
    local child
    for child in $(pgrep -P "$1"); do
        tree "$child"
    done
}
up() {
    [ "$(job workers --format csv | grep -c ',up')" -eq "$1" ]
}
# done_maps SHARE: has the running job done that many percent of its tasks?
done_maps() {
    job list --format csv | awk -F, -v share="$1" '
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $at["state"] == "running" && $at["tasks"] > 10 &&
            $at["done"] * 100 >= share * $at["tasks"] { found = 1 }
        END { exit !found }'
}
undisturbed() {
    job run word_count --input file:/text --output "file:/out$1" \
        --split "$((bytes / 60))" --reducers 8
}
# disturbed NUMBER SHARE SIGNAL WORKER…: the same; once so much is done the
# workers get the signal.
disturbed() {
    local out=$1 share=$2 signal=$3 pids=() w
    shift 3
    undisturbed "$out" &
    local run=$!
    await done_maps "$share"
    # At once: to look for what they have started takes a while. Attempts of a
    # server that was killed end with it.
    for w in "$@"; do
        kill "-$signal" "$(cat "$data/losses/w$w/pid")"
    done
    for w in "$@"; do
        # shellcheck disable=SC2207
        pids+=($(tree "$(cat "$data/losses/w$w/pid")"))
    done
    kill "-$signal" "${pids[@]}" 2>/dev/null || true
    local status=0
    wait "$run" || status=$?
    [ "$signal" != STOP ] || kill -CONT "${pids[@]}" 2>/dev/null || true
    return "$status"
}
# eight: workers, on three nodes that are none; an undisturbed run.
eight() {
    local w
    cell cell8
    "$quarry" cluster stop --data "$data/cell8" >/dev/null
    sed -i 's/^roles = .*/roles = lock,namenode,chunk,jobs/' \
        "$data"/cell8/n*/server.conf
    "$quarry" cluster start --data "$data/cell8" >&2
    for w in 1 2 3 4 5 6 7 8; do
        worker "$w"
    done
    await up 8
    "$quarry" -t "$cluster" fs put text /text
    best whole undisturbed @
    want=$(output "/out$number" | sums)
}
same() {
    [ "$want" = "$(output "/out$number" | sums)" ] || {
        echo "the results differ" >&2
        exit 1
    }
}
stopped() {
    best stopped disturbed @ 1 STOP 3
    same
    row "word_count, 8 workers, one stopped, beside 1.4 x undisturbed" \
        "$stopped" "$(echo "scale=6; $whole * 1.4" | bc)"
    await up 8
}
killed() {
    local runs=1
    best killed disturbed @ 45 KILL 2 5
    same
    row "word_count, 8 workers, two killed midway, beside 1.25 x and their share" \
        "$killed" "$(echo "scale=6; $whole * (1.25 + 0.25)" | bc)"
}

if wanted words || wanted small || wanted tasks; then
    cell cell
    ! wanted small || small
    ! wanted tasks || tasks
    ! wanted words || words
    "$quarry" cluster stop --data "$data/cell" >/dev/null
fi
if wanted stopped || wanted killed; then
    eight
    ! wanted stopped || stopped
    ! wanted killed || killed
fi
