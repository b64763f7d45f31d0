# HBase's client API by bigtable-hbase-2.x, a program of 37 checks
suite_version=2.15.6
hbase_api=2.6.0
hbase_home=$cache/hbase-$suite_version

suite_prepare() {
    command -v mvn >/dev/null && command -v javac >/dev/null ||
        skip "there is no mvn or no javac"
    exec 9>"$cache/hbase.lock"
    flock 9
    maven_classpath "$hbase_home" \
        com.google.cloud.bigtable:bigtable-hbase-2.x-shaded:$suite_version \
        org.apache.hbase:hbase-shaded-client:$hbase_api
    javac -nowarn -cp "$(cat "$hbase_home/classpath")" -d "$hbase_home" \
        "$here/hbase/HBaseChecks.java" 2>"$clients_work/javac" || {
        tail -5 "$clients_work/javac"
        skip "javac cannot build the program"
    }
    exec 9>&-
}

suite_run() {
    BIGTABLE_EMULATOR_HOST=$clients_address timeout 300 java \
        -cp "$hbase_home:$(cat "$hbase_home/classpath")" HBaseChecks \
        "$clients_work/hbase.xml"
}
