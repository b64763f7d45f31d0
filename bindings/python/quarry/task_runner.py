"""Runs a Python mapper or reducer inside of a task: a program of its own,
with nothing but the standard library, since a task sees neither this package
nor what else is installed in a user's home.

    python3 task_runner.py map|reduce FILE FUNCTION lines|rows

Lines come and go as docs/jobs.md says: fields between tabs, with \\t, \\n, \\r
and \\\\ for bytes that would break a line apart.
"""

import itertools
import os
import sys
import types

_SPECIAL = {b"\\": b"\\\\", b"\t": b"\\t", b"\n": b"\\n", b"\r": b"\\r"}
_BACK = {0x74: b"\t", 0x6e: b"\n", 0x72: b"\r", 0x5c: b"\\"}


def escape(value):
    """A field: str, bytes, or anything with a text."""
    if not isinstance(value, bytes):
        value = str(value).encode()
    for plain, written in _SPECIAL.items():
        if plain in value:
            value = value.replace(plain, written)
    return value


def unescape(field):
    """The bytes of a field."""
    if b"\\" not in field:
        return field
    out, rest = b"", field
    while True:
        before, slash, rest = rest.partition(b"\\")
        out += before
        if not slash:
            return out
        out += _BACK.get(rest[0], b"\\" + rest[:1]) if rest else b"\\"
        rest = rest[1:]


class Row:
    """A row of a table: `key`, and `cells`, (column, timestamp_us, value),
    newest first in a column."""

    __slots__ = ("key", "cells")

    def __init__(self, key, cells):
        self.key = key
        self.cells = cells

    def value(self, column, default=None):
        """The newest value of "family:qualifier"."""
        name = column.encode() if isinstance(column, str) else column
        return next((v for c, _, v in self.cells if c == name), default)

    def family(self, name):
        """{qualifier: newest value} of a family."""
        prefix = (name if isinstance(name, bytes) else name.encode()) + b":"
        newest = {}
        for column, _, value in self.cells:
            if column.startswith(prefix):
                newest.setdefault(column[len(prefix):], value)
        return newest


def lines():
    """The input's lines, without their ends."""
    for line in sys.stdin.buffer:
        yield line[:-1] if line.endswith(b"\n") else line


def rows():
    """The input's rows, each of its consecutive lines of cells."""
    fields = (line.split(b"\t", 3) for line in lines())
    for key, cells in itertools.groupby(fields, lambda f: f[0]):
        yield Row(unescape(key), [(unescape(c[1]), int(c[2]), unescape(c[3]))
                                  for c in cells])


def pairs():
    """Key and value of each line that a mapper wrote."""
    for line in lines():
        key, _, value = line.partition(b"\t")
        yield key, unescape(value)


def write(out, result):
    """A line: of a tuple its fields, of anything else itself."""
    if isinstance(result, tuple):
        out.write(b"\t".join(escape(f) for f in result) + b"\n")
    else:
        text = result if isinstance(result, bytes) else str(result).encode()
        out.write(text + b"\n")


class NotHere(types.ModuleType):
    """The package quarry as a task sees it: it may be imported, since the file
    of a mapper does that for the program that runs the job, and nothing of it
    can be used."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return NotHere("%s.%s" % (self.__name__, name))

    def __call__(self, *_, **__):
        raise RuntimeError("%s cannot be used inside of a task" % self.__name__)


def load(path, name):
    """The function `name` of the source file `path`."""
    for module in ("quarry", "quarry.filters", "quarry.jobs",
                   "quarry.task_runner"):
        sys.modules[module] = NotHere(module)
    with open(path, "rb") as f:
        code = compile(f.read(), os.path.basename(path), "exec")
    scope = {"__name__": "quarry_job", "__file__": path, "Row": Row}
    exec(code, scope)
    if name not in scope:
        sys.exit("%s has no function %s" % (path, name))
    return scope[name]


def main():
    """Feed the function with the task's input."""
    stage, path, name, kind = sys.argv[1:5]
    function = load(path, name)
    out = sys.stdout.buffer
    if stage == "map":
        for record in rows() if kind == "rows" else lines():
            for result in function(record) or ():
                write(out, result)
        return
    for key, group in itertools.groupby(pairs(), lambda p: p[0]):
        for result in function(unescape(key), (v for _, v in group)) or ():
            write(out, result)


if __name__ == "__main__":
    main()
