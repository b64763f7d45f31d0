# CPU of processes that nobody uses. The peer is the bar of 0.2 % of a core.
#
#     scripts/bench idle [-- --seconds N]
set -euo pipefail
exec python3 "$(dirname "$0")/idle.py" "$@"
