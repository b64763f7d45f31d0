# The cluster's file system beside plain files: sequential append with flush,
# random reads through descriptors and over the network, and the namenode's
# memory, creates and start. Servers and client are processes of this machine.
set -euo pipefail
bench=$QUARRY_BUILD/tests/bench/bench_files
dir=$(mktemp -d "${TMPDIR:-/tmp}/quarry-files.XXXXXX")
trap 'rm -rf "$dir"' EXIT
for what in "append 2000" "log 1000" "read 4000" "remote 4000" "names 1000000" "stall 1000000"; do
    set -- $what
    mkdir -p "$dir/$1"
    "$bench" "$dir/$1" "$1" "$2"
    rm -rf "${dir:?}/$1"
done
