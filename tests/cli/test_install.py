"""The installed C library: an out-of-tree program builds with pkg-config alone
and does what the header's example says."""

import os
import re
import shutil
import subprocess
import tempfile

from harness import QUARRY, ROOT, CliTest, main

PROGRAM = r"""
#include <quarry.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct err err;

static void die(void)
{
    fprintf(stderr, "%s\n", err.text);
    exit(1);
}

int main(int argc, char **argv)
{
    const struct quarry_family_spec families[] = {{"anchor", "versions=2"}};
    struct buf value = {NULL, 0, 0};
    struct quarry_scanner *s;
    const struct quarry_row *row;
    struct quarry_mutation *m;
    struct quarry_table *t;
    struct quarry *q;
    bool found;
    if (argc != 2 || quarry_open(argv[1], NULL, &q, &err) ||
        quarry_table_create(q, "webtable", families, 1, NULL, 0, &err) ||
        quarry_table_open(q, "webtable", &t, &err))
        die();
    m = quarry_mutation_new(SLICE_LIT("com.cnn.www"));
    quarry_mutation_set(m, "anchor", SLICE_LIT("com.c-span.www"), QUARRY_NOW,
                        SLICE_LIT("CNN"));
    if (quarry_apply(t, m, NULL, &err))
        die();
    quarry_mutation_free(m);
    if (quarry_get(t, SLICE_LIT("com.cnn.www"), "anchor",
                   SLICE_LIT("com.c-span.www"), &value, &found, &err))
        die();
    printf("%d %.*s\n", found, (int)value.len, value.data);
    free(value.data);
    if (quarry_scan(t, NULL, &s, &err))
        die();
    while (quarry_scanner_next(s, &row, &err) == 0 && row)
        printf("%.*s %zu\n", SLICE_ARG(row->key), row->cell_count);
    quarry_scanner_close(s);
    quarry_table_close(t);
    quarry_close(q);
    return 0;
}
"""



CPLUSPLUS = r"""
#include <bulk_load.h>
#include <mapreduce.h>
#include <quarry.h>
#include <quarry_access.h>

#include <cstdio>
#include <initializer_list>

static int die(const struct err &err)
{
    std::printf("%s\n", err.text);
    return 1;
}

int main(int argc, char **argv)
{
    struct err err = ERR_INIT;
    struct buf list = BUF_INIT;
    struct buf ticket = BUF_INIT;
    struct quarry_read_options opts = {};
    struct quarry_family_spec family = {"f", ""};
    quarry_flag stop(false);
    quarry *q;
    quarry_table *t;
    quarry_scanner *s;
    const quarry_row *row;
    if (argc != 2 || quarry_open(argv[1], nullptr, &q, &err) ||
        quarry_table_create(q, "t", &family, 1, nullptr, 0, &err) ||
        quarry_table_open(q, "t", &t, &err))
        return die(err);
    for (const char *key : {"apple", "banana", "cherry"}) {
        quarry_mutation *m = quarry_mutation_new(slice_str(key));
        quarry_mutation_set(m, "f", SLICE_LIT("q"), 5, SLICE_LIT("v"));
        if (quarry_apply(t, m, nullptr, &err))
            return die(err);
        quarry_mutation_free(m);
    }
    quarry_filter *f = quarry_filter_row_regex(SLICE_LIT("[ab].*"));
    opts.filter = f;
    opts.column_regex = "f:.";
    opts.cancel = &stop;
    if (quarry_scan(t, &opts, &s, &err))
        return die(err);
    while (quarry_scanner_next(s, &row, &err) == 0 && row)
        std::printf("%.*s\n", SLICE_ARG(row->key));
    quarry_scanner_close(s);
    quarry_filter_free(f);
    if (quarry_acl_get(q, "t", &list, nullptr, &err) != ERR_UNSUPPORTED ||
        quarry_bulk_begin(q, "t", "load", &ticket, &err))
        return die(err);
    buf_append_str(&list, quota_name(0));
    std::printf("%s\n", buf_cstr(&list));
    buf_close(&list);
    buf_close(&ticket);
    quarry_table_close(t);
    quarry_close(q);
    return 0;
}
"""


CPLUSPLUS_JOB = r"""
#include <mapreduce.h>

static int map(mr_task *t, const mr_record *r, struct err *err)
{
    (void)err;
    mr_emit(t, r->value, r->key);
    return 0;
}

static mr_job job_of()
{
    mr_job job = {};
    job.abi_version = MR_ABI_VERSION;
    job.name = "same";
    job.map = map;
    return job;
}
static const mr_job same = job_of();
MAPREDUCE_JOB(same);

"""


def build_top():
    """The directory of the whole build."""
    build = os.path.dirname(QUARRY)
    while not os.path.exists(os.path.join(build, "cmake_install.cmake")):
        build = os.path.dirname(build)
    while os.path.exists(os.path.join(os.path.dirname(build),
                                      "cmake_install.cmake")):
        build = os.path.dirname(build)
    return build


def sanitizers(top):
    with open(os.path.join(top, "CMakeCache.txt")) as f:
        names = re.search("QUARRY_SANITIZE:STRING=(.*)", f.read()).group(1)
    return ["-fsanitize=" + names] if names else []


class Install(CliTest):
    """Installed files work; a sanitized library wants a sanitized program."""

    @classmethod
    def setUpClass(cls):
        top = build_top()
        subprocess.run(["ninja", "-C", top, "quarry_shared"], check=True,
                       stdout=subprocess.DEVNULL)
        cls.prefix = tempfile.mkdtemp(prefix="quarry-install-")
        cls.addClassCleanup(shutil.rmtree, cls.prefix, ignore_errors=True)
        subprocess.run(["cmake", "--install", top, "--prefix",
                        os.path.join(cls.prefix, "first")], check=True,
                       stdout=subprocess.DEVNULL)
        # Installed files may be moved.
        os.rename(os.path.join(cls.prefix, "first"),
                  os.path.join(cls.prefix, "moved"))
        cls.pc, = [os.path.join(d, "quarry.pc")
                   for d, _, names in os.walk(cls.prefix)
                   if "quarry.pc" in names]
        cls.library = os.path.dirname(os.path.dirname(cls.pc))
        cls.sanitize = sanitizers(top)
        flags = subprocess.run(
            ["pkg-config", "--cflags", "--libs", "quarry"], check=True,
            env=dict(os.environ, PKG_CONFIG_PATH=os.path.dirname(cls.pc)),
            capture_output=True, text=True).stdout.split()
        cls.flags = cls.sanitize + flags

    def build(self, compiler, name, text, out="example"):
        self.write(name, text)
        # A job links nothing: its functions are the program's that loads it.
        flags = [f for f in self.flags
                 if out == "example" or not f.startswith(("-l", "-L"))]
        subprocess.run(compiler + ["-Wall", "-Wextra", "-Werror", name, "-o",
                                   out] + flags, check=True, cwd=self.dir)

    def example(self, *args):
        done = subprocess.run(
            ["./example", *args], capture_output=True, cwd=self.dir, text=True,
            env=dict(os.environ, LD_LIBRARY_PATH=self.library), check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_a_program_outside_the_tree(self):
        self.build(["cc", "-std=c11"], "example.c", PROGRAM)
        self.assertEqual(self.example("file:./store"),
                         "1 CNN\ncom.cnn.www 1\n")

    def test_the_example_of_the_header(self):
        """The example at the head of quarry.h can be built and works."""
        with open(os.path.join(ROOT, "bigtable", "quarry.h")) as f:
            head = f.read().split("*/")[0]
        code = re.findall(r"^ \*     (.*)$|^ \*()$", head, re.M)
        text = "\n".join(line for line, _ in code)
        self.assertIn("int main(void)", text)
        self.table("webtable", "anchor")
        self.build(["cc", "-std=c11"], "example.c", text)
        self.assertEqual(self.example(), "com.cnn.www: 1 cells\n")

    def test_cplusplus(self):
        """All headers are C++ too, and a filter by a regular expression works.
        """
        for standard in ("c++11", "c++17", "c++20"):
            self.build(["c++", "-std=" + standard, "-Wpedantic"], "example.cc",
                       CPLUSPLUS)
            self.assertEqual(self.example("file:./store-" + standard),
                             "apple\nbanana\nstored\n")

    def test_a_job_in_cplusplus(self):
        self.build(["c++", "-std=c++17", "-Wpedantic", "-shared", "-fPIC"],
                   "same.cc", CPLUSPLUS_JOB, "same.so")
        self.write("in", "b\na\n")
        self.ok("job", "run", "./same.so", "--input", "file:in", "--output",
                "file:out")
        text = ""
        for name in self.files_below("out"):
            with open(name) as f:
                text += f.read()
        self.assertEqual(sorted(text.split()), ["a", "b"])

    def test_symbols(self):
        """The library shows names of its own prefix alone, and each function
        that the installed headers declare."""
        lines = subprocess.run(
            ["nm", "-D", "--defined-only",
             os.path.join(self.library, "libquarry.so")], check=True,
            capture_output=True, text=True).stdout.splitlines()
        # Some linkers show the name of the version as a symbol, too.
        symbols = [line.split()[-1] for line in lines
                   if not re.search(r" A QUARRY_[0-9.]+$", line)]
        names = {symbol.split("@")[0] for symbol in symbols}
        self.assertEqual([s for s in symbols if "@@QUARRY_" not in s], [])
        self.assertEqual({n for n in names if not n.startswith("quarry_")},
                         set())
        self.assertLessEqual({"quarry_open", "quarry_bulk_begin",
                              "quarry_acl_get", "quarry_buf_append",
                              "quarry_err_set"}, names)


if __name__ == "__main__":
    main()
