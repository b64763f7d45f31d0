# Python, the same as against the service, but for what reads Cloud Monitoring
. "$here/suites/python_lib.sh"
suite_run() {
    python_tests service tests/system/data/test_system_async.py \
        tests/system/data/test_system_autogen.py -k "not metric"
}
