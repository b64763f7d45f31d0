# Import of a real crawl: time beside python's warcio, and CPU time beside its
# FastWARC, both of which only iterate over the same files; space beside zstd with
# a window of 128 MiB over all records at once.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=${QUARRY_BUILD:-build/bench}
shared=${QUARRY_SHARED:-$PWD/../shared}
files=("$shared"/data/crawl/warc/*.gz "$shared"/data/crawl/derived/*.gz)
if [ ! -e "${files[0]}" ]; then
    echo "import: skipped, no crawl under $shared/data/crawl" >&2
    exit 0
fi
work=$build/import-work
rm -rf "$work"
mkdir -p "$work"
trap 'rm -rf "$work"' EXIT

# The peer, in an environment of its own.
python=$build/warcio/bin/python3
if [ ! -x "$python" ]; then
    if ! { python3 -m venv "$build/warcio" &&
        "$build/warcio/bin/pip" install -q warcio fastwarc; }; then
        rm -rf "$build/warcio"
        echo "import: SKIPPED: warcio or FastWARC, the peers, cannot be" \
            "installed" >&2
        exit 0
    fi
fi
cat >"$work/iterate.py" <<'PY'
import sys, time
from warcio.archiveiterator import ArchiveIterator
start, count = time.time(), 0
for name in sys.argv[1:]:
    with open(name, "rb") as f:
        for record in ArchiveIterator(f):
            count += 1
print("%.3f %d" % (time.time() - start, count))
PY

cat >"$work/fast.py" <<'PY'
import resource, sys
from fastwarc.warc import ArchiveIterator
start = resource.getrusage(resource.RUSAGE_SELF)
for name in sys.argv[1:]:
    with open(name, "rb") as f:
        for r in ArchiveIterator(f, parse_http=False):
            r.reader.read()
end = resource.getrusage(resource.RUSAGE_SELF)
cpu = end.ru_utime + end.ru_stime - start.ru_utime - start.ru_stime
print("%.3f" % cpu)
PY
# FastWARC reads no ARC.
warcs=()
for f in "${files[@]}"; do
    [[ $f == *.arc.gz ]] || warcs+=("$f")
done

# The better of five runs each, taken in turn.
ours=999 peer=999 cpu=999 fast=999
for _ in 1 2 3 4 5; do
    read -r t count <<<"$("$python" "$work/iterate.py" "${files[@]}")"
    peer=$(awk "BEGIN { print ($t < $peer) ? $t : $peer }")
    rm -rf "$work/store"
    read -r t records pages links cells contents all c kib \
        <<<"$(find "$build" -name bench_import -type f -exec {} \
            "$work/store" "${files[@]}" \;)"
    ours=$(awk "BEGIN { print ($t < $ours) ? $t : $ours }")
    cpu=$(awk "BEGIN { print ($c < $cpu) ? $c : $cpu }")
    t=$("$python" "$work/fast.py" "${warcs[@]}")
    fast=$(awk "BEGIN { print ($t < $fast) ? $t : $fast }")
done
[ "$records" = "$count" ] ||
    echo "import: we read $records records, warcio $count" >&2
echo "import: $pages pages, $links links, $cells cells, $all bytes, $kib KiB of" \
    "memory at most" >&2

target=file:$work/store
table=$("$build/quarry" table list -t "$target" | awk 'END { print $1 }')
"$build/quarry" table compact "$table" -t "$target" >&2
compacted=$("$build/quarry" table stats "$table" -t "$target" --format json |
    sed -n 's/.*"group": "contents".*"bytes": \([0-9]*\).*/\1/p')

zstd_bytes=$(for f in "${files[@]}"; do zcat "$f"; done |
    zstd -3 --long=27 -q -c | wc -c)

row() { # figure ours peer unit: smaller is better
    awk -v f="$1" -v o="$2" -v p="$3" -v u="$4" \
        'BEGIN { printf "%s\t%s\t%s\t%.2f\t%s\n", f, o, p, p / o, u }'
}
row "import of 320 MB against warcio iterating" "$ours" "$peer" s
row "its CPU against FastWARC iterating" "$cpu" "$fast" s
row "contents: against zstd -3 --long=27" "$contents" "$zstd_bytes" bytes
row "the same, compacted" "$compacted" "$zstd_bytes" bytes
