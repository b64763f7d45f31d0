# YCSB, workloads a to f by its binding googlebigtable2; $QUARRY_YCSB: a checkout of YCSB
suite_version=0.17.0
ycsb_client=2.67.0
# Each write is a call of its own: rows that a batch of the client holds back
# would be missed by reads of the newest (workload d).
ycsb_home=$cache/ycsb-$suite_version
ycsb_records=${YCSB_RECORDS:-2000}

suite_prepare() {
    command -v mvn >/dev/null && command -v javac >/dev/null ||
        skip "there is no mvn or no javac"
    exec 9>"$cache/ycsb.lock"
    flock 9
    checkout YCSB QUARRY_YCSB
    maven_classpath "$ycsb_home" site.ycsb:core:$suite_version \
        com.google.cloud:google-cloud-bigtable:$ycsb_client
    javac -nowarn -cp "$(cat "$ycsb_home/classpath")" -d "$ycsb_home" \
        "$QUARRY_YCSB"/googlebigtable2/src/main/java/site/ycsb/db/*.java \
        "$here/ycsb/MakeTable.java" \
        2>"$clients_work/javac" || {
        tail -5 "$clients_work/javac"
        skip "javac cannot build the binding"
    }
    exec 9>&-
}

ycsb_java() {
    BIGTABLE_EMULATOR_HOST=$clients_address timeout 300 java \
        -cp "$ycsb_home:$(cat "$ycsb_home/classpath")" "$@"
}

# ycsb_run NAME -load|-t WORKLOAD: passes if no operation has failed.
ycsb_run() {
    local end=
    ycsb_java site.ycsb.Client "$2" \
        -db site.ycsb.db.GoogleBigtable2Client -threads 8 \
        -P "$QUARRY_YCSB/workloads/$3" -p recordcount="$ycsb_records" \
        -p operationcount="$ycsb_records" -p googlebigtable2.project=p \
        -p googlebigtable2.instance=ycsb -p googlebigtable2.family=cf \
        -p googlebigtable2.use-batching=false \
        >"$clients_work/ycsb.out" 2>&1
    if [ $? -ne 0 ] || ! grep -q 'Return=OK' "$clients_work/ycsb.out" ||
        grep -E 'Return=(ERROR|UNEXPECTED_STATE|NOT_FOUND)' \
            "$clients_work/ycsb.out"; then
        end='<failure/>'
        cat "$clients_work/ycsb.out"
    fi
    grep -E 'OVERALL.*Throughput|AverageLatency' "$clients_work/ycsb.out"
    echo "<testcase name=\"$1\">$end</testcase>" >>"$clients_work/ycsb.xml"
}

suite_run() {
    ycsb_java MakeTable p ycsb usertable cf || return
    echo '<testsuite>' >"$clients_work/ycsb.xml"
    ycsb_run "load" -load workloada
    for w in a b c f d; do
        ycsb_run "workload $w" -t "workload$w"
    done
    ycsb_java MakeTable p ycsb usertable cf
    ycsb_run "load for e" -load workloade
    ycsb_run "workload e" -t workloade
    echo '</testsuite>' >>"$clients_work/ycsb.xml"
}
