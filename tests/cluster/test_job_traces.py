"""A job is a trace: the job, its phases and every attempt, and below these the files and rows that
they used if the job is sampled; found by the job's id."""

import json
import os
import re
import urllib.request

from processes import main
from test_jobs import JobsTest

MAPPER = """
while read -r l; do
    if [ "$QUARRY_TASK$QUARRY_ATTEMPT" = 11 ]; then exit 7; fi
    printf 'k%s\\t%s\\n' "$QUARRY_TASK" "$l"
done
"""


class JobTraces(JobsTest):
    def run_job(self, out, *more):
        done = self.run_quarry("job", "run", "--detach", "--mapper", MAPPER, "--reducer", "wc -l",
                               "--reducers", "2", "--no-backups", "-i", "file:in/*.txt", "-o",
                               "file:" + out, *more)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        job = done.stdout.split()[0].decode()
        self.wait_for(lambda: self.json("job", "status", job)[0]["state"] == "succeeded")
        return job

    def spans(self, job):
        """Of a job's trace by id; empty while there is none."""
        done = self.run_quarry("monitor", "trace", "id=" + job)
        return {s["id"]: s for s in json.loads(done.stdout)["spans"]} if not done.returncode else {}

    def way(self, spans, s):
        """The names from the top to span @s."""
        names = [s["name"]]
        while s.get("parent") in spans:
            s = spans[s["parent"]]
            names.insert(0, s["name"])
        return names

    def check_tree(self, spans):
        attempts = [s for s in spans.values() if s["name"].endswith(" attempt")]
        self.assertEqual(sorted((s["name"], s["attributes"]["task"], s["attributes"]["attempt"],
                                 s["attributes"]["state"]) for s in attempts),
                         [("map attempt", 0, 1, "succeeded"), ("map attempt", 1, 1, "failed"),
                          ("map attempt", 1, 2, "succeeded"), ("map attempt", 2, 1, "succeeded"),
                          ("reduce attempt", 0, 1, "succeeded"),
                          ("reduce attempt", 1, 1, "succeeded")])
        for s in attempts:
            kind = s["name"].split()[0]
            self.assertEqual(self.way(spans, s), ["job", kind + " phase", s["name"]])
            self.assertIn(s["attributes"]["worker"], ("n1", "n2"))
            self.assertEqual(s["outcome"] == "ok", s["attributes"]["state"] == "succeeded")

    def test_trace(self):
        c = self.serve(2, 2)
        for i in range(3):
            self.write("%d.txt" % i, "".join("word %d\n" % k for k in range(50)))
            self.ok("fs", "put", "%d.txt" % i, "in/%d.txt" % i)
        self.ok("trace", "--sample", "0")
        quiet = self.run_job("quiet")
        self.wait_for(lambda: "job" in {s["name"] for s in self.spans(quiet).values()})
        spans = self.spans(quiet)
        self.check_tree(spans)
        root = next(s for s in spans.values() if s["name"] == "job")
        self.assertEqual(root["attributes"]["job"], quiet)
        document = json.loads(self.ok("monitor", "job", "id=" + quiet))
        self.assertIn("map attempt", self.ok("trace", document["trace_id"]))
        self.assertIn("map attempt", self.ok("trace", quiet))
        with open(os.path.join(c.dir("n1"), "server.conf"), encoding="utf-8") as f:
            console = re.search("(?m)^console = (.*)$", f.read()).group(1)
        with urllib.request.urlopen("http://%s/jobs/%s" % (console, quiet)) as page:
            self.assertIn("/traces/" + document["trace_id"], page.read().decode())
        self.assertIn("no job has this id", self.fails(1, "trace", "nonsense"))
        # Of a sampled job also what its attempts did.
        loud = self.run_job("loud", "--trace")
        self.wait_for(lambda: "job" in {s["name"] for s in self.spans(loud).values()})
        spans = self.spans(loud)
        self.check_tree(spans)
        below = {re.sub(" .*", "", p[2]): p[3:] for p in
                 (self.way(spans, s) for s in spans.values() if s["kind"] == "server")
                 if len(p) > 3}
        self.assertEqual(set(below), {"map", "reduce"}, below)
        self.assertTrue([s for s in spans.values() if s["name"] == "chunk.write" and
                         "reduce attempt" in self.way(spans, s)])


if __name__ == "__main__":
    main()
