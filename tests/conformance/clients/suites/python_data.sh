# Python, system tests of the data client, in its mode for emulators
. "$here/suites/python_lib.sh"
suite_run() {
    python_tests emulator tests/system/data
}
