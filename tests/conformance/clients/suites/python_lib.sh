# What the suites of the Python client share; no suite.
suite_version=2.50.2
python_home=$cache/python-$suite_version

# The tests are in the client's source package, with the versions of pytest that
# they were written for.
suite_prepare() {
    exec 9>"$cache/python.lock"
    flock 9
    if [ ! -f "$python_home/complete" ]; then
        rm -rf "$python_home"
        mkdir -p "$python_home"
        {
            python3 -m venv "$python_home/env" &&
                "$python_home/env/bin/pip" download -q --no-deps \
                    --no-binary :all: -d "$python_home" \
                    "google-cloud-bigtable==$suite_version" &&
                tar xzf "$python_home"/google_cloud_bigtable-*.tar.gz \
                    --strip-components=1 -C "$python_home" &&
                "$python_home/env/bin/pip" install -q \
                    "google-cloud-bigtable==$suite_version" 'pytest<8' \
                    pytest-asyncio==0.21.2 pytest-timeout mock \
                    google-cloud-testutils
        } >"$clients_work/pip" 2>&1 || {
            tail -3 "$clients_work/pip"
            skip "pip cannot fetch the client"
        }
        touch "$python_home/complete"
    fi
    exec 9>&-
}

# python_tests EMULATOR ARGUMENT…: with $BIGTABLE_EMULATOR_HOST, or as against
# the service.
python_tests() {
    local how=(QUARRY_API="$clients_address" PYTHONPATH="$here")
    local plugin=(-p quarry_redirect)
    if [ "$1" = emulator ]; then
        how=(BIGTABLE_EMULATOR_HOST="$clients_address")
        plugin=()
    fi
    shift
    (cd "$python_home" && env GOOGLE_CLOUD_PROJECT=p "${how[@]}" \
        timeout 1800 env/bin/pytest -q "${plugin[@]}" -p no:cacheprovider \
        --timeout 120 --junit-xml "$clients_work/python.xml" "$@")
}
