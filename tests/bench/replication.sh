# A stream between two nodes on loopback: how far behind it is at half of the rate
# at which one client can write, how fast it catches up, what it costs, and what
# a comparison of equal tables sends. The peers are what is wanted.
#
#     scripts/bench replication [-- --rows N --seconds S --rounds N]
set -euo pipefail
exec python3 "$(dirname "$0")/replication.py" "$@"
