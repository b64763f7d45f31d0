#!/usr/bin/env python3
"""PageRank beside polars with numpy, and DuckDB (tests/bench/graph.sh): seconds of
processors and of the clock from a file of edges to a file of ranks. The ranks of
the first nodes are compared.

A line of figures: name, ours, peer, ratio (above 1: we are better), unit."""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

POLARS = """
import sys, numpy as np, polars as pl
e = pl.scan_csv(sys.argv[1], separator=" ", has_header=False, schema={
    "a": pl.String, "b": pl.String}).unique().collect(engine="streaming")
n = pl.concat([e["a"], e["b"].alias("a")]).unique().to_frame(
    "name").with_row_index("id")
e = e.join(n.rename({"name": "a", "id": "x"}), on="a").join(
    n.rename({"name": "b", "id": "y"}), on="b")
x, y, count = e["x"].to_numpy(), e["y"].to_numpy(), n.height
k = np.bincount(x, minlength=count).astype(float)
r, ks = np.full(count, 1.0 / count), np.where(k > 0, k, 1)
for _ in range(10):
    r = 0.15 / count + 0.85 * (np.bincount(
        y, weights=(r / ks)[x], minlength=count) + r[k == 0].sum() / count)
n.with_columns(r=pl.Series(r)).select("name", "r").sort(
    "r", descending=True).write_csv(sys.argv[2], separator="\\t",
                                    include_header=False)
"""

DUCKDB = """
import sys, duckdb
c = duckdb.connect()
q = c.execute
q("create temp table e0 as select distinct a, b from read_csv('%s', delim=' ', "
  "header=false, auto_detect=false, columns={'a':'VARCHAR','b':'VARCHAR'})"
  % sys.argv[1])
q("create temp table n as select name, row_number() over () id from "
  "(select a name from e0 union select b from e0)")
q("create temp table e as select x.id a, y.id b from e0 join n x on x.name=e0.a "
  "join n y on y.name=e0.b")
q("create temp table d as select a, count(*)::double k from e group by a")
count = q("select count(*) from n").fetchone()[0]
q("create temp table r0 as select id, 1.0::double/%d r from n" % count)
for i in range(10):
    lost = q("select sum(r) from r%d left join d on a=id where k is null"
             % i).fetchone()[0] or 0
    q("create temp table r%d as with s as (select e.b id, sum(r/k) s from e join "
      "d on d.a=e.a join r%d x on x.id=e.a group by e.b) select n.id, "
      "0.15::double/%d+0.85::double*(coalesce(s,0)+%.17g/%d) r from n left join "
      "s on s.id=n.id" % (i + 1, i, count, lost, count))
    q("drop table r%d" % i)
q("copy (select name, r from r10 join n using(id) order by r desc) to '%s' "
  "(delimiter '\\t', header false, format csv)" % sys.argv[2])
"""


def make_edges(path, scale, edges):
    """R-MAT (Chakrabarti, SDM 2004): each bit of an edge falls into one of four
    quarters with 57, 19, 19 and 5 %."""
    import numpy as np
    r = np.random.default_rng(7)
    with open(path, "w") as out:
        for begin in range(0, edges, 1 << 20):
            n = min(1 << 20, edges - begin)
            a, b = np.zeros(n, np.uint32), np.zeros(n, np.uint32)
            for _ in range(scale):
                x = r.random(n)
                a = a << 1 | (x >= 0.76)
                b = b << 1 | ((x >= 0.57) & (x < 0.76)) | (x >= 0.95)
            out.write("".join("p%d p%d\n" % e for e in zip(a.tolist(),
                                                           b.tolist())))


def measure(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
            time.monotonic() - begin)


def first_ranks(path):
    with open(path) as f:
        lines = [f.readline().split("\t") for _ in range(10)]
    return [(name, round(float(rank), 9)) for name, rank in lines]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("quarry")
    p.add_argument("--scale", type=int, default=20)
    p.add_argument("--edges", type=int, default=5000000)
    p.add_argument("--rounds", type=int, default=3)
    o = p.parse_args()
    with tempfile.TemporaryDirectory(prefix="quarry-graph.") as d:
        edges, ours = os.path.join(d, "edges"), os.path.join(d, "ranks")
        peer_file = os.path.join(d, "peer")
        make_edges(edges, o.scale, o.edges)
        runs = {
            "quarry": [os.path.abspath(o.quarry), "job", "run", "page_rank",
                       "--input", "file:" + edges, "--output", "file:" + ours,
                       "--overwrite", "--param", "iterations=10", "--param",
                       "tolerance=0"],
            "polars+numpy": [sys.executable, "-c", POLARS, edges, peer_file],
            "duckdb": [sys.executable, "-c", DUCKDB, edges, peer_file],
        }
        times = {name: [] for name in runs}
        for _ in range(o.rounds):
            for name, command in runs.items():
                times[name].append(measure(command))
                if name != "quarry" and first_ranks(peer_file) != first_ranks(
                        os.path.join(ours, "part-00000")):
                    sys.exit("graph: %s has other ranks" % name)
        for name in list(runs)[1:]:
            for i, unit in enumerate(("s of CPU", "s")):
                mine = statistics.median(t[i] for t in times["quarry"])
                peer = statistics.median(t[i] for t in times[name])
                print("page_rank/%s\t%.2f\t%.2f\t%.2f\t%s" % (
                    name, mine, peer, peer / mine, unit), flush=True)


main()
