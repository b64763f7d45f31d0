# The six workloads of the Bigtable paper's figure 6 on a cluster of processes:
# three chunk servers, so that every file has three copies, and one tablet
# server; clients on the same machine. The peer is the paper's single tablet
# server of 2006: ten times its figures is what is wanted.
#
#     scripts/bench tables [-- --rows N --clients N --seconds N --value BYTES]
set -euo pipefail
quarry=$QUARRY_BUILD/quarry
dir=$(mktemp -d "${TMPDIR:-/tmp}/quarry-tables.XXXXXX")
cleanup() {
    "$quarry" cluster stop --data "$dir/cluster" >&2 || true
    rm -rf "$dir"
}
trap cleanup EXIT

"$quarry" cluster start -n 3 --data "$dir/cluster" >&2
"$quarry" cluster stop --data "$dir/cluster" >&2
for node in n2 n3; do
    sed -i -E '/^roles/s/(^|,| )tablet(,|$)/\1/; /^roles/s/,$//' \
        "$dir/cluster/$node/server.conf"
done
"$quarry" cluster start --data "$dir/cluster" >&2
"$quarry" -t "cluster:$dir/cluster" bench tables --format csv "$@" |
    tail -n +2 | while IFS=, read -r name _ _ rate p50 p99 paper ratio; do
    name=tables.${name//[^a-z]/_}
    printf '%s\t%s\t%s\t%s\tvalues/s\n' "${name%_}" "$rate" "$paper" "$ratio"
    printf '%s_p50\t%s\t-\t-\tus\n%s_p99\t%s\t-\t-\tus\n' \
        "${name%_}" "$p50" "${name%_}" "$p99"
done
