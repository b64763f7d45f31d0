"""A source distribution has every directory that the build needs."""

import ast
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..", "..")


class Sources(unittest.TestCase):
    def test_directories(self):
        with open(os.path.join(HERE, "..", "setup.py"), encoding="utf-8") as f:
            tree = ast.parse(f.read())
        sources = next(ast.literal_eval(n.value) for n in tree.body
                       if isinstance(n, ast.Assign) and
                       n.targets[0].id == "SOURCES")
        with open(os.path.join(ROOT, "CMakeLists.txt"), encoding="utf-8") as f:
            needed = set(re.findall(r"^add_subdirectory\(([^)/]+)", f.read(),
                                    re.M))
        self.assertIn("bigtable", needed)
        self.assertEqual(needed - set(sources), set())

    def test_files(self):
        """Directories named as those of builds are not left out."""
        try:
            import setuptools  # noqa: F401
        except ImportError:
            self.skipTest("SKIPPED: no setuptools")
        with tempfile.TemporaryDirectory() as made:
            subprocess.run([sys.executable, "setup.py", "-q", "egg_info",
                            "--egg-base", made, "sdist", "--dist-dir", made],
                           cwd=os.path.join(HERE, ".."), check=True,
                           stdout=subprocess.DEVNULL)
            name = next(n for n in os.listdir(made) if n.endswith(".tar.gz"))
            with tarfile.open(os.path.join(made, name)) as tar:
                have = {n.split("/source/", 1)[1] for n in tar.getnames()
                        if "/source/" in n}
        wanted = {os.path.relpath(os.path.join(path, n), ROOT)
                  for top in ("base", "bigtable", "mapreduce", "web")
                  for path, _, names in os.walk(os.path.join(ROOT, top))
                  for n in names if n.endswith((".c", ".h", ".txt", ".def"))}
        self.assertGreater(len(wanted), 1000)
        self.assertEqual(wanted - have, set())


if __name__ == "__main__":
    unittest.main()
