# A transfer between two rows in a transaction, beside two single-row writes
# that are synced, in turns: of a directory, and of a cluster of three nodes. The
# ratio is of their times; 0.33 is what is wanted at least. And timestamps, by
# batches: a million a second are wanted.
#
#     scripts/bench txn
set -euo pipefail
quarry=$QUARRY_BUILD/quarry
dir=$(mktemp -d "${TMPDIR:-/tmp}/quarry-txn.XXXXXX")
cleanup() {
    "$quarry" cluster stop --data "$dir/cluster" >&2 || true
    rm -rf "$dir"
}
trap cleanup EXIT
show() {
    awk -v n="$1" '{
        printf "txn.%s.transfer\t%s\t%s\t%.2f\tus\n", n, $1, $2, $2 / $1
        printf "txn.%s.timestamps\t%s\t1000000\t%.2f\t1/s\n", n, $3, $3 / 1e6
    }'
}
bench=$QUARRY_BUILD/tests/bench/bench_txn
"$bench" "file:$dir/store" | show directory
"$quarry" cluster start --data "$dir/cluster" >&2
listen=$(sed -n 's/^listen = //p' "$dir/cluster/n1/server.conf")
"$bench" "$listen" "$dir/cluster/key" | show cluster
