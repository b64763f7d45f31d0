#!/bin/sh
# The table of pages, and four tables that observers keep right. $QUARRY_TARGET
# says where; they are to be made before pages arrive.
set -eu
here=$(cd "$(dirname "$0")" && pwd)

quarry table create pages --changes 7d --transactions \
    --family contents,versions=1 --family http,versions=1 \
    --family meta,versions=1 --family language,versions=1 --family anchor

for table in graph:link anchors:anchor copies:page index:doc; do
    quarry table create "${table%:*}" --family "${table#*:},versions=1" \
        --transactions
done

quarry observer create graph --table pages --column contents \
    --job link_graph --param links=contents --output graph
quarry observer create anchors --table pages --column contents \
    --job anchor_texts --output anchors
quarry observer create index --table pages --column contents \
    --job inverted_index --output index
quarry observer create copies --table pages --column contents \
    --saw "$here/copies.szl" --output copies
