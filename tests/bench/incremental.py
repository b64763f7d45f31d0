#!/usr/bin/env python3
"""Observers beside the jobs that make the same tables (tests/bench/incremental.sh):
for a share of pages that changed, the processor time and the time of bringing
four tables up to date either way, and the time from the arrival of one page to
its effect.

A line of figures: name, observers, jobs, ratio (above 1: observers are better),
unit."""

import argparse
import os
import resource
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
EXAMPLE = os.path.join(ROOT, "examples", "incremental")


def spent():
    r = resource.getrusage(resource.RUSAGE_CHILDREN)
    return r.ru_utime + r.ru_stime


class Bench:
    def __init__(self, options, directory):
        self.o = options
        self.dir = directory

    def quarry(self, store, *arguments):
        subprocess.run(
            [self.o.quarry, "-t", "file:" + os.path.join(self.dir, store),
             *arguments], check=True, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE)

    def script(self, store, name, *arguments, target=None):
        subprocess.run(
            ["sh", os.path.join(EXAMPLE, name), *arguments], check=True,
            stdout=subprocess.DEVNULL, cwd=self.dir, env=dict(
                os.environ, PATH=os.path.dirname(os.path.abspath(
                    self.o.quarry)) + ":" + os.environ["PATH"],
                QUARRY_TARGET=target or
                "file:" + os.path.join(self.dir, store)))

    def pages(self, edition, share):
        path = os.path.join(self.dir, "pages.warc")
        with open(path, "wb") as out:
            subprocess.run(
                [os.path.join(EXAMPLE, "make_pages.py"), str(self.o.pages),
                 "--edition", str(edition), "--share", str(share),
                 "--rewrite", str(self.o.rewrite), "--words", "300",
                 "--vocabulary", "40000"], check=True, stdout=out)
        return path

    def measure(self, fn):
        """Seconds of processors, and seconds, of @fn."""
        cpu, begin = spent(), time.monotonic()
        fn()
        return spent() - cpu, time.monotonic() - begin

    def follow(self, store):
        self.quarry(store, "follow", "run", "--until-caught-up")

    def latency(self, tries=15):
        """Milliseconds from the beginning of the put of a page, by a client of a
        server, until its word is found in the index: median of some, and of
        the clients' own time, a put and a get."""
        at = "127.0.0.1:%d" % free_port()
        server = subprocess.Popen(
            [self.o.quarry, "server", "--data", os.path.join(self.dir, "cell"),
             "--listen", at], stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)

        def client(*arguments):
            return subprocess.run([self.o.quarry, "-t", at, *arguments],
                                  check=False, capture_output=True).stdout

        try:
            while b"other" not in client("table", "list"):
                client("table", "create", "other", "--family", "c")
            self.script("", "tables.sh", target=at)
            time.sleep(5)  # Observers are found.
            times, own = [], []
            for n in range(tries):
                begin = time.monotonic()
                client("put", "pages", "example.new/%d" % n,
                       "contents:=<html>novelty%d</html>" % n,
                       "http:url=http://new.example/%d" % n)
                while b"new" not in client("get", "index", "novelty%d" % n):
                    pass
                times.append(1000 * (time.monotonic() - begin))
                begin = time.monotonic()
                client("put", "other", "row", "c:=x")
                client("get", "index", "novelty%d" % n)
                own.append(1000 * (time.monotonic() - begin))
            return statistics.median(times), statistics.median(own)
        finally:
            server.terminate()
            server.wait()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def line(name, ours, peer, unit):
    print("%s\t%.2f\t%.2f\t%.2f\t%s" % (name, ours, peer, peer / ours, unit),
          flush=True)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("quarry")
    p.add_argument("shares", nargs="*", type=float,
                   default=[0.01, 0.05, 0.1, 0.2, 0.4, 1])
    p.add_argument("--pages", type=int, default=2000)
    p.add_argument("--rewrite", type=int, default=1)
    options = p.parse_args()
    directory = tempfile.mkdtemp(prefix="quarry-incremental.")
    try:
        b = Bench(options, directory)
        b.script("base", "tables.sh")
        b.quarry("base", "import", "warc", b.pages(0, 1), "--into", "pages")
        b.follow("base")
        for share in options.shares:
            shutil.copytree(os.path.join(directory, "base"),
                            os.path.join(directory, "store"))
            b.quarry("store", "import", "warc", b.pages(1, share), "--into",
                     "pages")
            ours = b.measure(lambda: b.follow("store"))
            peer = b.measure(lambda: b.script("store", "jobs.sh", "again"))
            for i, unit in enumerate(("s of CPU", "s")):
                line("incremental.%g%%" % (100 * share), ours[i], peer[i], unit)
            shutil.rmtree(os.path.join(directory, "store"))
        print("incremental.latency\t%.0f\t%.0f\t\tms, of it the client" %
              b.latency())
    finally:
        shutil.rmtree(directory)


main()
