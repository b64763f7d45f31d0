"""Jobs that go wrong in each of the ways known (tests/cli/bad_jobs.py), on a
cluster of two processes, one after the other: neither harms what follows."""

from processes import ClusterTest, main
from bad_jobs import BadJobs  # Beside the harness, which processes.py finds.


class Cell(BadJobs, ClusterTest):
    where = "/"
    words = (" on n",)

    def setUp(self):
        super().setUp()
        self.env["QUARRY_TARGET"] = "cluster:quarry-cluster"

    def put_input(self, text):
        self.write("in", text)
        self.ok("fs", "put", "--force", "in", "/in")

    def result(self, out):
        return self.ok("fs", "cat", "/%s/part-00000" % out)

    def names(self, path):
        return [row["path"].rsplit("/", 1)[-1]
                for row in self.json("fs", "ls", path)]

    def check_nothing_left(self):
        """No output, nothing half written, and nothing of jobs that have ended
        but their history."""
        top = self.names("/")
        self.assertNotIn("out", top)
        self.assertEqual([n for n in top if n.startswith(".")], [])
        self.wait_for(lambda: self.names("/mapreduce/jobs") == [])

    def test_all(self):
        self.loopback(2)

        def ready():
            done = self.run_quarry("job", "workers", "--format", "json")
            return done.returncode == 0 and done.stdout.count(b'"up"') >= 2
        self.wait_for(ready)
        self.begin()
        for case in self.CASES:
            with self.subTest(case):
                getattr(self, case)()


if __name__ == "__main__":
    main()
