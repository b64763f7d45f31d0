# cbt, every command that reaches a server; $QUARRY_CBT: a checkout of cloud-bigtable-cbt-cli
suite_version=2026-08
cbt_home=$cache/cbt-$suite_version

suite_prepare() {
    command -v go >/dev/null || skip "there is no go"
    exec 9>"$cache/cbt.lock"
    flock 9
    if [ ! -x "$cbt_home/cbt" ]; then
        checkout cloud-bigtable-cbt-cli QUARRY_CBT
        mkdir -p "$cbt_home"
        (cd "$QUARRY_CBT" && go build -o "$cbt_home/cbt" .) ||
            skip "go cannot build cbt"
    fi
    exec 9>&-
}

# check NAME EXPECTED ARGUMENT…: the command succeeds, and what it prints matches
# EXPECTED (a pattern of grep -E; empty: whatever).
check() {
    local name=$1 expected=$2 out begun=$SECONDS outcome=''
    shift 2
    if ! out=$(timeout 60 "$cbt_home/cbt" -creds /dev/null \
        -project p -instance cbt-i "$@" 2>&1) ||
        ! grep -Eqz -- "$expected" <<<"$out"; then
        outcome='<failure/>'
        printf 'FAILED %s: cbt %s\n%s\n' "$name" "$*" "$out"
    fi
    echo "<testcase classname=\"cbt\" name=\"$name\"" \
        "time=\"$((SECONDS - begun))\">$outcome</testcase>" \
        >>"$clients_work/cbt.xml"
}

suite_run() {
    # Without credentials it waits for the cloud's; an empty file has none.
    export BIGTABLE_EMULATOR_HOST=$clients_address
    echo '<testsuite>' >"$clients_work/cbt.xml"
    check createinstance '' createinstance cbt-i "an instance" cbt-c1 \
        us-central1-b 1 SSD
    check listinstances 'cbt-i' listinstances
    check createcluster '' createcluster cbt-c2 us-east1-b 1 SSD
    check updatecluster '' updatecluster cbt-c2 num-nodes=2
    check listclusters 'cbt-c2.*2' listclusters
    check deletecluster '' deletecluster cbt-c2
    check createappprofile '' createappprofile cbt-i ap "a profile" route-any
    check getappprofile 'a profile' getappprofile cbt-i ap
    check updateappprofile '' updateappprofile cbt-i ap "another" route-any
    check listappprofile 'another' listappprofile cbt-i
    check deleteappprofile '' deleteappprofile cbt-i ap
    check createtable '' createtable t families=f:maxversions=2,g,sums:never:intsum \
        splits=b,c
    check createfamily '' createfamily t h
    check ls 'f.*maxversions|f.*versions' ls t
    check ls_tables '^t' ls
    check setgcpolicy '' setgcpolicy t g maxage=1d
    check setvaluetype '' setvaluetype t g stringutf8bytes
    check set '' set t a f:x=1 f:y=2
    check set_more '' set t b f:x=3
    check addtocell '' addtocell t a sums:n=5
    check lookup 'f:x.*"1"' lookup t a
    check read 'f:y' read t
    check read_part '"3"' read t prefix=b columns=f:x count=1
    check count '2' count t
    check checkandmutate '' checkandmutate t a columns=f:x true=f:z=9
    check readmodifywrite '' readmodifywrite t a f x append=1
    check samplerowkeys '1' samplerowkeys t # It prints their numbers.
    check sql 'a' sql "SELECT _key FROM t LIMIT 1"
    printf ',f,f\n,x,y\nrow1,7,8\n' >"$clients_work/in.csv"
    check import '' import t "$clients_work/in.csv"
    check waitforreplication '' waitforreplication t
    check deletecolumn '' deletecolumn t a f x
    check deleterow '' deleterow t b
    check deletefamily '' deletefamily t g
    check deleteallrows '' deleteallrows t
    check count_none '^0' count t
    check deletetable '' deletetable t
    check deleteinstance '' deleteinstance cbt-i
    echo '</testsuite>' >>"$clients_work/cbt.xml"
}
