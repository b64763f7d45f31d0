"""quarry sql beside the C library's plain scan, in turn: seconds of CPU and of
the clock for a count, a group by of one column, a top ten, and a key.

    python3 tests/bench/sql.py BUILD [ROWS [ROUNDS]]

BUILD is an optimised one with -DQUARRY_BENCH=ON (targets quarry and
bench_scan_cells) on a machine with DuckDB (scripts/deps sql)."""

import os
import re
import statistics
import subprocess
import sys
import tempfile

QUERIES = {
    "count": "SELECT count(*) FROM small",
    "group by": "SELECT lang, count(*) AS n FROM v GROUP BY lang ORDER BY n",
    "top ten": "SELECT n, key FROM v ORDER BY n DESC LIMIT 10",
}
KEYS = 200


def run(build, where, *args, stdin=None):
    done = subprocess.run([os.path.join(build, "quarry"), *args], cwd=where,
                          input=stdin, capture_output=True, text=True,
                          check=False)
    if done.returncode:
        sys.exit(done.stderr)
    return done


def fill(build, where, rows):
    """Small rows: a key, a language of six, a number."""
    run(build, where, "table", "create", "small", "--family", "s")
    run(build, where, "sql", "-c",
        "INSERT INTO small SELECT printf('row%%09d', i) AS key, "
        "['en','de','fr','it','es','pt'][1 + (i * 7 %% 6)::INTEGER] AS "
        "\"s:lang\", (i * 2654435761 %% 1000003)::VARCHAR AS \"s:n\" "
        "FROM range(%d) t(i)" % rows)
    run(build, where, "table", "compact", "small")
    run(build, where, "sql", "-c", "CREATE VIEW v AS SELECT * FROM "
        "quarry('small', columns := {'lang': 's:lang', 'n': 's:n::BIGINT'})")


def plain_scan(build, where):
    """Seconds of CPU of the second scan."""
    out = subprocess.run([os.path.join(build, "tests", "bench", "bench_scan_cells"),
                          "file:quarry-data", "small"], cwd=where, text=True,
                         capture_output=True, check=True).stdout
    return float(out.split()[-1])


def sql_times(build, where, statement, times=2):
    """Milliseconds that each statement took, of one session; and CPU."""
    before = os.times()
    done = run(build, where, "sql", "--timing", "-o", "x",
               stdin=(statement + ";\n") * times)
    after = os.times()
    cpu = (after.children_user + after.children_system -
           before.children_user - before.children_system)
    return [float(ms) for ms in re.findall(r"rows, ([0-9.]+) ms",
                                           done.stderr)], cpu


def main():
    build = os.path.abspath(sys.argv[1])
    rows = int(sys.argv[2]) if len(sys.argv) > 2 else 2_000_000
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    plain, took = [], {name: [] for name in QUERIES}
    with tempfile.TemporaryDirectory() as where:
        fill(build, where, rows)
        for _ in range(rounds):
            plain.append(plain_scan(build, where))
            for name, statement in QUERIES.items():
                # One and three of them: the difference is two warm ones.
                one = sql_times(build, where, statement, 1)[1]
                three = sql_times(build, where, statement, 3)[1]
                took[name].append((three - one) / 2)
        scan = statistics.median(plain)
        print("plain scan of %d rows: %.2f s of CPU" % (rows, scan))
        for name in QUERIES:
            cpu = statistics.median(took[name])
            print("%-9s %.2f s of CPU, %.2f of the plain scan's rate" % (
                name, cpu, scan / cpu))
        times, _ = sql_times(build, where, "SELECT * FROM small WHERE key = "
                             "'row%09d'" % (rows // 2), KEYS)
        print("a key     %.2f ms, the median of %d" % (
            statistics.median(times), KEYS))


main()
