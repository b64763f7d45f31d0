"""The documents about files on a cluster of real processes: the tree, the
chunks of a file with their servers, and the health of the file system when a
chunk server is gone."""

import json

from processes import CELL, ClusterTest, main

TARGET = "cluster:quarry-cluster"


class FileDocuments(ClusterTest):
    def setUp(self):
        super().setUp()
        self.env["QUARRY_TARGET"] = TARGET

    def document(self, subject, *params):
        return json.loads(self.ok("monitor", subject, *params))

    def test_files(self):
        c = self.loopback(3, CELL + ",chunk")
        self.wait_for(lambda: len([
            s for s in self.document("files")["servers"]
            if s["state"] == "up"]) == 3)
        self.write("a.txt", "x" * 100000)
        for i in range(5):
            self.ok("fs", "put", "a.txt", "in/%d.txt" % i)
        self.see_tree()
        addresses = self.see_file()
        self.fails(1, "monitor", "file", "path=/in/none")
        self.fails(1, "monitor", "files", "path=/none")
        health = self.wait_for(lambda: [
            h for h in [self.document("files")["health"]]
            if h["under_replicated"] == 0])[0]
        self.assertNotIn("under_replicated_since_at_us", health)
        self.assertEqual((health["lost"], health["files"]), (0, 5))
        # A dead chunk server: its copies are missing, and since when. A new
        # leader of the namenodes knows that once the others have reported.
        c.kill("n3")
        d = self.wait_for(lambda: [
            d for d in [self.document("files", "path=/in")]
            if d.get("health", {}).get("under_replicated") == 5
            and "under_replicated_since_at_us" in d["health"]])[0]
        since = d["health"]["under_replicated_since_at_us"]
        self.assertTrue(0 < since <= d["at_us"])
        self.assertEqual({t["path"] for t in d["thin"]},
                         {"/in/%d.txt" % i for i in range(5)})
        self.assertEqual([(t["wanted"], t["copies"]) for t in d["thin"]],
                         [(3, 2)] * 5)
        down, = (s for s in d["servers"] if s["state"] == "down")
        self.assertEqual(down["address"], addresses["n3"])
        again = self.document("files")["health"]
        self.assertEqual(again["under_replicated_since_at_us"], since)
        c.start("n3")
        self.wait_for(lambda: self.document("files")["health"]
                      ["under_replicated"] == 0)
        self.assertNotIn("thin", self.document("files"))

    def see_tree(self):
        root = self.document("files", "path=/")
        self.assertEqual([(e["name"], e["kind"]) for e in root["entries"]],
                         [("in", "directory")])
        self.assertEqual(root["entries"][0]["files"], 5)
        d = self.document("files", "path=/in")
        self.assertEqual([e["name"] for e in d["entries"]],
                         ["%d.txt" % i for i in range(5)])
        first = d["entries"][0]
        self.assertEqual((first["bytes"], first["replication"],
                          first["chunks"], first["kind"]),
                         (100000, 3, 1, "file"))
        self.assertRegex(first["mode"], "^-rw")
        page = self.document("files", "path=/in", "after=1.txt", "limit=2")
        self.assertEqual([e["name"] for e in page["entries"]],
                         ["2.txt", "3.txt"])
        self.assertEqual(page["entries_next"], "3.txt")
        self.assertIn("more entries", page["warnings"][0])

    def see_file(self):
        d = self.document("file", "path=/in/0.txt")
        self.assertEqual((d["bytes"], d["chunks_total"], d["path"]),
                         (100000, 1, "/in/0.txt"))
        chunk, = d["chunks"]
        self.assertEqual((chunk["index"], chunk["bytes"], chunk["sealed"]),
                         (0, 100000, True))
        addresses = {s["node"]: s["address"] for s in chunk["servers"]}
        self.assertEqual(set(addresses), {"n1", "n2", "n3"})
        return addresses


if __name__ == "__main__":
    main()
