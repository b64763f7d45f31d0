# Python, system tests of the admin and the older clients, as against the service
. "$here/suites/python_lib.sh"
suite_run() {
    python_tests service tests/system/admin_overlay tests/system/v2_client
}
