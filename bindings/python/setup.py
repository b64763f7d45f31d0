"""Builds the extension module and the program quarry with the project's own
CMake, from the source tree that this directory lies in, or from the copy of it
that a source distribution has."""

import os
import shutil
import subprocess
import sys

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.sdist import sdist

try:  # setuptools 70.1 and later have it themselves.
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:
    try:
        from wheel.bdist_wheel import bdist_wheel
    except ImportError:
        bdist_wheel = None

HERE = os.path.dirname(os.path.abspath(__file__))
# The parts of the source tree that the build needs.
SOURCES = ["CMakeLists.txt", "LICENSE", "base", "bigtable", "bindings",
           "chubby-lite", "cli", "cmake", "gfs-lite", "jobs", "mapreduce",
           "sawzall-lite", "web"]


def not_sources(root):
    """For shutil.copytree(): it leaves out results of builds, which lie beside this
    file. Elsewhere "build" is a name like any other."""
    made = shutil.ignore_patterns("dist", "*.egg-info", "__pycache__",
                                  "quarry[-_]tables-*")

    def ignored(path, names):
        here = os.path.relpath(path, root) == os.path.join("bindings", "python")
        return made(path, names) | ({"build"} & set(names) if here else set())
    return ignored


def source_tree():
    """Where the project's CMakeLists.txt is."""
    for path in (os.path.join(HERE, "source"),
                 os.path.dirname(os.path.dirname(HERE))):
        if os.path.isdir(os.path.join(path, "bigtable")):
            return path
    sys.exit("setup.py: the C sources are not here: build from a checkout of "
             "Quarry or from its source distribution")


class BuildWithCMake(build_ext):
    """The module and the program, by CMake."""

    def run(self):
        if not shutil.which("cmake"):
            sys.exit("setup.py: cmake is missing: install what scripts/deps "
                     "of the source tree installs")
        build = os.path.abspath(self.build_temp)
        target = os.path.abspath(
            os.path.dirname(self.get_ext_fullpath("quarry._quarry")))
        generator = ["-G", "Ninja"] if shutil.which("ninja") else []
        subprocess.check_call(
            ["cmake", "-S", source_tree(), "-B", build, "-DQUARRY_TESTS=OFF",
             "-DQUARRY_PYTHON=ON", "-DQUARRY_PYTHON_REQUIRED=ON",
             "-DCMAKE_BUILD_TYPE=RelWithDebInfo",
             "-DPython3_EXECUTABLE=" + sys.executable] + generator)
        subprocess.check_call(
            ["cmake", "--build", build, "--parallel",
             str(os.cpu_count() or 1), "--target", "quarry_python", "quarry"])
        os.makedirs(os.path.join(target, "bin"), exist_ok=True)
        module = os.path.join(target, "_quarry.abi3.so")
        program = os.path.join(target, "bin", "quarry")
        shutil.copy(os.path.join(build, "python", "quarry", "_quarry.abi3.so"),
                    module)
        shutil.copy(os.path.join(build, "quarry"), program)
        if shutil.which("strip"):
            subprocess.check_call(["strip", "--strip-unneeded", module])
            subprocess.check_call(["strip", program])

    def get_outputs(self):
        target = os.path.dirname(self.get_ext_fullpath("quarry._quarry"))
        return [os.path.join(target, "_quarry.abi3.so"),
                os.path.join(target, "bin", "quarry")]


class SourcesToo(sdist):
    """A source distribution has the C sources."""

    def make_release_tree(self, base_dir, files):
        super().make_release_tree(base_dir, files)
        root = source_tree()
        to = os.path.join(base_dir, "source")
        os.makedirs(to, exist_ok=True)
        for name in SOURCES:
            path = os.path.join(root, name)
            if os.path.isdir(path):
                shutil.copytree(path, os.path.join(to, name),
                                ignore=not_sources(root),
                                dirs_exist_ok=True)
            else:
                shutil.copy(path, os.path.join(to, name))


COMMANDS = {"build_ext": BuildWithCMake, "sdist": SourcesToo}
if bdist_wheel:
    class OneForAll(bdist_wheel):
        """The module is of Python's stable ABI: one wheel for all versions."""

        def finalize_options(self):
            self.py_limited_api = "cp39"
            super().finalize_options()

    COMMANDS["bdist_wheel"] = OneForAll

setup(
    ext_modules=[Extension("quarry._quarry", [], py_limited_api=True)],
    cmdclass=COMMANDS,
)
