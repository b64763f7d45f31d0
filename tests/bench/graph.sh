#!/bin/bash
# PageRank, ten rounds over the edges of an R-MAT graph, beside polars with numpy
# and DuckDB, in turns. Options: --scale N (2^N nodes), --edges N, --rounds N.
#
# Environment: QUARRY_BUILD, BENCH_PYTHON: one that has numpy, polars and duckdb,
# in a venv outside of the tree.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
python=${BENCH_PYTHON:-python3}
if ! "$python" -c 'import duckdb, numpy, polars' 2>/dev/null; then
    echo "graph: SKIPPED, $python has not all of numpy, polars and duckdb" \
        "(set BENCH_PYTHON)" >&2
    exit 0
fi
exec "$python" tests/bench/graph.py "${QUARRY_BUILD:-build/bench}/quarry" "$@"
