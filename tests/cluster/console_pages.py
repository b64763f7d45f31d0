"""A cluster worth looking at in a browser: for the test of the console's pages,
and for scripts/console-pictures."""

import random
import re

WORDS = "the quick brown fox jumps over a lazy dog and runs away".split()


def address(cluster, name):
    """Where the configuration says that the console of @name is."""
    with open(cluster.dir(name) + "/server.conf") as f:
        return "http://" + re.search(r"^console = (.*)$", f.read(),
                                     re.M).group(1)


def fill(test, rows=40):
    """Tables with tablets on all servers, files, jobs of which one failed.
    @test has ok(), run_quarry() and write() of the tests of the command line.
    Returns the ids of the job that succeeded and of the one that failed."""
    r = random.Random(7)
    test.ok("table", "create", "webtable", "--family",
            "contents,versions=3,group=page", "--family", "anchor",
            "--group", "page,block=128KiB")
    test.ok("table", "create", "users", "--family", "info,versions=1")
    test.ok("table", "split", "webtable", "d", "h", "m", "r", "w")
    test.write("rows.tsv", "".join(
        "%s.example/%06d\tcontents:html\t\t%s\n" % (c, i, "x" * 200)
        for c in "abcdefghijklmnopqrstuvwxyz" for i in range(rows)))
    test.ok("load", "webtable", "rows.tsv")
    test.write("book.txt", "".join(
        " ".join(r.choice(WORDS) for _ in range(30)) + "\n"
        for _ in range(4000)))
    test.ok("fs", "put", "book.txt", "/books/book.txt")
    test.ok("job", "run", "word_count", "-i", "file:/books/book.txt",
            "-o", "file:/counts", "--split", "60KiB", "--reducers", "3")
    test.run_quarry("job", "run", "--mapper", "echo a mapper that fails >&2; "
                    "exit 3", "-i", "file:/books/book.txt", "-o", "file:/bad")
    test.ok("count", "webtable", "--trace")
    test.ok("put", "users", "u1", "info:name=Ann", "--trace")
    found = {j["state"]: j["job"] for j in test.json("job", "list")}
    return found["succeeded"], found["failed"]
