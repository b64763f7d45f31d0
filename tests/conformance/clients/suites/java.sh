# Java, integration tests as against the service; $QUARRY_JAVA_BIGTABLE: a checkout of java-bigtable at v2.67.0
. "$here/service.sh"
suite_version=2.67.0
java_home=$cache/java-$suite_version
java_module=$java_home/google-cloud-bigtable
# Not run: what Cloud Monitoring has.
java_skipped='BuiltinMetricsIT'

java_classpath() {
    echo "$java_home:$java_module/target/test-classes:$java_module/target/classes:$(
        cat "$java_home/classpath")"
}

# The modules that it needs beside its own are those of Maven Central, so that
# nothing is downloaded but packages.
java_maven() {
    (cd "$java_home" && MAVEN_OPTS=-Xmx512m mvn -B -ntp -q \
        -Dmaven.repo.local="$cache/maven" -pl google-cloud-bigtable \
        -Denforcer.skip -Dclirr.skip -Dcheckstyle.skip "$@") \
        >"$clients_work/mvn" 2>&1 || {
        grep -m 3 ERROR "$clients_work/mvn"
        skip "Maven cannot build the client's tests"
    }
}

suite_prepare() {
    command -v mvn >/dev/null && command -v javac >/dev/null ||
        skip "there is no mvn or no javac"
    exec 9>"$cache/java.lock"
    flock 9
    if [ ! -f "$java_home/complete" ]; then
        checkout java-bigtable QUARRY_JAVA_BIGTABLE
        rm -rf "$java_home"
        git clone -q "$QUARRY_JAVA_BIGTABLE" "$java_home" 2>/dev/null
        git -C "$java_home" checkout -q "v$suite_version" 2>/dev/null ||
            skip "the checkout has no v$suite_version"
        java_maven test-compile -DskipTests
        touch "$java_home/complete"
    fi
    [ -s "$java_home/classpath" ] ||
        java_maven dependency:build-classpath -DincludeScope=test \
            -Dmdep.outputFile="$java_home/classpath"
    javac -nowarn -cp "$(java_classpath)" -d "$java_home" \
        "$here"/java/*.java 2>"$clients_work/javac" || {
        tail -5 "$clients_work/javac"
        skip "javac cannot build what runs the tests"
    }
    exec 9>&-
    service_certificate
    service_account p
}

# The classes that $QUARRY_CLASSES matches, or all.
java_tests() {
    (cd "$java_module/target/test-classes" &&
        find com -path '*/it/*IT.class' | sort) | sed 's|/|.|g; s|\.class$||' |
        grep -Ev "$java_skipped" | grep -E "${QUARRY_CLASSES:-.}"
}

# java_run CLASS ARGUMENT…
java_run() {
    local port=${clients_address##*:}
    # Without a cloud there is no server of metadata to wait for.
    GCE_METADATA_HOST=127.0.0.1:9 \
        GOOGLE_APPLICATION_CREDENTIALS=$clients_work/account.json \
        timeout 900 java -Xmx1500m \
        -cp "$(java_classpath)" \
        -Djavax.net.ssl.trustStore="$clients_work/trusted" \
        -Djavax.net.ssl.trustStorePassword=quarry \
        -Djava.util.logging.config.file="$java_module/src/test/resources/logging.properties" \
        -Dbigtable.env=cloud -Dbigtable.project=p -Dbigtable.instance=it \
        -Dbigtable.table=default-table \
        -Dbigtable.data-endpoint="localhost:$port" \
        -Dbigtable.admin-endpoint="localhost:$port" \
        "$@"
}

# The instance and the table that the tests are told of, made by the client.
suite_run() {
    local class
    java_run MakeInstance p it it-cluster default-table 0 || return
    for class in $(java_tests); do
        java_run JUnitRun "$clients_work/$class.xml" "$class"
        results_expect "$class"
    done
}
