"""quarry.duckdb_extension: LOAD in a DuckDB that is not Quarry's reads
a store. DuckDB is called by its C API from Python, so that no
package of it is needed."""

import ctypes
import json
import os
import sys

import harness
from harness import CliTest, main
from test_sql import LIBRARY, say_skipped

EXTENSION = os.path.join(os.path.dirname(harness.QUARRY),
                         "quarry.duckdb_extension")
RESULT_BYTES = 256  # More than DuckDB's struct has.


class DuckDB:
    """One database in memory that takes unsigned extensions."""

    def __init__(self):
        self.lib = ctypes.CDLL(LIBRARY)
        self.lib.duckdb_result_error.restype = ctypes.c_char_p
        config = ctypes.c_void_p()
        self.db = ctypes.c_void_p()
        self.connection = ctypes.c_void_p()
        self.lib.duckdb_create_config(ctypes.byref(config))
        self.lib.duckdb_set_config(config, b"allow_unsigned_extensions",
                                   b"true")
        failed = self.lib.duckdb_open_ext(None, ctypes.byref(self.db), config,
                                          None)
        failed |= self.lib.duckdb_connect(self.db,
                                          ctypes.byref(self.connection))
        if failed:
            raise RuntimeError("DuckDB does not open")

    def run(self, sql):
        """None, or the error."""
        result = ctypes.create_string_buffer(RESULT_BYTES)
        failed = self.lib.duckdb_query(self.connection, sql.encode(), result)
        error = self.lib.duckdb_result_error(result) if failed else None
        text = error.decode() if error else None
        self.lib.duckdb_destroy_result(result)
        return text


def missing():
    """Why the extension cannot be loaded here; None: it can."""
    if not LIBRARY:
        return "DuckDB is not here (scripts/deps sql)"
    if not os.path.exists(EXTENSION):
        return "%s is not built" % EXTENSION
    with open(EXTENSION, "rb") as f:
        if b"__asan_init" in f.read():
            return "Python does not load a sanitizer"
    return None


class Extension(CliTest):
    def setUp(self):
        if missing():
            say_skipped(self, missing())
        super().setUp()
        self.duckdb = DuckDB()
        self.assertIsNone(self.duckdb.run("LOAD '%s'" % EXTENSION))

    def rows(self, query):
        out = self.path("out.json")
        self.assertIsNone(self.duckdb.run("COPY (%s) TO '%s' (FORMAT json)" %
                                          (query, out)))
        with open(out) as f:
            return [list(json.loads(line).values()) for line in f]

    def test_directory(self):
        """Rows, columns with types and cells of a store in a directory."""
        self.table("web", "contents", "stats")
        self.ok("shell", stdin="put web a contents:lang=en stats:n=5\n"
                "put web b contents:lang=de\nput web c stats:n=7\n")
        target = "file:" + self.path("quarry-data")
        self.assertEqual(self.rows(
            "SELECT key, decode(contents['lang']) FROM quarry('%s', 'web') "
            "ORDER BY key" % target), [["a", "en"], ["b", "de"], ["c", None]])
        self.assertEqual(self.rows(
            "SELECT sum(n)::INTEGER FROM quarry('%s', 'web', "
            "columns := {'n': 'stats:n::BIGINT'}, key_from := 'b')" % target),
            [[7]])
        self.assertEqual(self.rows("SELECT count(*) FROM quarry_cells("
                                   "'%s', 'web')" % target), [[4]])

    def test_errors(self):
        """No store, no table: sentences; one name alone is no form."""
        self.assertIn("quarry(VARCHAR, VARCHAR",
                      self.duckdb.run("FROM quarry('web')"))
        self.assertIn("no store in", self.duckdb.run(
            "FROM quarry('file:%s', 'web')" % self.path("nosuch")))
        self.table()
        self.assertIn("nosuch", self.duckdb.run(
            "FROM quarry('file:%s', 'nosuch')" % self.path("quarry-data")))


if __name__ == "__main__":
    main()
