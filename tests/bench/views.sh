# Materialized views of the public API: reads of what is kept beside executing
# the query, which is the peer, and the upkeep of a changed row.
#
#     scripts/bench views [-- ROWS]
set -euo pipefail
exec python3 "$(dirname "$0")/views.py" "$QUARRY_BUILD/quarry" "$@"
