#!/bin/bash
# Keeping results right while pages change, beside running the jobs again: after
# figure 8 of the Percolator paper. Options: --pages N, --rewrite N (of ten
# paragraphs of a page that changes), shares of pages (0.01 0.05 …).
. scripts/lib.sh
exec python3 tests/bench/incremental.py "$QUARRY_BUILD/quarry" "$@"
