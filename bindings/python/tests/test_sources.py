"""A source distribution has every directory that the build needs."""

import ast
import os
import re
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


if __name__ == "__main__":
    unittest.main()
