#!/bin/bash
# quarry replay beside pywb: pages of HTML, rewritten, a second, by the clock and by
# the server's processor time; and whether both answer the same captures alike.
#
#     scripts/bench replay [-- ARCHIVE…]    default: two of ../shared/data
#
# pywb is installed from PyPI into build/bench/pywb.
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/lib.sh"

data=${QUARRY_SHARED:-$ROOT/../shared}/data/crawl/warc
[ "$#" -gt 0 ] || set -- "$data/pywb--iana.warc.gz" "$data/aut--example.warc.gz"
for archive in "$@"; do
    [ -r "$archive" ] || { skip "$archive is not here"; exit 0; }
done
venv=$QUARRY_BUILD/pywb
if [ ! -x "$venv/bin/wayback" ]; then
    python3 -m venv "$venv" >/dev/null && "$venv/bin/pip" -q install pywb >&2 ||
        { skip "pywb cannot be had"; exit 0; }
fi
for archive in "$@"; do
    # Sentences for people; lines with tabs are the figures.
    PYWB=$venv/bin python3 tests/bench/replay.py "$QUARRY_BUILD/quarry" \
        "$archive" 4 | tee >(grep -v $'\t' >&2) | grep $'\t'
done
