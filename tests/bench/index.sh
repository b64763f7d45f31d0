# A look-up by an index, beside a read of a row by its key, in turns: of a
# directory, and of a cluster of three nodes. The ratio is that of their times;
# 2.2 point reads a look-up are wanted, which is 0.45.
#
#     scripts/bench index
set -euo pipefail
quarry=$QUARRY_BUILD/quarry
dir=$(mktemp -d "${TMPDIR:-/tmp}/quarry-index.XXXXXX")
cleanup() {
    "$quarry" cluster stop --data "$dir/cluster" >&2 || true
    rm -rf "$dir"
}
trap cleanup EXIT
show() {
    awk -v n="$1" '{
        printf "index.%s.unique\t%s\t%s\t%.2f\tus\n", n, $2, $1, $1 / $2
        printf "index.%s.plain\t%s\t%s\t%.2f\tus\n", n, $3, $1, $1 / $3
        printf "index.%s.unique_cpu\t%s\t%s\t%.2f\tus\n", n, $5, $4, $4 / $5
        printf "index.%s.plain_cpu\t%s\t%s\t%.2f\tus\n", n, $6, $4, $4 / $6
    }'
}
bench=$QUARRY_BUILD/tests/bench/bench_index
"$bench" "file:$dir/store" | show directory
"$quarry" cluster start --data "$dir/cluster" >&2
listen=$(sed -n 's/^listen = //p' "$dir/cluster/n1/server.conf")
"$bench" "$listen" "$dir/cluster/key" | show cluster
