"""Jobs that go wrong in each of the ways known: the message names job, task,
attempt and record and has the last words of the code, and nothing half written
is to be seen."""

import os
import subprocess

from harness import QUARRY, ROOT, CliTest, main

SOURCE = r"""
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mapreduce/mapreduce.h"

static int map(struct mr_task *t, const struct mr_record *r, struct err *err)
{
    const char *how = mr_param(t, "how");
    (void)err;
    if (strcmp(how, "print") == 0)
        printf("a line that is no part of the result\n");
    if (!slice_eq_str(r->value, "bad")) {
        mr_emit_count(t, r->value, 1);
        return 0;
    }
    fprintf(stderr, "about to %s\n", how);
    if (strcmp(how, "crash") == 0) {
        signal(SIGSEGV, SIG_DFL);
        raise(SIGSEGV);
    }
    while (strcmp(how, "hang") == 0)
        sleep(1);
    while (strcmp(how, "leak") == 0) {
        char *p = malloc(1 << 20);
        if (!p)
            abort();
        memset(p, 1, 1 << 20);
    }
    if (strcmp(how, "huge") == 0) {
        char *p = calloc(1, 1 << 30);
        mr_emit(t, r->value, slice_make(p, 1 << 30));
        free(p);
    }
    return 0;
}

static int reduce(struct mr_task *t, struct slice key, struct mr_values *v,
                  struct err *err)
{
    (void)err;
    if (strcmp(mr_param(t, "how"), "read nothing") == 0)
        mr_write(mr_output(t, NULL), SLICE_EMPTY, key);
    else
        mr_write_count(mr_output(t, NULL), key, mr_values_sum(v));
    return 0;
}

static const struct mr_param params[] = {{"how", NULL, "What goes wrong."}};

static const struct mr_job bad = {
    .abi_version = VERSION, .name = "bad", .params = params, .param_count = 1,
    .map = map, .reduce = reduce};
MAPREDUCE_JOB(bad);
"""

TEXT = "good\n" * 3 + "bad\n" + "good\n" * 3


class BadJobs(CliTest):
    def setUp(self):
        super().setUp()
        self.write("in", TEXT)
        self.write("bad.c", SOURCE)

    def build(self, version="MR_ABI_VERSION"):
        subprocess.run(["cc", "-shared", "-fPIC", "-I" + ROOT, "-DVERSION=" +
                        version, "bad.c", "-o", "bad.so"], cwd=self.dir,
                       check=True)

    def run_bad(self, how, *options):
        """Run it; returns exit status and all it said."""
        done = self.run_quarry("job", "run", "./bad.so", "-i", "file:in", "-o",
                               "file:out", "--param", "how=" + how, *options)
        return done.returncode, done.stderr.decode()

    def check_nothing_left(self):
        self.assertFalse(os.path.exists(self.path("out")))
        self.assertEqual([n for n in os.listdir(self.dir)
                          if n.startswith(".out")], [])
        self.assertEqual([d for d in self.dirs_below("quarry-data")
                          if d.endswith("/work")], [])

    def check_death(self, how, *words, options=("--no-skip",)):
        status, said = self.run_bad(how, *options)
        self.assertEqual(status, 1, said)
        for word in ("job bad: ", "task", "attempt", "record 3 at offset 15",
                     "about to " + how, "quarry job status 20") + words:
            self.assertIn(word, said)
        self.check_nothing_left()

    def result(self):
        with open(self.path("out/part-00000")) as f:
            return f.read()

    def test_crash(self):
        """A crash is named by its signal; with skipping only the record goes."""
        self.build()
        self.check_death("crash", "signal 11")
        status, said = self.run_bad("crash")
        self.assertEqual((status, self.result()), (0, "good\t6\n"), said)
        self.assertIn("skipped after the only task, attempt 1", said)

    def test_hang(self):
        """Code that does nothing for long enough is stopped."""
        self.build()
        self.check_death("hang", "no record in time", options=(
            "--no-skip", "--timeout", "1s", "--no-backups"))

    def test_leak(self):
        """Memory has a limit; nothing else dies of it."""
        self.build()
        if "san" in subprocess.run(["ldd", QUARRY], capture_output=True,
                                   text=True, check=False).stdout:
            self.skipTest("a sanitizer's memory cannot be limited")
        self.check_death("leak", options=("--no-skip", "--heap", "64MiB"))

    def test_huge_value(self):
        """A value of 1 GB is refused, with its size, at once."""
        self.build()
        status, said = self.run_bad("huge", "--heap", "3GiB")
        self.assertEqual(status, 1)
        for word in ("1073741824", "record 3 at offset 15", "attempt 1"):
            self.assertIn(word, said)
        self.assertNotIn("attempt 2", said)
        self.check_nothing_left()

    def test_printing(self):
        """What code prints is no part of a result."""
        self.build()
        status, said = self.run_bad("print")
        self.assertEqual((status, self.result()), (0, "good\t6\n"), said)

    def test_reading_nothing(self):
        """A reducer need not look at its values."""
        self.build()
        status, said = self.run_bad("read nothing")
        self.assertEqual((status, self.result()), (0, "good\n"), said)

    def test_another_version(self):
        """An object built for other headers is refused with both numbers."""
        self.build("77")
        status, said = self.run_bad("print")
        self.assertEqual(status, 1)
        self.assertIn("built for version 77 of mapreduce.h", said)
        self.assertIn("compile it again", said)
        self.check_nothing_left()

    def test_inputs_and_outputs(self):
        """Missing inputs and existing outputs are refused before anything is
        done; --overwrite replaces when the new one is whole."""
        self.build()
        said = self.fails(1, "job", "run", "./bad.so", "-p", "how=print", "-i",
                          "file:nothing*", "-o", "file:out")
        self.assertIn("nothing*", said)
        self.check_nothing_left()
        self.assertEqual(self.run_bad("print")[0], 0)
        before = self.result()
        status, said = self.run_bad("print")
        self.assertEqual(status, 1)
        self.assertIn("out exists already", said)
        status, said = self.run_bad("crash", "--overwrite", "--no-skip")
        self.assertEqual((status, self.result()), (1, before))
        self.write("in", "other\n")
        self.assertEqual(self.run_bad("print", "--overwrite")[0], 0)
        self.assertEqual(self.result(), "other\t1\n")


if __name__ == "__main__":
    main()
