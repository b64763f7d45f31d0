# Reading of a real crawl, every block of every record: CPU time beside python's
# FastWARC, which is native code, with block digests checked and without, packed
# and uncompressed. FastWARC skips records without a digest when it checks them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=${QUARRY_BUILD:-build/bench}
shared=${QUARRY_SHARED:-$PWD/../shared}
# FastWARC reads no ARC.
files=("$shared"/data/crawl/warc/*.warc.gz "$shared"/data/crawl/derived/*.gz)
if [ ! -e "${files[0]}" ]; then
    echo "warc: skipped, no crawl under $shared/data/crawl" >&2
    exit 0
fi
work=$build/warc-work
rm -rf "$work"
mkdir -p "$work"
trap 'rm -rf "$work"' EXIT

# The peer, in an environment of its own.
python=$build/fastwarc/bin/python3
if [ ! -x "$python" ]; then
    if ! { python3 -m venv "$build/fastwarc" &&
        "$build/fastwarc/bin/pip" install -q fastwarc; }; then
        rm -rf "$build/fastwarc"
        echo "warc: SKIPPED: FastWARC, the peer, cannot be installed" >&2
        exit 0
    fi
fi
cat >"$work/iterate.py" <<'PY'
import resource, sys
from fastwarc.warc import ArchiveIterator
verify, count = sys.argv[1] == "verify", 0
start = resource.getrusage(resource.RUSAGE_SELF)
for name in sys.argv[2:]:
    with open(name, "rb") as f:
        for r in ArchiveIterator(f, parse_http=False, verify_digests=verify):
            r.reader.read()
            count += 1
end = resource.getrusage(resource.RUSAGE_SELF)
cpu = end.ru_utime + end.ru_stime - start.ru_utime - start.ru_stime
print("%.3f %d" % (cpu, count))
PY

middle() { # numbers
    printf '%s\n' "$@" | sort -n | sed -n "$((($# + 1) / 2))p"
}

row() { # figure ours peer unit: smaller is better
    awk -v f="$1" -v o="$2" -v p="$3" -v u="$4" \
        'BEGIN { printf "%s\t%s\t%s\t%.2f\t%s\n", f, o, p, p / o, u }'
}

compare() { # figure, "verify" or "plain", files: medians of seven runs in turn
    local figure=$1 how=$2 option=() ours=() peer=() t
    shift 2
    [ "$how" = plain ] || option=(--verify)
    for _ in 1 2 3 4 5 6 7; do
        read -r _ t _ <<<"$("$bench" "${option[@]}" "$@" 2>/dev/null)"
        ours+=("$t")
        read -r t _ <<<"$("$python" "$work/iterate.py" "$how" "$@")"
        peer+=("$t")
    done
    row "$figure" "$(middle "${ours[@]}")" "$(middle "${peer[@]}")" "s CPU"
}

bench=$(find "$build" -name bench_warc -type f)
compare "reading archives" plain "${files[@]}"
compare "the same, digests checked" verify "${files[@]}"
for f in "${files[@]}"; do zcat "$f"; done >"$work/all.warc"
compare "the same, uncompressed" plain "$work/all.warc"
compare "the same, uncompressed, digests checked" verify "$work/all.warc"
read -r _ _ records _ kib <<<"$("$bench" "${files[@]}" 2>/dev/null)"
echo "warc: $records records, $kib KiB of memory at most" >&2
