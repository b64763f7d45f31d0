#!/bin/bash
# Sawzall beside Lua (fib, mandel), Python and Lua (scan of a log by a regex; Lua
# by its own patterns), polars, DuckDB and mawk (an access log), and programs
# over a table beside the plain scan of it.
#
#     tests/bench/saw.sh [--quick]
#
# CPU time, user and system, of whole processes. Ours and the peers run in turn,
# several rounds, and the ratio is the median over rounds: the machine is noisy,
# but both sides meet the same noise. The programs are those with which the
# published interpreter was measured.
#
# Environment: QUARRY_BUILD (default build/bench), QUARRY_SHARED, BENCH_ROUNDS,
# BENCH_ROWS_BYTES (size of the table, default 1 GB), BENCH_LOG_BYTES (of the
# access log, default 1 GB), BENCH_PYTHON (one that has polars and duckdb).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=${QUARRY_BUILD:-build/bench}
shared=${QUARRY_SHARED:-$PWD/../shared}
programs=$shared/bench/sawzall
rounds=${BENCH_ROUNDS:-5}
fib=36 mandel=400 lines=0 rows_bytes=${BENCH_ROWS_BYTES:-1000000000}
if [ "${1:-}" = --quick ]; then
    rounds=3 fib=30 mandel=150 lines=200000 rows_bytes=100000000
fi
if [ ! -e "$programs/fib.szl" ]; then
    echo "saw: skipped, no programs under $programs" >&2
    exit 0
fi
work=$build/saw-work
mkdir -p "$work"
if [ ! -e "$work/log.txt" ]; then
    (cd "$work" && python3 "$programs/gen.py")
fi
log=$work/log.txt
if [ "$lines" -gt 0 ]; then
    head -n "$lines" "$work/log.txt" >"$work/short.txt"
    log=$work/short.txt
fi
printf '%s' "$fib" >"$work/fib.in"
printf '%s' "$mandel" >"$work/mandel.in"

# cpu COMMAND…: seconds of user and system time.
cpu() {
    local TIMEFORMAT='%U %S'
    { time "$@" >/dev/null 2>&1; } 2>&1 | awk '{ printf "%.3f\n", $1 + $2 }'
}

# figure NAME OURS PEER: commands as words in a string.
figure() {
    local i ours peer
    for ((i = 0; i < rounds; i++)); do
        # shellcheck disable=SC2086
        ours=$(cpu $2) peer=$(cpu $3)
        echo "$ours $peer"
    done | sort -g | awk -v name="$1" '
        { o[NR] = $1; p[NR] = $2; r[NR] = $1 > 0 ? $2 / $1 : 0 }
        END {
            n = asort_(o); asort_(p); asort_(r)
            m = int((NR + 1) / 2)
            printf "%s\t%.3f\t%.3f\t%.2f\ts cpu\n", name, o[m], p[m], r[m]
        }
        function asort_(a,   i, j, t) {
            for (i = 2; i <= NR; i++)
                for (j = i; j > 1 && a[j - 1] > a[j]; j--) {
                    t = a[j]; a[j] = a[j - 1]; a[j - 1] = t
                }
            return NR
        }'
}

run="$build/quarry szl --table_output=*"
for peer in lua5.4 "luajit -joff"; do
    if ! command -v "${peer% *}" >/dev/null; then
        echo "saw: SKIPPED: ${peer% *} is not installed" >&2
        continue
    fi
    figure "saw_fib_$fib ($peer)" "$run $programs/fib.szl $work/fib.in" \
        "$peer $programs/fib.lua $fib"
    figure "saw_mandel_$mandel ($peer)" \
        "$run $programs/mandel.szl $work/mandel.in" \
        "$peer $programs/mandel.lua $mandel"
    figure "saw_scan ($peer)" "$run $programs/scan.szl $log" \
        "$peer $programs/scan.lua $log"
done
figure "saw_scan (python)" "$run $programs/scan.szl $log" \
    "python3 $programs/scan.py $log"
# An access log by status, top 20 and distinct clients, as wide as the machine.
analytics=$shared/bench/analytics
log_bytes=${BENCH_LOG_BYTES:-1000000000}
[ "${1:-}" != --quick ] || log_bytes=100000000
access=$work/access-$log_bytes.txt
if [ ! -e "$access" ]; then
    cc -O2 -o "$work/gen_log" "$analytics/gen_log.c" -lm
    "$work/gen_log" "$log_bytes" >"$access"
fi
saw_log="$build/quarry saw --quiet tests/bench/log.szl $access"
python=${BENCH_PYTHON:-python3}
for peer in polars duckdb; do
    if ! "$python" -c "import $peer" 2>/dev/null; then
        echo "saw: SKIPPED: $python has no $peer (BENCH_PYTHON)" >&2
        continue
    fi
    figure "saw_log ($peer)" "$saw_log" \
        "$python $analytics/log_${peer/duckdb/duck}.py $access"
done
if command -v mawk >/dev/null; then
    figure "saw_log (mawk)" "$saw_log" "mawk -f tests/bench/log.awk $access"
else
    echo "saw: SKIPPED: mawk is not installed" >&2
fi
"$build/tests/bench/bench_saw_rows" "$work/rows-$rows_bytes" "$rows_bytes" \
    "$rounds"
