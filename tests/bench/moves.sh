# Tablets of a cluster are moved while its rows are written, and while they are
# not. The peer is the bar of 300 ms.
#
#     scripts/bench moves [-- --moves N --rate ROWS --data MB --tablets N]
set -euo pipefail
exec python3 "$(dirname "$0")/moves.py" "$@"
