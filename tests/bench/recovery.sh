# A tablet server with 2 GB (and 0.5 GB) in tables and 256 MB of log is killed:
# when the others serve all of it. The peer is the bar of 5 s.
#
#     scripts/bench recovery [-- --data MB --log MB --tablets N --servers N]
set -euo pipefail
exec python3 "$(dirname "$0")/recovery.py" "$@"
