# Apache Beam, integration tests of BigtableIO on its direct runner, as against the service
. "$here/service.sh"
suite_version=2.73.0
beam_home=$cache/beam-$suite_version
beam_group=org.apache.beam
beam_io=$beam_group:beam-sdks-java-io-google-cloud-platform
# Classes of tests, in the package org.apache.beam.sdk.io.gcp.bigtable.
beam_tests=(BigtableReadIT BigtableWriteIT BigtableReadSchemaTransformProviderIT
    BigtableWriteSchemaTransformProviderIT
    BigtableSimpleWriteSchemaTransformProviderIT
    changestreams.it.BigtableChangeStreamIT)

suite_prepare() {
    command -v mvn >/dev/null && command -v javac >/dev/null ||
        skip "there is no mvn or no javac"
    exec 9>"$cache/beam.lock"
    flock 9
    maven_classpath "$beam_home" $beam_io:$suite_version \
        $beam_io:$suite_version:tests \
        $beam_group:beam-sdks-java-core:$suite_version:tests \
        $beam_group:beam-runners-direct-java:$suite_version \
        junit:junit:4.13.2 org.hamcrest:hamcrest:2.2
    javac -nowarn -cp "$(cat "$beam_home/classpath")" -d "$beam_home" \
        "$here"/java/*.java "$here"/beam/*.java 2>"$clients_work/javac" || {
        tail -5 "$clients_work/javac"
        skip "javac cannot build what runs the tests"
    }
    exec 9>&-
    service_certificate
    service_account p
    service_tokens
    service_names
}

# beam_java CLASS ARGUMENT…
beam_java() {
    # Without a cloud there is no server of metadata to wait for.
    GCE_METADATA_HOST=127.0.0.1:9 \
        GOOGLE_APPLICATION_CREDENTIALS=$clients_work/account.json \
        timeout 1200 java -Xmx2500m -cp "$beam_home:$(cat "$beam_home/classpath")" \
        -Djdk.net.hosts.file="$clients_work/hosts" \
        -Djavax.net.ssl.trustStore="$clients_work/trusted" \
        -Djavax.net.ssl.trustStorePassword=quarry \
        -DbeamTestPipelineOptions='["--project=p", "--runner=DirectRunner",
            "--tempLocation='"$clients_work"'",
            "--credentialFactoryClass=org.apache.beam.sdk.extensions.gcp.auth.NoopCredentialFactory"]' \
        "$@"
}

suite_run() {
    local class
    # The instance and the table of 1,000 rows that its project has.
    beam_java MakeInstance p beam-test beam-test-cluster BigtableReadTest 1000 ||
        return
    for class in "${beam_tests[@]}"; do
        [[ $class =~ ${QUARRY_CLASSES:-.} ]] || continue
        beam_java JUnitRun "$clients_work/$class.xml" \
            "org.apache.beam.sdk.io.gcp.bigtable.$class"
        results_expect "$class"
    done
}
