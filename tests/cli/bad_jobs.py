"""Jobs that go wrong in each of the ways known, for tests of the local engine and
of a cluster: the message names job, task, attempt and record and has the last
words of the code, and nothing half written is to be seen."""

import subprocess

from harness import QUARRY, ROOT

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


class BadJobs:
    """Cases, for a CliTest that says where files are and looks at them:

        where             the directory of input and output: "" or "/"
        words             that every death names besides
        put_input(text)   the input is that
        result()          the output's only part
        check_nothing_left()
    """

    where = ""
    words = ()

    def begin(self, version="MR_ABI_VERSION"):
        self.put_input(TEXT)
        self.write("bad.c", SOURCE)
        subprocess.run(["cc", "-shared", "-fPIC", "-I" + ROOT, "-DVERSION=" +
                        version, "bad.c", "-o", "bad.so"], cwd=self.dir,
                       check=True)

    def run_bad(self, how, *options, out="out"):
        """Run it; returns exit status and all it said."""
        done = self.run_quarry("job", "run", "./bad.so", "-i", "file:" +
                               self.where + "in", "-o", "file:" + self.where +
                               out, "--param", "how=" + how, *options)
        return done.returncode, done.stderr.decode()

    def check_death(self, how, *words, options=("--no-skip",)):
        status, said = self.run_bad(how, *options)
        self.assertEqual(status, 1, said)
        for word in ("job bad: ", "task", "attempt", "record 3 at offset 15",
                     "about to " + how, "quarry job status 20",
                     *self.words, *words):
            self.assertIn(word, said)
        self.check_nothing_left()

    def check_result(self, text, status, said, out="out"):
        self.assertEqual(status, 0, said)
        self.assertEqual(self.result(out), text)

    def crash(self):
        """A crash is named by its signal; with skipping only the record goes.
        """
        self.check_death("crash", "signal 11")
        status, said = self.run_bad("crash", out="crash")
        self.check_result("good\t6\n", status, said, "crash")
        self.assertIn("skipped after the only task, attempt 1", said)

    def hang(self):
        """Code that does nothing for long enough is stopped. (So long that a
        busy machine has brought an attempt to its record.)"""
        self.check_death("hang", "no record in time", options=(
            "--no-skip", "--timeout", "3s", "--no-backups"))

    def leak(self):
        """Memory has a limit; nothing else dies of it."""
        if "san" in subprocess.run(["ldd", QUARRY], capture_output=True,
                                   text=True, check=False).stdout:
            print("SKIPPED: %s: leak: a sanitizer's memory cannot be limited"
                  % self.id(), flush=True)
            return
        self.check_death("leak", options=("--no-skip", "--heap", "64MiB"))

    def huge_value(self):
        """A value of 1 GB is refused, with its size, at once."""
        status, said = self.run_bad("huge", "--heap", "3GiB")
        self.assertEqual(status, 1)
        for word in ("1073741824", "record 3 at offset 15", "attempt 1"):
            self.assertIn(word, said)
        self.assertNotIn("attempt 2", said)
        self.check_nothing_left()

    def printing(self):
        """Output that code prints is no part of a result."""
        status, said = self.run_bad("print", out="print")
        self.check_result("good\t6\n", status, said, "print")

    def reading_nothing(self):
        """A reducer need not look at its values."""
        status, said = self.run_bad("read nothing", out="read")
        self.check_result("good\n", status, said, "read")

    def another_version(self):
        """An object built for other headers is refused with both numbers."""
        self.begin("77")
        status, said = self.run_bad("print")
        self.assertEqual(status, 1)
        self.assertIn("built for version 77 of mapreduce.h", said)
        self.assertIn("compile it again", said)
        self.check_nothing_left()
        self.begin()

    def inputs_and_outputs(self):
        """Missing inputs and existing outputs are refused before anything is
        done; --overwrite replaces when the new one is whole."""
        said = self.fails(1, "job", "run", "./bad.so", "-p", "how=print", "-i",
                          "file:" + self.where + "nothing*", "-o", "file:" +
                          self.where + "out")
        self.assertIn("nothing*", said)
        self.check_nothing_left()
        self.assertEqual(self.run_bad("print")[0], 0)
        before = self.result("out")
        status, said = self.run_bad("print")
        self.assertEqual(status, 1)
        self.assertIn("out exists already", said)
        status, said = self.run_bad("crash", "--overwrite", "--no-skip")
        self.assertEqual((status, self.result("out")), (1, before), said)
        self.put_input("other\n")
        self.assertEqual(self.run_bad("print", "--overwrite")[0], 0)
        self.assertEqual(self.result("out"), "other\t1\n")

    # The last leaves an output.
    CASES = ("crash", "hang", "leak", "huge_value", "printing",
             "reading_nothing", "another_version", "inputs_and_outputs")
