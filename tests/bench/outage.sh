# A node is killed and stays dead, is cut off, or stands still for 20 s: how long
# the rows of a table cannot be written. Needs network namespaces (root). The peer
# is the bar: a median of 3 s, nothing above 6 s.
#
#     scripts/bench outage [-- --nodes N --rounds N --fault kill|cut|pause --logs]
set -euo pipefail
cmake -DQUARRY_TESTS=ON "$QUARRY_BUILD" >/dev/null
ninja -C "$QUARRY_BUILD" quarry-links >&2
exec python3 "$(dirname "$0")/outage.py" "$@"
