# Java, integration tests by the profile for emulators; $QUARRY_JAVA_BIGTABLE: a checkout of java-bigtable at v2.67.0
suite_version=2.67.0
java_home=$cache/java-$suite_version

# The modules that it needs beside its own are those of Maven Central, so that
# nothing is downloaded but packages.
java_maven() {
    (cd "$java_home" && MAVEN_OPTS=-Xmx512m mvn -B -ntp \
        -Dmaven.repo.local="$cache/maven" -pl google-cloud-bigtable \
        -Denforcer.skip -Dclirr.skip -Dcheckstyle.skip "$@")
}

suite_prepare() {
    command -v mvn >/dev/null || skip "there is no mvn"
    exec 9>"$cache/java.lock"
    flock 9
    if [ ! -f "$java_home/complete" ]; then
        checkout java-bigtable QUARRY_JAVA_BIGTABLE
        rm -rf "$java_home"
        git clone -q "$QUARRY_JAVA_BIGTABLE" "$java_home" 2>/dev/null
        git -C "$java_home" checkout -q "v$suite_version" 2>/dev/null ||
            skip "the checkout has no v$suite_version"
        java_maven -q test-compile -DskipTests >"$clients_work/mvn" 2>&1 || {
            grep -m 3 ERROR "$clients_work/mvn"
            skip "Maven cannot build the client's tests"
        }
        touch "$java_home/complete"
    fi
    exec 9>&-
}

# Each class of tests starts an "emulator", PROGRAM [-host [H]] -port N, and makes
# a table in it: a gateway of its own, to a directory of its own or to the cluster.
java_emulator() {
    local other='$(python3 '"$tree"'/tests/cli/ports.py 1)'
    echo '#!/bin/sh'
    echo 'while [ "$1" != -port ]; do shift; done'
    echo "data=\$(mktemp -d $clients_work/emulator.XXXXXX)"
    if [ -n "$clients_cluster" ]; then
        echo "$quarry -t cluster:$clients_cluster table drop" \
            "fake-instance.default-table >/dev/null 2>&1"
    fi
    echo "exec $quarry server --data \$data --roles gateway" \
        "--listen 127.0.0.1:$other --bigtable-api 127.0.0.1:\$2" \
        "${clients_cell[*]}"
}

suite_run() {
    java_emulator >"$clients_work/emulator"
    chmod +x "$clients_work/emulator"
    rm -rf "$java_home"/google-cloud-bigtable/target/failsafe-reports
    java_maven -o -Pbigtable-emulator-it \
        failsafe:integration-test@emulator-it -DskipITs=false \
        -DskipTests=false -Dbigtable.emulator-path="$clients_work/emulator"
    find "$java_home"/google-cloud-bigtable/target/failsafe-reports \
        -name 'TEST-*.xml' -exec cp {} "$clients_work" \;
}
