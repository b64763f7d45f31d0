"""The type hints of the extension module name what it has, and no more; mypy,
where it is installed, agrees with them and with the package."""

import ast
import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest

import quarry
from quarry import _quarry

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = os.path.join(HERE, "..", "quarry")


def public(names):
    return {n for n in names if not n.startswith("_")}


class Hints(unittest.TestCase):
    def setUp(self):
        with open(os.path.join(PACKAGE, "_quarry.pyi")) as f:
            self.tree = ast.parse(f.read())

    def test_names(self):
        """Classes and methods of the hints are those of the module."""
        hinted = {n.name: n for n in self.tree.body
                  if isinstance(n, ast.ClassDef)}
        self.assertEqual(public(hinted), public(dir(_quarry)))
        for name in ("Store", "Table", "Scanner", "Transaction"):
            methods = {n.name for n in hinted[name].body
                       if isinstance(n, ast.FunctionDef)}
            self.assertEqual(public(methods),
                             public(vars(getattr(_quarry, name))), name)

    def test_errors(self):
        """Exceptions have the bases that the hints say."""
        for node in self.tree.body:
            if not isinstance(node, ast.ClassDef) or node.name == "Error":
                continue
            made = getattr(_quarry, node.name)
            bases = [b.__name__ for b in made.__bases__
                     if b is not object]
            self.assertEqual([b.id for b in node.bases] or [],
                             bases if issubclass(made, Exception) else [],
                             node.name)

    def test_marked(self):
        """The package says that it has hints."""
        self.assertTrue(os.path.exists(os.path.join(PACKAGE, "py.typed")))
        self.assertTrue(quarry.__version__)

    def test_stubtest(self):
        """mypy's stubtest finds nothing between the hints and the module."""
        if importlib.util.find_spec("mypy") is None:
            print("SKIPPED: mypy is not installed (pip install mypy)",
                  flush=True)
            self.skipTest("mypy is not installed")
        env = dict(os.environ, MYPYPATH=os.path.join(HERE, ".."))
        settings = tempfile.NamedTemporaryFile("w", suffix=".ini")
        self.addCleanup(settings.close)
        # pyarrow and others are for those who have them.
        settings.write("[mypy]\nignore_missing_imports = True\n")
        settings.flush()
        done = subprocess.run(
            [sys.executable, "-m", "mypy.stubtest", "--concise",
             "--mypy-config-file", settings.name, "--ignore-disjoint-bases", "quarry._quarry"],
            env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            check=False)
        self.assertEqual(done.returncode, 0, done.stdout.decode())


if __name__ == "__main__":
    unittest.main(verbosity=2)
