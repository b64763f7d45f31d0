"""quarry sql beside the C library's plain scan, in turn: seconds of CPU and of
the clock for a count, a group by of one column, a top ten, and a key.

    scripts/bench sql [-- ROWS [ROUNDS]]
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
    """Seconds of CPU and of the clock of the second scan."""
    out = subprocess.run([os.path.join(build, "tests", "bench", "bench_scan_cells"),
                          "file:quarry-data", "small"], cwd=where, text=True,
                         capture_output=True, check=True).stdout.split()
    return float(out[1]), float(out[2])


def sql_times(build, where, statement, times):
    """Milliseconds that each statement took, of one session; and CPU."""
    before = os.times()
    done = run(build, where, "sql", "--timing", "--format", "csv",
               stdin=(statement + ";\n") * times)
    after = os.times()
    cpu = (after.children_user + after.children_system -
           before.children_user - before.children_system)
    return [float(ms) for ms in re.findall(r"rows, ([0-9.]+) ms",
                                           done.stderr)], cpu


def measure(build, where, rounds):
    """Medians: of the plain scan, and of each query, (CPU, clock)."""
    plain, took = [], {name: [] for name in QUERIES}
    for _ in range(rounds):
        plain.append(plain_scan(build, where))
        for name, statement in QUERIES.items():
            # One and three of them: the difference is two warm ones.
            one = sql_times(build, where, statement, 1)[1]
            each, three = sql_times(build, where, statement, 3)
            took[name].append(((three - one) / 2, min(each[1:]) / 1000))
    return [statistics.median(p[i] for p in plain) for i in (0, 1)], {
        name: [statistics.median(t[i] for t in each) for i in (0, 1)]
        for name, each in took.items()}


def main():
    words = sys.argv[1:]
    build = os.path.abspath(words[0])
    rows = int(words[1]) if len(words) > 1 else 2_000_000
    rounds = int(words[2]) if len(words) > 2 else 3
    with tempfile.TemporaryDirectory() as where:
        fill(build, where, rows)
        scan, took = measure(build, where, rounds)
        times, _ = sql_times(build, where, "SELECT * FROM small WHERE key = "
                             "'row%09d'" % (rows // 2), KEYS)
    key = statistics.median(times)
    for name, query in took.items():
        for i, kind in enumerate(("CPU", "clock")):
            print("%s of %d rows, %s\t%.2f\t%.2f\t%.2f\ts" % (
                name, rows, kind, query[i], scan[i], scan[i] / query[i]),
                flush=True)
    print("a key, beside the goal of 2 ms\t%.2f\t2\t%.2f\tms" % (
        key, 2 / key))


main()
