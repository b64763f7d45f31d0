"""An explained scan says of a cluster what it says of a directory with the same rows, and on
which server; hostile keys stay within its JSON."""

from processes import ClusterTest, main

ROWS = 3000


class ExplainTest(ClusterTest):
    def lines(self):
        """Rows of two locality groups, one of them with a hostile name."""
        for i in range(ROWS):
            yield "row%05d\ta:q\t1700000000000000\tvalue %d" % (i, i % 10)
            yield "row%05d\tfar:q\t1700000000000000\t%s" % (i, "x" * 50)
        yield "s\"\\xff\\n{\ta:q\t1700000000000000\tvalue 3"

    def fill(self, target):
        self.ok("table", "create", "t", "--group", "other", "--family", "a", "--family",
                "far,group=other", "-t", target)
        self.ok("load", "t", "rows.tsv", "-t", target)

    def explained(self, target, *args):
        return self.json("scan", "t", "--explain-only", "-t", target, *args)[0]

    def test_as_a_directory(self):
        c = self.loopback(3)
        cluster = "cluster:" + c.data
        self.write("rows.tsv", "\n".join(self.lines()) + "\n")
        for target in ("file:store", cluster):
            self.fill(target)
        for args in ([], ["--family", "a", "--value", "value [3-5]"], ["--limit", "7"],
                     ["--start", "row00100", "--end", "row00200"], ["--row", "row00005"],
                     ["--row", "no such row"], ["--since", "2024-01-01"],
                     ["--saw-text", "r: Row = input; if (len(r.key) > 5) emit keep <- r;"]):
            own = self.explained("file:store", *args)
            far = self.explained(cluster, *args)
            # The client asks a cluster for a key as for a range of one row.
            parts = ["rows", "cells", "bytes", "filter"] + ["files"] * ("--row" not in args)
            for part in parts:
                self.assertEqual(own[part], far[part], "%s of %s" % (part, args))
            self.assertEqual(own["entries"]["shown"], far["entries"]["shown"], args)
            for tablet in far["tablets"]:
                self.assertRegex(tablet["server"], r"^127\.0\.0\.1:\d+$")
            self.assertEqual(far["calls"]["made"] > 0, bool(far["tablets"]))

    def test_tablets(self):
        """The totals are the sums over the tablets, whose keys may be hostile."""
        c = self.loopback(1)
        cluster = "cluster:" + c.data
        self.write("rows.tsv", "\n".join(self.lines()) + "\n")
        self.fill(cluster)
        self.ok("table", "split", "t", "row01000", "s\"\\xff\\n", "-t", cluster)
        record = self.explained(cluster)
        self.assertEqual([t["start"] for t in record["tablets"]],
                         ["", "row01000", "s\"\\xff\\n"])
        for part in ("files", "blocks", "entries", "rows", "cells", "bytes", "reads"):
            for name, value in record[part].items():
                self.assertEqual(sum(t[part][name] for t in record["tablets"]), value, name)
        self.assertEqual(record["rows"]["returned"], ROWS + 1)


if __name__ == "__main__":
    main()
