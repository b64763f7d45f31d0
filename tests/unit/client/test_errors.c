/* Every mistake and mishap has its message, and leaves what is stored alone. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/crc32c.h"
#include "bigtable/quarry.h"
#include "tests/lib/check_main.h"
#include "tests/unit/client/test_target.h"

/* --- Fixture ------------------------------------------------------------- */

static struct err err;
static char dir[300];
static char target[310];

#define OK(call) ck_assert_msg((call) == 0, "%s", err.text)

static void expect(int rc, int code, const char *text)
{
    ck_assert_int_eq(rc, code);
    ck_assert_str_eq(err.text, text);
}

static struct quarry *open_store(void)
{
    struct quarry *q;
    OK(test_open(target, NULL, &q, &err));
    return q;
}

static struct quarry *new_store(struct quarry_table **t)
{
    static const struct quarry_family_spec families[] = {{"anchor", ""},
                                                         {"contents", ""}};
    struct quarry *q;
    test_new_target(target, sizeof(target));
    if (!test_cluster())
        snprintf(dir, sizeof(dir), "%.*s", (int)sizeof(dir) - 1,
                 target + strlen("file:"));
    q = open_store();
    OK(quarry_table_create(q, "t", families, 2, NULL, 0, &err));
    OK(quarry_table_open(q, "t", t, &err));
    return q;
}

static void close_store(struct quarry *q, struct quarry_table *t)
{
    quarry_table_close(t);
    quarry_close(q);
}

static int set(struct quarry_table *t,
               struct slice row,
               const char *family,
               struct slice qualifier)
{
    struct quarry_mutation *m = quarry_mutation_new(row);
    int rc;
    quarry_mutation_set(m, family, qualifier, 5, SLICE_LIT("v"));
    rc = quarry_apply(t, m, NULL, &err);
    quarry_mutation_free(m);
    return rc;
}

static size_t row_count(struct quarry_table *t)
{
    struct quarry_scanner *s;
    const struct quarry_row *row;
    size_t n = 0;
    OK(quarry_scan(t, NULL, &s, &err));
    for (;;) {
        OK(quarry_scanner_next(s, &row, &err));
        if (!row)
            break;
        n++;
    }
    quarry_scanner_close(s);
    return n;
}

/* --- Tests --------------------------------------------------------------- */

/* Mistakes that a caller can make with a row. */
START_TEST(test_rows)
{
    struct quarry_table *t;
    struct quarry *q = new_store(&t);
    char *large = calloc(1, 70000);
    struct quarry_mutation *m;
    memset(large, 'r', 70000);
    expect(set(t, SLICE_EMPTY, "anchor", SLICE_EMPTY), ERR_INVALID,
           "the row key is empty");
    expect(set(t, slice_make(large, 70000), "anchor", SLICE_EMPTY), ERR_TOOBIG,
           "the row key has 70000 bytes; at most 65536 are allowed");
    OK(set(t, slice_make(large, 65536), "anchor", SLICE_EMPTY));
    expect(set(t, SLICE_LIT("r"), "anchor", slice_make(large, 20000)),
           ERR_TOOBIG,
           "the qualifier in family anchor has 20000 bytes; at most 16384 are "
           "allowed");
    expect(set(t, SLICE_LIT("r"), "nope", SLICE_EMPTY), ERR_NOTFOUND,
           "no column family nope; there are: anchor, contents");
    m = quarry_mutation_new(SLICE_LIT("r"));
    expect(quarry_apply(t, m, NULL, &err), ERR_INVALID,
           "the mutation changes nothing");
    quarry_mutation_delete_cells(m, "anchor", SLICE_EMPTY, 9, 3);
    expect(quarry_apply(t, m, NULL, &err), ERR_INVALID,
           "deletion in anchor:: the time range [9, 3) is empty");
    quarry_mutation_free(m);
    ck_assert_uint_eq(row_count(t), 1);
    free(large);
    close_store(q, t);
}

END_TEST

/* A batch stops at the first row that is wrong; those before it are there. */
START_TEST(test_batch_stops)
{
    struct quarry_table *t;
    struct quarry *q = new_store(&t);
    struct quarry_mutation *m[3];
    size_t failed = 99;
    for (int i = 0; i < 3; i++) {
        char row[2] = {(char)('a' + i), '\0'};
        m[i] = quarry_mutation_new(slice_str(row));
        quarry_mutation_set(m[i], i == 1 ? "nope" : "anchor", SLICE_EMPTY, 1,
                            SLICE_EMPTY);
    }
    ck_assert_int_eq(quarry_apply_batch(t, m, 3, NULL, &failed, &err),
                     ERR_NOTFOUND);
    ck_assert_uint_eq(failed, 1);
    ck_assert_uint_eq(row_count(t), 1);
    for (int i = 0; i < 3; i++)
        quarry_mutation_free(m[i]);
    close_store(q, t);
}

END_TEST

/* Tables and targets that are not there, or there already. */
START_TEST(test_names)
{
    struct quarry_table *t;
    struct quarry *q = new_store(&t);
    struct quarry *other;
    struct quarry_table *none;
    expect(quarry_table_open(q, "x", &none, &err), ERR_NOTFOUND,
           "no table x; there are: t");
    expect(quarry_table_create(q, "t", NULL, 0, NULL, 0, &err), ERR_EXISTS,
           "create table t: table t exists already");
    expect(quarry_table_create(q, "a/b", NULL, 0, NULL, 0, &err), ERR_INVALID,
           "create table a/b: table name \"a/b\" is not allowed");
    expect(quarry_open("nonsense", NULL, &other, &err), ERR_INVALID,
           "\"nonsense\" is not a target");
    OK(quarry_table_drop(q, "t", &err));
    expect(set(t, SLICE_LIT("r"), "anchor", SLICE_EMPTY), ERR_NOTFOUND,
           "table t was dropped");
    close_store(q, t);
}

END_TEST

/* A directory belongs to one process at a time, and the message says to whom.
 */
START_TEST(test_in_use)
{
    SKIP_ON_CLUSTER("a cluster is for many");
    struct quarry_table *t;
    struct quarry *q = new_store(&t);
    int status;
    pid_t child = fork();
    if (child == 0) {
        struct quarry *mine;
        char pid[32];
        snprintf(pid, sizeof(pid), "%ld", (long)getppid());
        _exit(test_open(target, NULL, &mine, &err) == ERR_BUSY &&
                      strstr(err.text, pid) && strstr(err.text, dir)
                  ? 0
                  : 1);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(WEXITSTATUS(status), 0);
    close_store(q, t);
}

END_TEST

/* A store of a newer format is refused, and not touched. */
START_TEST(test_newer_format)
{
    SKIP_ON_CLUSTER("it has no directory whose format could be newer");
    char path[400];
    char header[16];
    char want[700];
    struct quarry_table *t;
    struct quarry *q = new_store(&t);
    FILE *f;
    close_store(q, t);
    snprintf(path, sizeof(path), "%s/manifest-000001", dir);
    f = fopen(path, "r+b");
    ck_assert(f != NULL);
    ck_assert_uint_eq(fread(header, sizeof(header), 1, f), 1);
    put_le32(header + 8, 4);
    put_le32(header + 12, crc32c(header, 12));
    rewind(f);
    fwrite(header, sizeof(header), 1, f);
    fclose(f);
    snprintf(want, sizeof(want),
             "open %s: manifest-000001: the store has format 4, and this "
             "program knows up to 3",
             dir);
    expect(test_open(target, NULL, &q, &err), ERR_UNSUPPORTED, want);
    ck_assert_str_eq(err.hint, "open it with a newer quarry");
}

END_TEST

/* A store that must exist is not made. */
START_TEST(test_must_exist)
{
    SKIP_ON_CLUSTER("it is not made by being opened");
    const struct quarry_options o = {.must_exist = true};
    struct quarry *q;
    char want[700];
    snprintf(dir, sizeof(dir), "%s/none", test_tmpdir());
    snprintf(target, sizeof(target), "file:%s", dir);
    snprintf(want, sizeof(want), "open %s: there is no store in %s", dir, dir);
    expect(test_open(target, &o, &q, &err), ERR_NOTFOUND, want);
    ck_assert_int_ne(access(dir, F_OK), 0);
}

END_TEST

/* A reader of the pinned state sees it, and cannot write. */
START_TEST(test_pinned_readers)
{
    SKIP_ON_CLUSTER("it has no directory to be pinned");
    const struct quarry_options o = {.pinned = true};
    struct quarry_table *t;
    struct quarry_table *rt;
    struct quarry *q = new_store(&t);
    struct quarry *r;
    char want[400];
    OK(set(t, SLICE_LIT("a"), "anchor", SLICE_EMPTY));
    OK(quarry_pin(q, &err));
    OK(set(t, SLICE_LIT("b"), "anchor", SLICE_EMPTY));
    OK(quarry_flush(q, &err));
    OK(quarry_table_compact(q, "t", &err));
    OK(test_open(target, &o, &r, &err));
    OK(quarry_table_open(r, "t", &rt, &err));
    ck_assert_uint_eq(row_count(rt), 1);
    snprintf(want, sizeof(want), "%s was opened read-only", dir);
    expect(set(rt, SLICE_LIT("c"), "anchor", SLICE_EMPTY), ERR_DENIED, want);
    quarry_table_close(rt);
    quarry_close(r);
    quarry_unpin(q);
    OK(test_open(target, &o, &r, &err));
    OK(quarry_table_open(r, "t", &rt, &err));
    ck_assert_uint_eq(row_count(rt), 2);
    quarry_table_close(rt);
    quarry_close(r);
    close_store(q, t);
}

END_TEST

/* An increment of what is no counter. */
START_TEST(test_increment)
{
    const struct quarry_rmw_rule rule = {.kind = QUARRY_RMW_INCREMENT,
                                         .family = "anchor",
                                         .qualifier = SLICE_LIT("n"),
                                         .increment = 3};
    struct quarry_table *t;
    struct quarry *q = new_store(&t);
    struct quarry_row *row;
    for (int i = 1; i <= 3; i++) {
        OK(quarry_read_modify_write(t, SLICE_LIT("r"), &rule, 1, NULL, &row,
                                    &err));
        ck_assert_uint_eq(row->cell_count, 1);
        ck_assert_uint_eq(get_be64(row->cells[0].value.data), 3u * (unsigned)i);
        quarry_row_free(row);
    }
    OK(set(t, SLICE_LIT("s"), "anchor", SLICE_LIT("n")));
    expect(
        quarry_read_modify_write(t, SLICE_LIT("s"), &rule, 1, NULL, NULL, &err),
        ERR_INVALID,
        "increment of anchor:n: its cell has 1 byte, and a counter has 8");
    close_store(q, t);
}

END_TEST

TEST_MAIN("errors",
          test_rows,
          test_batch_stops,
          test_names,
          test_in_use,
          test_newer_format,
          test_must_exist,
          test_pinned_readers,
          test_increment)
