"""The examples: what their pages say to type is typed, in one shell, and what
they say it prints is what it prints.

`test_examples.py QUARRY --write` puts what is printed into the pages."""

import os
import re
import shutil
import stat
import subprocess
import sys

WRITE = "--write" in sys.argv
if WRITE:
    sys.argv.remove("--write")

from harness import QUARRY, ROOT, CliTest, main

EXAMPLES = os.path.join(ROOT, "examples")
BLOCK = re.compile(r"^```(sh|text)\n(.*?)^```$", re.M | re.S)
MARK = "--- end of a block ---"


class Examples(CliTest):
    def setUp(self):
        super().setUp()
        bin_dir = self.path("bin")
        os.mkdir(bin_dir)
        os.symlink(QUARRY, os.path.join(bin_dir, "quarry"))
        self.env["PATH"] = bin_dir + os.pathsep + os.environ["PATH"]
        self.env["QUARRY_SOURCE"] = ROOT
        self.env["TMPDIR"] = self.dir
        # The same pages on a cell that somebody has started.
        if "QUARRY_EXAMPLES_TARGET" in os.environ:
            self.env["QUARRY_TARGET"] = os.environ["QUARRY_EXAMPLES_TARGET"]
        os.mkdir(self.path("work"))

    def run_page(self, name):
        page = os.path.join(EXAMPLES, name, "README.md")
        with open(page) as f:
            text = f.read()
        blocks = list(BLOCK.finditer(text))
        script = "set -e\n" + "".join(
            b.group(2) + "printf '%s\\n' '" + MARK + "'\n"
            for b in blocks if b.group(1) == "sh")
        done = subprocess.run(
            ["bash", "-c", script], cwd=self.path("work"), env=self.env,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, timeout=500, check=False, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        printed = done.stdout.split(MARK + "\n")
        wants, fresh, number = [], text, -1
        for b in blocks:
            if b.group(1) == "sh":
                number += 1
                wants.append("")
            else:
                wants[number] = b.group(2)
                fresh = fresh.replace(b.group(0), "```text\n%s```" %
                                      printed[number], 1)
        if WRITE:
            with open(page, "w") as f:
                f.write(fresh)
            return
        self.assertEqual(printed, wants + [""])

    def test_webtable(self):
        """Crawl, links, PageRank, inverted index, search."""
        self.run_page("webtable")

    def test_analytics(self):
        """Raw clicks become a summary, night by night."""
        self.run_page("analytics")

    def test_personalized_search(self):
        """Actions of users become profiles in the same rows."""
        self.run_page("personalized_search")

    def test_imagery(self):
        """Pictures from two sources become a map in memory."""
        self.run_page("imagery")

    def test_incremental(self):
        """Observers keep right what jobs make of pages that change."""
        self.run_page("incremental")

    def test_own_job(self):
        """A job in C is built against what is installed; Python and Sawzall
        answer the same, and all of them on a cell, too."""
        build = os.path.dirname(QUARRY)
        while not os.path.exists(os.path.join(build, "CMakeCache.txt")):
            build = os.path.dirname(build)
            self.assertNotEqual(build, "/")
        # Headers and the package's files; the library is no part of a job.
        prefix = self.path("prefix")
        subprocess.run(["cmake", "--install", build, "--prefix", prefix,
                        "--component", "headers"], check=True,
                       stdout=subprocess.DEVNULL)
        self.env["PREFIX"] = prefix
        # Of a page that breaks off.
        self.addCleanup(self.run_quarry, "cluster", "stop", "--data",
                        self.path("work/job/quarry-cluster"))
        self.run_page("own_job")


if __name__ == "__main__":
    main()
