#!/bin/bash
# The pages that contain all words, those of the highest PageRank first:
#
#     examples/webtable/search.sh WORD…
#
# Reads the tables `index` and `rank` of $QUARRY_TARGET.
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
found=$(mktemp)
trap 'rm -f "$found"' EXIT

for word in "$@"; do
    quarry saw "$here/search.szl" --table index --row "$word"
done | cut -f1 | sort | uniq -c |
    awk -v words="$#" '$1 == words { print $2 }' >"$found"

while read -r page; do
    printf '%s\t%s\n' "$(quarry get rank "$page" rank: --raw)" "$page"
done <"$found" | LC_ALL=C sort -t "$(printf '\t')" -k1,1gr -k2 |
    sed -n 1,5p
