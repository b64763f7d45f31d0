#!/bin/sh
# jobs.sh PREFIX: make the same from all pages, as tables PREFIX-graph and so on, and
# the copies as the file PREFIX-copies.csv.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
pages='table:pages?columns=contents:,http:&versions=1'

quarry job run link_graph --input "$pages" --output "table:$1-graph" \
    --param links=contents
quarry job run anchor_texts --input "$pages" --output "table:$1-anchors"
quarry job run inverted_index --input "$pages" --output "table:$1-index"
quarry saw "$here/copies.szl" --table pages --format csv >"$1-copies.csv"
