"""The installed C library: an out-of-tree program builds with pkg-config alone
and does what the header's example says."""

from harness import *

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


class Install(CliTest):
    def test_a_program_outside_the_tree(self):
        build = os.path.dirname(QUARRY)
        while not os.path.exists(os.path.join(build, "cmake_install.cmake")):
            build = os.path.dirname(build)
            self.assertNotEqual(build, "/")
        top = build
        while os.path.exists(os.path.join(
                os.path.dirname(top), "cmake_install.cmake")):
            top = os.path.dirname(top)
        if not os.path.exists(os.path.join(top, "libquarry.so")):
            subprocess.run(["ninja", "-C", top, "quarry_shared"], check=True,
                           stdout=subprocess.DEVNULL)
        with open(os.path.join(top, "CMakeCache.txt")) as f:
            if "QUARRY_SANITIZE:STRING=a" in f.read():
                self.skipTest("a sanitized library wants a sanitized program")
        prefix = self.path("prefix")
        subprocess.run(["cmake", "--install", top, "--prefix", prefix],
                       check=True, stdout=subprocess.DEVNULL)
        # What is installed may be moved.
        os.rename(prefix, prefix + "-moved")
        prefix += "-moved"
        pc = [os.path.join(d, "quarry.pc") for d, _, names in os.walk(prefix)
              if "quarry.pc" in names]
        self.assertEqual(len(pc), 1)
        env = dict(os.environ, PKG_CONFIG_PATH=os.path.dirname(pc[0]))
        flags = subprocess.run(
            ["pkg-config", "--cflags", "--libs", "quarry"], env=env, check=True, capture_output=True,
            text=True).stdout.split()
        self.write("example.c", PROGRAM)
        subprocess.run(["cc", "-std=c11", "-Wall", "-Wextra", "-Werror",
                        "example.c", "-o", "example"] + flags, check=True,
                       cwd=self.dir)
        library = os.path.dirname(os.path.dirname(pc[0]))
        out = subprocess.run(
            ["./example", "file:./store"], check=True, capture_output=True,
            cwd=self.dir, text=True, env=dict(os.environ, LD_LIBRARY_PATH=library)).stdout
        self.assertEqual(out, "1 CNN\ncom.cnn.www 1\n")


if __name__ == "__main__":
    unittest.main()
