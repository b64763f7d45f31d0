"""The promises of fs.h, kept by a bucket on the strict server of the tests:
alone, and through a proxy that breaks every third request.

    python3 tests/engines/test_files.py FS_SUITE [unittest arguments]
"""

import sys
import unittest

import store_suite
from store_suite import FaultProxy

import fake_s3

store_suite.StoreTest.suite_program = store_suite.program(sys.argv.pop(1))


class Files(store_suite.StoreTest):
    def test_promises(self):
        with fake_s3.FakeS3() as s3:
            s3.page = 100
            env = dict(s3.env(), FS_SUITE_BIG_BYTES="20000000",
                       FS_SUITE_ENTRIES="250")
            self.suite(env, "s3://bucket/suite", "all")

    def test_faults(self):
        with fake_s3.FakeS3() as s3, \
                FaultProxy(s3.server.server_address, seed=7) as proxy:
            env = dict(s3.env(), AWS_MAX_ATTEMPTS="3")
            env["QUIET_AWS_ENDPOINT_URL"] = env["AWS_ENDPOINT_URL"]
            env["QUIET_AWS_MAX_ATTEMPTS"] = "1"
            env["AWS_ENDPOINT_URL"] = "http://127.0.0.1:%d" % proxy.port
            text = self.suite(env, "s3://bucket/suite", "faults", 150, 1,
                              "s3://bucket/suite")
            self.report(text, proxy)


if __name__ == "__main__":
    unittest.main()
