"""Runs the checks of fs_suite.h, alone and with faults on the way.

    class S3Files(store_suite.StoreTest):
        def test_promises(self):
            self.suite(env, "s3://bucket/suite", "all")

The program is the first word of the command line that has its name.
"""

import os
import subprocess
import sys
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))
from fault_proxy import KINDS, FaultProxy  # noqa: E402


def program(quarry):
    """fs_suite beside @quarry, or @quarry if it is the suite itself."""
    if os.path.basename(quarry) == "fs_suite":
        return quarry
    return os.path.join(os.path.dirname(os.path.abspath(quarry)), "tests",
                        "engines", "fs_suite")


class StoreTest(unittest.TestCase):
    suite_program = None
    seconds = 900

    def suite(self, env, *words):
        """The output of the suite, which passes."""
        done = subprocess.run([self.suite_program] + [str(w) for w in words],
                              env={**os.environ, "no_proxy": "127.0.0.1",
                                   **env},
                              stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=self.seconds)
        text = done.stdout.decode(errors="replace")
        if "built without" in text:
            print("SKIPPED: built without what %s needs" % words[0],
                  flush=True)
            self.skipTest("not built in")
        self.assertEqual(done.returncode, 0, text[:3000])
        return text

    def report(self, text, *proxies):
        """Prints the requests that were broken, and the outcome of the calls."""
        requests = sum(p.requests for p in proxies)
        kinds = {}
        for p in proxies:
            for kind, count in p.counts.items():
                kinds[kind] = kinds.get(kind, 0) + count
        line = [line for line in text.splitlines() if " calls, " in line]
        print("%s; %d requests, broken: %s" % (
            line[0] if line else "?", requests,
            ", ".join("%s %d" % k for k in sorted(kinds.items()))), flush=True)
        self.assertGreater(sum(kinds.values()), 0)


__all__ = ["FaultProxy", "KINDS", "StoreTest", "program"]
