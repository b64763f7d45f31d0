# A job on three hosts with slow links: what maps leave is pulled while they run,
# beside only when they have ended. Needs network namespaces.
#
#     scripts/bench early_pull [-- --mbit N --lines N --runs N]
set -euo pipefail
exec python3 "$(dirname "$0")/early_pull.py" "$@"
