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

# say TEXT: print a heading on standard error.
say() { printf '\n== %s\n' "$*" >&2; }

# die TEXT: print TEXT and end with status 1.
die() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 1
}

# skip TEXT: print, so that nobody overlooks it, that something was skipped.
skip() { printf '!! SKIPPED: %s\n' "$*" >&2; }

# jobs: how many compilers run at once; each needs one gigabyte.
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
