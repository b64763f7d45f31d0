# For suites: servers, and where things are. To be sourced. A suite has
#     suite_version    of the client
#     suite_prepare    fetches and builds it once, or calls skip
#     suite_run        runs it against $clients_address (host:port, plaintext) and
#                      leaves its results as JUnit XML in $clients_work/*.xml
tree=$(readlink -f "$here/../../..")
quarry=$(readlink -f "${QUARRY:-$tree/build/release/quarry}")
cache=${QUARRY_CLIENTS:-$HOME/.cache/quarry/clients}
kept=$tree/build/conformance/clients
results=$kept/results.tsv
mkdir -p "$kept" "$cache"
clients_work=$(mktemp -d)
clients_pid=
clients_cluster=
clients_cell=() # What a server is told to join the cluster.
clients_options=() # What a suite wants it to be told besides.
clients_helpers=() # Processes that a suite has started.
clients_at= # Where a suite wants it; empty: a free port.

skip() {
    echo "SKIPPED: $1"
    exit 77
}

clients_stop() {
    if [ -n "$clients_pid" ]; then
        kill "$clients_pid" 2>/dev/null
        wait "$clients_pid" 2>/dev/null
    fi
    clients_pid=
    [ -z "$clients_cluster" ] ||
        "$quarry" -t "cluster:$clients_cluster" cluster stop \
            --data "$clients_cluster" >/dev/null 2>&1
    clients_cluster=
    rm -rf "$clients_work/data" "$clients_work/cluster"
}

clients_end() {
    clients_stop
    [ ${#clients_helpers[@]} -eq 0 ] || kill "${clients_helpers[@]}" 2>/dev/null
    rm -rf "$clients_work"
}
trap clients_end EXIT

# server_start ARGUMENT…: a gateway; sets clients_address.
server_start() {
    local ports
    mapfile -t ports < <(python3 "$tree/tests/cli/ports.py" 2)
    clients_address=${clients_at:-127.0.0.1:${ports[0]}}
    : >"$clients_work/ready"
    # DuckDB keeps what it made for the process.
    ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 "$quarry" server \
        --data "$clients_work/data" --roles gateway \
        --listen "127.0.0.1:${ports[1]}" --bigtable-api "$clients_address" \
        --log "$clients_work/log" "${clients_options[@]}" "$@" >"$clients_work/ready" &
    clients_pid=$!
    for _ in $(seq 600); do
        grep -q '^ready' "$clients_work/ready" && return
        kill -0 "$clients_pid" 2>/dev/null || break
        sleep 0.1
    done
    cat "$clients_work/log"
    echo "the server did not start"
    exit 1
}

# clients_start directory|cluster
clients_start() {
    local cell
    [ -x "$quarry" ] || skip "$quarry is not built (scripts/build)"
    case $1 in
    directory)
        clients_cell=()
        server_start ;;
    cluster)
        clients_cluster=$clients_work/cluster
        "$quarry" cluster start -n 3 --data "$clients_cluster" \
            >"$clients_work/cluster.out" 2>&1 || {
            cat "$clients_work/cluster.out"
            echo "the cluster did not start"
            exit 1
        }
        cell=$(sed -n 's/^cell = //p' "$clients_cluster/n1/server.conf")
        clients_cell=(--cell "$cell" --key "$clients_cluster/key")
        server_start "${clients_cell[@]}" ;;
    *)
        echo "run: $1: directory or cluster" >&2
        exit 2 ;;
    esac
}

# checkout NAME VARIABLE: a checkout of a repository must be there.
checkout() {
    [ -n "${!2:-}" ] && [ -d "${!2:-}" ] ||
        skip "\$$2 does not name a checkout of $1"
}

# results_expect CLASS: a class that left no results has failed.
results_expect() {
    [ -s "$clients_work/$1.xml" ] || echo "<testsuite><testcase" \
        "name=\"$1\"><error/></testcase></testsuite>" >"$clients_work/$1.xml"
}

# maven_classpath DIRECTORY GROUP:ARTIFACT:VERSION[:CLASSIFIER]…: the packages and
# all that they need, named in DIRECTORY/classpath.
maven_classpath() {
    local dir=$1 artifact
    shift
    [ ! -s "$dir/classpath" ] || return 0
    mkdir -p "$dir"
    {
        echo '<project><modelVersion>4.0.0</modelVersion><groupId>t</groupId>'
        echo '<artifactId>t</artifactId><version>1</version><dependencies>'
        for artifact; do
            echo "$artifact" | sed -E 's|^([^:]*):([^:]*):([^:]*):?(.*)$|\
<dependency><groupId>\1</groupId><artifactId>\2</artifactId>\
<version>\3</version><classifier>\4</classifier></dependency>|;
s|<classifier></classifier>||'
        done
        echo '</dependencies></project>'
    } >"$dir/pom.xml"
    mvn -B -ntp -q -f "$dir/pom.xml" -Dmaven.repo.local="$cache/maven" \
        dependency:build-classpath -Dmdep.outputFile=classpath \
        >"$clients_work/mvn" 2>&1 || {
        grep -m 3 ERROR "$clients_work/mvn"
        skip "Maven cannot fetch $*"
    }
}
