# Start a server with the Bigtable API for the suites of this directory. To be
# sourced; sets bigtable_address, bigtable_work (removed at the end). It serves a
# directory, or a whole cell (lock service, file system, master, tablet server)
# when $BIGTABLE_OVER is "cell".

skip() {
    echo "SKIPPED: $1"
    exit 77
}

bigtable_work=$(mktemp -d)
# Without a home, what go and npm would keep there is gone at the end.
[ -w "${HOME:-}" ] || export HOME=$bigtable_work
bigtable_pid=

bigtable_stop() {
    if [ -n "$bigtable_pid" ]; then
        kill "$bigtable_pid" 2>/dev/null
        wait "$bigtable_pid" 2>/dev/null
    fi
    rm -rf "$bigtable_work"
}
trap bigtable_stop EXIT

# free_ports COUNT: ports that nobody has now.
free_ports() {
    python3 "$(dirname "${BASH_SOURCE[0]}")/../cli/ports.py" "$1"
}

# bigtable_start QUARRY
bigtable_start() {
    : >"$bigtable_work/ready"
    local ports
    mapfile -t ports < <(free_ports 2)
    bigtable_address=127.0.0.1:${ports[0]}
    local roles=(--roles gateway)
    [ "${BIGTABLE_OVER:-}" != cell ] || roles=()
    "$1" server --data "$bigtable_work/data" "${roles[@]}" \
        --listen "127.0.0.1:${ports[1]}" --bigtable-api "$bigtable_address" \
        --log "$bigtable_work/log" >"$bigtable_work/ready" &
    bigtable_pid=$!
    for _ in $(seq 1800); do
        grep -q '^ready' "$bigtable_work/ready" && return
        kill -0 "$bigtable_pid" 2>/dev/null || break
        sleep 0.1
    done
    cat "$bigtable_work/log"
    echo "the server did not start"
    exit 1
}
