# Search beside Lucene's BM25 and SQLite's FTS5, on the same text: the HTML that
# Debian packages installed (QUARRY_SEARCH_ROOTS: other directories), and with
# QUARRY_SEARCH_PAGES=N pages made of its paragraphs up to N. MRR@10 of known
# items, CPU of building and of a query, bytes of the index.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=${QUARRY_BUILD:-build/bench}
quarry=$build/quarry
work=$build/search-work
tools=$build/search-tools
rm -rf "$work"
mkdir -p "$work" "$tools"
server=
trap 'if [ -n "$server" ]; then kill "$server"; fi; rm -rf "$work"' EXIT
read -ra roots <<<"${QUARRY_SEARCH_ROOTS:-/usr/share/doc}"
python3 tests/bench/search.py corpus "$work" "${QUARRY_SEARCH_PAGES:-0}" \
    "${roots[@]}"

lucene_jars() {
    command -v javac >/dev/null && command -v mvn >/dev/null || return 1
    [ ! -e "$tools/done" ] || return 0
    cat >"$tools/pom.xml" <<'XML'
<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>bench</groupId><artifactId>lucene</artifactId><version>1</version><dependencies>
<dependency><groupId>org.apache.lucene</groupId><artifactId>lucene-core</artifactId>
<version>9.11.1</version></dependency></dependencies></project>
XML
    (cd "$tools" && timeout 600 mvn -q -B dependency:copy-dependencies \
        -DoutputDirectory=jars) >"$tools/log" 2>&1 &&
        javac -cp "$tools/jars/*" -d "$tools/classes" \
            tests/bench/SearchLucene.java && touch "$tools/done"
}

export QUARRY_TARGET=file:$work/store
"$quarry" import warc "$work/crawl.warc.gz" --into webtable --quiet >/dev/null
python3 - "$quarry" "$work" <<'PY'
import json, os, resource, subprocess, sys
subprocess.run([sys.argv[1], "search", "build", "webtable", "--quiet"],
               check=True, stdout=subprocess.DEVNULL)
spent = resource.getrusage(resource.RUSAGE_CHILDREN)
top = sys.argv[2] + "/store/search/webtable"
json.dump({"build_cpu_s": spent.ru_utime + spent.ru_stime,
           "bytes": sum(os.path.getsize(top + "/" + n) for n in os.listdir(top))},
          open(sys.argv[2] + "/built.json", "w"))
PY
"$quarry" search serve webtable --listen 127.0.0.1:0 >"$work/address" &
server=$!
until [ -s "$work/address" ]; do sleep 0.1; done
address=$(sed 's|http://||; s|/$||' "$work/address")
python3 tests/bench/search.py serve "$work" "$address" "$server"
kill "$server"
wait "$server" || true
server=
python3 tests/bench/search.py fts5 "$work"
peers=(fts5)
if lucene_jars; then
    for mode in one fields; do
        java -Xmx2g -cp "$tools/jars/*:$tools/classes" SearchLucene "$work" $mode
        peers+=("lucene-$mode")
    done
else
    echo "search: SKIPPED: Lucene, which javac and mvn bring" >&2
fi
for name in quarry "${peers[@]}"; do
    python3 tests/bench/search.py score "$work" "$name" >"$work/$name.score"
done
python3 - "$work" "${peers[@]}" <<'PY'
import json, sys
work = sys.argv[1]
def load(name):
    with open("%s/%s" % (work, name)) as f:
        return json.load(f)
facts, ours = load("facts.json"), {**load("built.json"), **load("quarry.json")}
score = load("quarry.score")
def line(figure, a, b, better_is_more, unit):
    ratio = (a / b if better_is_more else b / a) if a and b else 0
    print("%s\t%.4g\t%.4g\t%.2f\t%s" % (figure, a, b, ratio, unit))
line("search: index / text", ours["bytes"] / facts["text_bytes"], 0.25, False, "")
for part in ("p50", "p99"):
    line("search: %s, with snippets" % part, ours["query_%s_ms" % part], 30,
         False, "ms")
    line("search: %s by CPU, with snippets" % part,
         ours["query_%s_cpu_ms" % part], 30, False, "CPU ms")
for peer in sys.argv[2:]:
    theirs, their_score = load(peer + ".json"), load(peer + ".score")
    for kind in score:
        line("search: MRR@10, %s, beside %s" % (kind, peer), score[kind],
             their_score[kind], True, "")
    line("search: build, beside " + peer, ours["build_cpu_s"],
         theirs["build_cpu_s"], False, "CPU s")
    line("search: index, beside " + peer, ours["bytes"], theirs["bytes"], False,
         "bytes")
    line("search: query (ours with snippets), beside " + peer,
         ours["query_cpu_ms"], theirs["query_cpu_ms"], False, "CPU ms")
    for part in ("p50_cpu_ms", "p99_cpu_ms", "p50_ms", "p99_ms"):
        if "query_" + part in theirs:
            line("search: query, %s, beside %s" % (part, peer),
                 ours["query_" + part], theirs["query_" + part], False, "ms")
PY
