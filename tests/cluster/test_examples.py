"""The pages of the examples on a cell of three processes: typed as they are,
with the target alone changed, they print what they print of a directory."""

import os
import subprocess
import sys

from processes import QUARRY, ClusterTest, main

CLI_TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..",
                         "cli")
PAGES = ["analytics", "personalized_search", "imagery", "webtable"]


class ExamplesOnACell(ClusterTest):
    def test_pages(self):
        """Import, jobs that read and write tables, programs in the servers."""
        self.loopback(3)
        env = dict(os.environ, QUARRY_EXAMPLES_TARGET="cluster:" +
                   self.path("quarry-cluster"))
        done = subprocess.run(
            [sys.executable, os.path.join(CLI_TESTS, "test_examples.py"),
             QUARRY] + ["Examples.test_" + page for page in PAGES], env=env,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            timeout=600, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)


if __name__ == "__main__":
    main()
