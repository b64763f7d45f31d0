# Functions that the scripts share; sourced, not run.
set -euo pipefail

# A script's first comment says what it does and how it is called.
case ${1:-} in
-h | --help)
    sed -n '2,/^[^#]/s/^# \{0,1\}//p' "${BASH_SOURCE[1]}"
    exit 0
    ;;
esac

cd "$(dirname "${BASH_SOURCE[0]}")/.."
ROOT=$PWD

# say TEXT: one line of what happens next, on standard error.
say() { printf '\n== %s\n' "$*" >&2; }

# die TEXT: why it ends here.
die() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 1
}

# skip TEXT: something was left out; nobody should overlook it.
skip() { printf '!! SKIPPED: %s\n' "$*" >&2; }

# jobs: how many compilers at once. Two gigabytes each would be safe; one is
# what they need.
jobs() {
    local cpus megabytes
    cpus=$(nproc)
    megabytes=$(awk '/^MemAvailable/ {print int($2 / 1024)}' /proc/meminfo)
    if [ "$megabytes" -lt $((cpus * 1024)) ]; then
        cpus=$((megabytes / 1024))
    fi
    [ "$cpus" -ge 1 ] || cpus=1
    echo "$cpus"
}

# seconds_since START: with one digit, for headings.
seconds_since() {
    awk -v a="$1" -v b="$EPOCHREALTIME" 'BEGIN {printf "%.1f", b - a}'
}
