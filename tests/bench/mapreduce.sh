#!/bin/bash
# word_count and tera_sort over 1 GB beside what a user would take instead:
# DuckDB, GNU sort and Hadoop's runner of one machine, and beside plain C, the
# limit; the smallest job; links and ranks of a crawl beside a pipeline of python;
# a job of which one attempt is stopped.
#
#     tests/bench/mapreduce.sh [--quick | --full] [PART]…
#
# PARTs are words, sort, small, ranks, stopped, hadoop and, with --full, large: 4
# GB sorted with 512 MB of memory, in a memory cgroup where one can be made. All
# of them if none is named.
#
# Each program runs BENCH_RUNS times (3), in turn with its peer, and the best
# run of each counts: the first touch of memory is slow on virtual machines and
# other load only ever adds. The text and the records are made by the
# programs in ../shared/bench/mapreduce, without which there is nothing to
# measure. DuckDB is installed with npm into build/bench, Hadoop's jars with Maven;
# Hadoop gets a fifth of the input, as does the run of ours beside it.
#
# Environment: QUARRY_BUILD (default build/bench), BENCH_DIR (default
# build/bench/data), BENCH_RUNS, QUARRY_SHARED.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

build=$(realpath "${QUARRY_BUILD:-build/bench}")
data=${BENCH_DIR:-$build/data}/mapreduce
tools=$build/mapreduce-peers
shared=${QUARRY_SHARED:-../shared}/bench/mapreduce
runs=${BENCH_RUNS:-3}
bytes=1000000000
full=
parts="words sort small ranks stopped hadoop"
case ${1:-} in
--quick)
    bytes=100000000
    shift
    ;;
--full)
    full=1
    parts+=" large"
    shift
    ;;
esac
[ "$#" -eq 0 ] || parts=$*

wanted() {
    [[ " $parts " == *" $1 "* ]]
}
say() {
    echo "mapreduce: $*" >&2
}

if [ ! -r "$shared/gentext.c" ]; then
    say "SKIPPED: $shared is not here (set QUARRY_SHARED)"
    exit 0
fi
mkdir -p "$data" "$tools"
cage=/sys/fs/cgroup/memory/quarry-bench.$$
trap 'rm -rf "$data"; rmdir "$cage" 2>/dev/null || true' EXIT
crawl=$(realpath "$shared/../../data/crawl" 2>/dev/null || true)
links=$PWD/tests/bench/links.py
shared=$(realpath "$shared")
data=$(realpath "$data")

compile() {
    cc -O3 -march=native "$shared/$1.c" -o "$tools/$1" -lpthread 2>/dev/null
}
for tool in gentext genrec valrec sort_opt; do
    compile "$tool"
done
# The quickest word count known needs AVX-512; ours in C runs anywhere.
plain=("$build/tests/bench/bench_mapreduce" "$data/text" "$data/out.c" 2)
if grep -qw avx512bw /proc/cpuinfo && compile wc_opt; then
    plain=("$tools/wc_opt" "$data/text" "$data/out.c" 2)
else
    say "no AVX-512 here: the plain C peer is tests/bench/mapreduce.c"
fi
duck=$tools/duck
if [ ! -d "$duck/node_modules/@duckdb" ]; then
    mkdir -p "$duck"
    (cd "$duck" && npm init -y && npm install @duckdb/node-api) \
        >/dev/null 2>&1 || true
fi
cp -f "$shared/wcduck.mjs" "$duck/" 2>/dev/null || true

"$tools/gentext" "$bytes" 1 >"$data/text"
"$tools/genrec" $((bytes / 100)) >"$data/records"
quarry=("$build/quarry" -t "file:$data/store")

# seconds COMMAND…: wall time, in $wall; peak memory of one process, in $rss KB.
seconds() {
    local t
    rm -rf "$data"/out*
    t=$({ /usr/bin/time -f '%e %M' "$@" >/dev/null 2>"$data/said"; } 2>&1;
        tail -1 "$data/said")
    wall=${t% *}
    rss=${t#* }
}

# best A B: the least of $runs runs of the functions A and B, taken in turn.
best() {
    local i
    ours= peer=
    for ((i = 0; i < runs; i++)); do
        "$1"
        ours=$(printf '%s\n' $ours "$wall" | sort -g | sed -n 1p)
        "$2"
        peer=$(printf '%s\n' $peer "$wall" | sort -g | sed -n 1p)
    done
}

row() {
    awk -v f="$1" -v o="$ours" -v p="$peer" -v u="$2" 'BEGIN {
        printf "%s\t%s\t%s\t%.2f\t%s\n", f, o, p, p / (o > 0 ? o : 0.001), u }'
}

ours_words() {
    seconds "${quarry[@]}" job run word_count --input "file:$data/text" \
        --output "file:$data/out" --memory 384MiB
}
plain_words() {
    seconds "${plain[@]}"
}
duck_words() {
    (cd "$duck" && TMPDIR=$data node wcduck.mjs wc "$data/text" \
        "$data/out.duck" 2 512MB) >"$data/said" 2>&1 ||
        (cd "$duck" && TMPDIR=$data node wcduck.mjs wc "$data/text" \
            "$data/out.duck" 2) >"$data/said" 2>&1
    wall=$(awk '$1 == "wc" { print $2 }' "$data/said")
}
ours_sort() {
    seconds "${quarry[@]}" job run tera_sort --input "file:$data/records" \
        --output "file:$data/out" --memory 448MiB
}
gnu_sort() {
    seconds env LC_ALL=C sort --parallel=2 -S 512M -T "$data" -k1.1,1.10 \
        -o "$data/out.gnu" "$data/records"
}
plain_sort() {
    seconds "$tools/sort_opt" "$data/records" "$data/out.c" 2 512
}
one_record() {
    seconds "${quarry[@]}" job run word_count --input "file:$data/one" \
        --output "file:$data/out"
}
nothing() {
    wall=0.100
}
duck_sort() {
    (cd "$duck" && TMPDIR=$data node wcduck.mjs sort "$data/records" \
        "$data/out.duck" 2 2GB) >"$data/said" 2>&1
    wall=$(awk '$1 == "sort" { print $2 }' "$data/said")
}

has_duck=
[ ! -d "$duck/node_modules/@duckdb" ] || has_duck=1
[ -n "$has_duck" ] || say "SKIPPED: DuckDB could not be installed with npm"
if wanted words; then
    best ours_words plain_words
    row word_count_vs_plain_c s
    if [ -n "$has_duck" ]; then
        best ours_words duck_words
        row word_count_vs_duckdb s
    fi
fi

if wanted sort; then
    best ours_sort gnu_sort
    row tera_sort_vs_gnu_sort s
    best ours_sort plain_sort
    row tera_sort_vs_plain_c s
    if [ -n "$has_duck" ]; then
        best ours_sort duck_sort
        row tera_sort_vs_duckdb s
    fi
    "${quarry[@]}" job run tera_sort --input "file:$data/records" \
        --output "file:$data/sorted" --memory 448MiB >/dev/null 2>&1
    cat "$data"/sorted/part-* >"$data/sorted.all"
    "$tools/valrec" "$data/sorted.all" | grep 'unordered 0' >/dev/null || {
        say "tera_sort: the result is not in order"
        exit 1
    }
    rm -rf "$data"/sorted*
fi

if wanted small; then
    echo word >"$data/one"
    best one_record nothing
    row job_of_one_record_vs_limit s
fi

# --- Hadoop --------------------------------------------------------------------

# Its jars, brought once by Maven into the directory of tools.
hadoop=$tools/hadoop
hadoop_jars() {
    local version=3.3.6 g=org.apache.hadoop
    command -v java >/dev/null && command -v mvn >/dev/null || return 1
    [ ! -e "$hadoop/done" ] || return 0
    mkdir -p "$hadoop"
    {
        echo '<project xmlns="http://maven.apache.org/POM/4.0.0">'
        echo '<modelVersion>4.0.0</modelVersion><groupId>bench</groupId>'
        echo '<artifactId>peers</artifactId><version>1</version><dependencies>'
        while read -r group artifact its; do
            printf '<dependency><groupId>%s</groupId><artifactId>%s' \
                "$group" "$artifact"
            printf '</artifactId><version>%s</version></dependency>\n' "$its"
        done <<<"$g hadoop-client-runtime $version
$g hadoop-mapreduce-examples $version
commons-logging commons-logging 1.2
org.slf4j slf4j-simple 1.7.36"
        echo '</dependencies></project>'
    } >"$hadoop/pom.xml"
    (cd "$hadoop" && timeout 600 mvn -q -B dependency:copy-dependencies \
        -DoutputDirectory="$hadoop/jars") >"$hadoop/log" 2>&1 &&
        touch "$hadoop/done"
}
# Two maps and two reduces at a time, as ours.
hadoop_job() {
    seconds java -Xmx2g -cp "$hadoop/jars/*" \
        org.apache.hadoop.examples.ExampleDriver "$1" \
        -Dmapreduce.framework.name=local -Dhadoop.tmp.dir="$data/hadoop" \
        -Dmapreduce.local.map.tasks.maximum=2 \
        -Dmapreduce.local.reduce.tasks.maximum=2 -Dmapreduce.job.reduces=2 \
        -Dmapreduce.task.io.sort.mb=256 "file://$2" "file://$data/out.hadoop"
    [ -e "$data/out.hadoop/_SUCCESS" ] || {
        cat "$data/said" >&2
        exit 1
    }
}
hadoop_words() {
    hadoop_job wordcount "$data/text.fifth"
}
hadoop_sort() {
    hadoop_job terasort "$data/records.fifth"
}
ours_words_fifth() {
    seconds "${quarry[@]}" job run word_count --input "file:$data/text.fifth" \
        --output "file:$data/out" --memory 384MiB
}
ours_sort_fifth() {
    seconds "${quarry[@]}" job run tera_sort \
        --input "file:$data/records.fifth" --output "file:$data/out" \
        --memory 448MiB
}

if wanted hadoop; then
    if hadoop_jars; then
        all_runs=$runs
        runs=1
        head -c $((bytes / 5)) "$data/text" >"$data/text.fifth"
        head -c $((bytes / 500 * 100)) "$data/records" >"$data/records.fifth"
        best ours_words_fifth hadoop_words
        row "word_count_$((bytes / 5000000))mb_vs_hadoop" s
        best ours_sort_fifth hadoop_sort
        row "tera_sort_$((bytes / 5000000))mb_vs_hadoop" s
        runs=$all_runs
    else
        say "SKIPPED: Hadoop: its jars could not be had with java and mvn"
    fi
fi

# --- links and ranks -----------------------------------------------------------

our_ranks() {
    seconds bash -c '
        "$@" job run link_graph --input "table:webtable?columns=anchor:" \
            --output table:graph --overwrite &&
        "$@" job run page_rank --input table:graph --output "file:$0/out" \
            --param iterations=10' "$data" "${quarry[@]}"
}
python_ranks() {
    seconds bash -c '
        gzip -dc "${@:3}" | python3 "$2" links | LC_ALL=C sort | uniq -c |
            python3 "$2" rank 10 >"$1/out.ranks"' bash "$data" "$links" \
        "${archives[@]}"
}

archives=("$crawl"/derived/*.warc.gz)
if ! wanted ranks; then
    :
elif [ -r "${archives[0]}" ]; then
    "${quarry[@]}" import warc "${archives[@]}" --into webtable >/dev/null 2>&1
    best our_ranks python_ranks
    row link_graph_and_page_rank_vs_python s
else
    say "SKIPPED: links and ranks: no archives in $crawl/derived"
fi

# --- a stopped worker ------------------------------------------------------------

three_workers() {
    seconds "${quarry[@]}" job run word_count --input "file:$data/text" \
        --output "file:$data/out" --workers 3 --split 16MiB --reducers 3
}

# The same with one attempt stopped for good as soon as it is there. The job's
# process has one child, from which attempts are forked.
one_stopped() {
    (
        for ((i = 0; i < 200; i++)); do
            main=$(pgrep -f -n "^$build/quarry .*--workers 3" || true)
            zygote=$(pgrep -P "${main:-0}" | sed -n 1p || true)
            attempt=$(pgrep -P "${zygote:-0}" | sed -n 1p || true)
            [ -z "$attempt" ] || { kill -STOP "$attempt" && break; }
            sleep 0.01
        done
    ) &
    three_workers
    wait
}
allowed() {
    three_workers
    wall=$(awk -v w="$wall" 'BEGIN { print w * 1.4 }')
}
if wanted stopped; then
    best one_stopped allowed
    row word_count_one_worker_stopped_vs_1.4_x_undisturbed s
fi

# --- more than memory --------------------------------------------------------------

if [ -z "$full" ] || ! wanted large; then
    exit 0
fi
rm -rf "$data"/text "$data"/sorted*
"$tools/genrec" $((4 * bytes / 100)) >"$data/records"
caged=()
if mkdir "$cage" 2>/dev/null &&
    echo $((512 << 20)) >"$cage/memory.limit_in_bytes" 2>/dev/null; then
    caged=(bash -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$cage")
else
    say "no memory cgroup can be made here: memory is only asked for"
fi
our_large_sort() {
    seconds "${caged[@]}" "${quarry[@]}" job run tera_sort \
        --input "file:$data/records" --output "file:$data/out" \
        --memory 320MiB --heap 64MiB
}
gnu_large_sort() {
    seconds "${caged[@]}" env LC_ALL=C sort --parallel=2 -S 400M -T "$data" \
        -k1.1,1.10 -o "$data/out.gnu" "$data/records"
}
runs=1
best our_large_sort gnu_large_sort
row tera_sort_4gb_in_512mb_vs_gnu_sort s
our_large_sort
cat "$data"/out/part-* | "$tools/valrec" /dev/stdin | grep 'unordered 0' >/dev/null || {
    say "tera_sort: the large result is not in order"
    exit 1
}
