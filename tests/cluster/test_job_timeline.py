"""The timeline of a job on a cluster: which attempts ran where and how they
ended, which were slow, how even the partitions are, and what an attempt that
failed has written; while the job runs, after it, and for those who may see it."""

import json

from processes import main
from test_jobs import JobsTest

# One map is slow, one fails once. Nearly all keys are the same.
MAPPER = """
while read -r l; do
    case "$l" in
    slow*) sleep 6 ;;
    fails*) if [ "$QUARRY_ATTEMPT" = 1 ]; then
                seq 1 20000 >&2; echo "no such luck" >&2; exit 7
            fi ;;
    esac
    printf 'hot\\t%s\\n' "$l"
done
printf 'key%s\\t1\\n' "$QUARRY_TASK"
"""


class Timeline(JobsTest):
    def attempts(self, job, *more):
        return self.json("job", "attempts", job, *more)

    def state(self, job):
        row, = self.json("job", "status", job)
        return row["state"]

    def document(self, subject, *params):
        return json.loads(self.ok("monitor", subject, *params))

    def test_timeline(self):
        c = self.serve(2, 2)
        for i in range(8):
            word = {3: "slow", 5: "fails"}.get(i, "word")
            self.write("%d.txt" % i, "".join("%s %d\n" % (word, k) for k in
                                             range(1 if i == 3 else 50)))
            self.ok("fs", "put", "%d.txt" % i, "in/%d.txt" % i)
        job = self.ok("job", "run", "--detach", "--mapper", MAPPER,
                      "--reducer", "wc -l", "--reducers", "4", "--no-backups",
                      "-i", "file:in/*.txt", "-o", "file:out").split()[0]
        # While it runs the slow one is seen, by name.
        slow = self.wait_for(lambda: [
            line for line in self.run_quarry("job", "attempts", job).stderr
            .decode().splitlines() if "slow: m3.1 on n" in line])
        self.assertRegex(slow[0], r"took \d+\.\d s, the median is 0\.\d s")
        d = self.document("job", "id=" + job)
        self.assertEqual((d["state"], d["phase"]), ("running", "map"))
        self.assertEqual((d["tasks_running"], d["tasks_done"]), (1, 7))
        self.assertEqual([s["name"] for s in d["stragglers"]], ["m3.1"])
        self.assertGreater(d["stragglers"][0]["took_us"],
                           2 * d["stragglers"][0]["median_us"])
        self.assertIn("2 times the median", d["straggler_rule"])
        self.assertNotIn("waits_for", d)
        d = self.document("jobs")
        self.assertEqual([(j["id"], j["state"], j["tasks_running"])
                          for j in d["running"]], [(job, "running", 1)])
        self.assertEqual({w["name"] for w in d["workers"]}, {"n1", "n2"})
        running = [a for a in self.attempts(job) if a["state"] == "running"]
        self.assertIn("m3.1", [a["attempt"] for a in running])
        self.wait_for(lambda: self.state(job) == "succeeded")
        # The history has all of it.
        by_name = {a["attempt"]: a for a in self.attempts(job)}
        for i in range(8):
            done = by_name["m%d.%d" % (i, 2 if i == 5 else 1)]
            self.assertEqual(done["state"], "succeeded", done)
            self.assertEqual(int(done["records"]), 1 if i == 3 else 50)
            self.assertIn(done["worker"], ("n1", "n2"))
        self.assertGreaterEqual(float(by_name["m3.1"]["seconds"]), 6)
        failed = by_name["m5.1"]
        self.assertEqual((failed["state"], failed["log"]), ("failed", "yes"))
        self.assertIn("exited with status 7", failed["error"])
        reduces = [by_name["r%d.1" % i] for i in range(4)]
        self.assertEqual(sum(int(a["records"]) for a in reduces), 351 + 8)
        self.assertGreaterEqual(max(int(a["records"]) for a in reduces), 351)
        self.assertTrue(all(int(a["bytes"]) > 0 for a in reduces
                            if int(a["records"]) > 0))
        self.see_document(job, by_name)
        # Pages.
        self.assertEqual(len(self.attempts(job, "--after", "10")),
                         len(by_name) - 10)
        self.see_log(job)
        # Another master reads the same.
        first = self.active_master(c)
        c.stop(first)
        c.start(first)
        self.wait_for(lambda: self.run_quarry(
            "job", "attempts", job).returncode == 0)
        self.assertEqual({a["attempt"] for a in self.attempts(job)},
                         set(by_name))

    def see_document(self, job, by_name):
        """The document of the job that has ended says the same."""
        d = self.document("job", "id=" + job)
        self.assertEqual(d["state"], "succeeded")
        self.assertEqual((d["tasks_done"], d["tasks_total"]), (8 + 4, 8 + 4))
        listed, = (j for j in self.document("jobs")["past"] if j["id"] == job)
        self.assertEqual((listed["tasks_done"], listed["tasks_total"]), (12, 12))
        row, = self.json("job", "status", job)
        self.assertEqual((int(row["done"]), int(row["tasks"])), (12, 12))
        self.assertEqual({a["name"] for a in d["attempts"]}, set(by_name))
        failed, = (a for a in d["attempts"] if a["name"] == "m5.1")
        self.assertEqual((failed["kind"], failed["task"], failed["attempt"],
                          failed["state"], failed["has_log"]),
                         ("map", 5, 1, "failed", True))
        self.assertGreater(failed["ended_at_us"], failed["begun_at_us"])
        self.assertEqual(d["partitions_total"], 4)
        self.assertEqual(sum(p["records"] for p in d["partitions"]), 359)
        self.assertGreater(d["partition_records_max"],
                           10 * d["partition_records_median"])
        self.assertEqual([p["name"] for p in d["phases"]], ["map", "reduce"])
        self.assertEqual(d["counters"]["reduce.values"], 359)
        self.assertIn("exited with status 7", d["notes"][0])
        page = self.document("job", "id=" + job, "after=2", "limit=3")
        self.assertEqual([a["name"] for a in page["attempts"]],
                         [a["name"] for a in d["attempts"]][2:5])
        self.assertEqual(page["attempts_next"], 5)
        self.assertIn("more attempts", page["warnings"][0])
        log = self.document("job_log", "id=" + job, "task=5", "attempt=1")
        self.assertTrue(log["text"].endswith("no such luck\n"))
        self.assertEqual(self.document("jobs")["past"][0]["id"], job)

    def see_log(self, job):
        """The end of what the failed attempt wrote, and of no other."""
        log = self.ok("job", "log", job, "m5.1")
        self.assertTrue(log.endswith("\n20000\nno such luck\n"), log[-100:])
        self.assertEqual(len(log), 64 << 10)
        self.assertIn("no output of attempt 2 of map task 5",
                      self.fails(1, "job", "log", job, "m5.2"))
        self.assertIn("names no attempt",
                      self.fails(1, "job", "log", job, "map"))

    def test_master_dies(self):
        """The next job master continues the timeline of a job: what ran is
        lost, what is done is done once."""
        c = self.serve(3, 3)
        self.text("a.txt", 400, 3)
        self.ok("fs", "put", "a.txt", "in/a.txt")
        job = self.ok("job", "run", "--detach", "--mapper",
                      "while read -r l; do sleep 0.1; echo \"$l\"; done",
                      "--reducer", "cat", "--split", "1KiB", "--no-backups",
                      "-i", "file:in/a.txt", "-o", "file:out").split()[0]
        self.wait_for(lambda: any(a["state"] == "succeeded"
                                  for a in self.attempts(job)))
        first = self.active_master(c)
        c.kill(first)
        self.wait_for(lambda: self.run_quarry(
            "job", "status", job).returncode == 0
            and self.state(job) == "succeeded")
        rows = self.attempts(job)
        done = [a["attempt"].split(".")[0] for a in rows
                if a["state"] == "succeeded" and a["kind"] == "map"]
        self.assertEqual(len(done), len(set(done)))
        self.assertFalse([a for a in rows if a["state"] == "running"])


if __name__ == "__main__":
    main()
