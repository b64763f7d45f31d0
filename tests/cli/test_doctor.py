"""`quarry doctor` of a directory: its sentence, its findings and its exit status."""

import json
import os

from harness import CliTest, main


class DoctorTest(CliTest):
    def doctor(self, status):
        done = self.run_quarry("doctor", "--format", "json")
        self.assertEqual(done.returncode, status, done.stderr)
        return json.loads(done.stdout)

    def test_well(self):
        """A store whose files are all there is well, and the text says so."""
        self.table()
        self.ok("put", "t", "r", "f:q=v")
        self.ok("table", "compact", "t")
        doc = self.doctor(0)
        self.assertEqual((doc["state"], doc["findings"]), ("well", []))
        self.assertIn(" is well: 1 table file of ", self.ok("doctor"))

    def test_nothing(self):
        """Where there is no store, there is nothing to be well."""
        self.assertIn("No such file", self.fails(2, "doctor"))

    def test_damaged(self):
        """A table file that was cut is a failure that names it, and what to do."""
        self.table()
        self.ok("put", "t", "r", "f:q=v")
        self.ok("table", "compact", "t")
        tables = [d for d in self.dirs_below(".") if d.endswith("/tables")][0]
        name, = os.listdir(tables)
        os.truncate(os.path.join(tables, name), 10)
        doc = self.doctor(2)
        self.assertEqual(doc["state"], "failing")
        finding, = doc["findings"]
        self.assertEqual((finding["id"], finding["severity"]), ("store_damaged", "failure"))
        self.assertIn(name, finding["sentence"])
        self.assertIn("backup", finding["remedy"])

    def test_usage(self):
        """A mistake of the user is no finding."""
        self.assertIn("--watch is for clusters", self.fails(2, "doctor", "--watch"))


if __name__ == "__main__":
    main()
