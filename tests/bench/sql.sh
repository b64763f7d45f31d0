#!/bin/bash
# quarry sql beside the C library's plain scan: a count, a group by of one column,
# a top ten, and a key. Options: ROWS [ROUNDS], default 2000000 3.
. scripts/lib.sh
exec python3 tests/bench/sql.py "$QUARRY_BUILD" "$@"
