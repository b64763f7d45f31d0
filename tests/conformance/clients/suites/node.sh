# Node.js, system tests; $QUARRY_NODEJS_BIGTABLE: a checkout of nodejs-bigtable
suite_version=6.5.0
node_home=$cache/node-$suite_version
# Not run: client-side metrics and their export (Cloud Monitoring), and the load
# test.
node_files=(app-profile bigtable cluster mutate-rows
    read-modify-write-row-interceptors read-rows read-rows-acceptance-tests
    service-path)

suite_prepare() {
    command -v npm >/dev/null || skip "there is no npm"
    exec 9>"$cache/node.lock"
    flock 9
    if [ ! -f "$node_home/complete" ]; then
        checkout nodejs-bigtable QUARRY_NODEJS_BIGTABLE
        rm -rf "$node_home"
        mkdir -p "$node_home"
        node_build >"$clients_work/npm" 2>&1 || {
            tail -5 "$clients_work/npm"
            skip "the client or its tests cannot be built"
        }
        touch "$node_home/complete"
    fi
    exec 9>&-
}

# A large generated file may be missing from a checkout; the package of that
# version has it.
node_build() {
    (cd "$QUARRY_NODEJS_BIGTABLE" &&
        grep -q "\"version\": \"$suite_version\"" package.json &&
        cp -r package.json tsconfig.json src test test-common testproxy \
            system-test protos "$node_home") || {
        echo "it is not a checkout of $suite_version"
        return 1
    }
    cd "$node_home" || return
    npm pack --silent "@google-cloud/bigtable@$suite_version" &&
        tar xzf google-cloud-bigtable-*.tgz &&
        cp package/build/protos/protos.* protos/ &&
        npm install --ignore-scripts --silent && {
            npx tsc -p .
            cp -r protos build/ && cp -r system-test/data \
                system-test/*.json build/system-test/
        }
}

suite_run() {
    (cd "$node_home" && BIGTABLE_EMULATOR_HOST=$clients_address \
        GCLOUD_PROJECT=p GOOGLE_CLOUD_PROJECT=p \
        timeout 600 npx mocha "${node_files[@]/#/build/system-test/}" \
        --timeout 60000 --exit --reporter xunit \
        --reporter-option "output=$clients_work/node.xml")
}
