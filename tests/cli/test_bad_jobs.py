"""Jobs that go wrong in each of the ways known (bad_jobs.py), by the local
engine."""

import os

from bad_jobs import BadJobs
from harness import CliTest, main


class Local(BadJobs, CliTest):
    def setUp(self):
        super().setUp()
        self.begin()

    def put_input(self, text):
        self.write("in", text)

    def result(self, out):
        with open(self.path(out + "/part-00000")) as f:
            return f.read()

    def check_nothing_left(self):
        self.assertFalse(os.path.exists(self.path("out")))
        self.assertEqual([n for n in os.listdir(self.dir)
                          if n.startswith(".out")], [])
        self.assertEqual([d for d in self.dirs_below("quarry-data")
                          if d.endswith("/work")], [])


for case in BadJobs.CASES:
    setattr(Local, "test_" + case, getattr(BadJobs, case))

if __name__ == "__main__":
    main()
