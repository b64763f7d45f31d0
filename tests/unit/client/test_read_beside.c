/* Readers of a directory, beside each other and the process that writes it. */
#include <dirent.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/core/buf.h"
#include "base/runtime/world.h"
#include "bigtable/quarry.h"
#include "tests/lib/check_main.h"
#include "tests/unit/client/test_target.h"

/* --- Fixture ------------------------------------------------------------- */

enum {
    OPENS = 25,
    ROW_BYTES = 2000
};

static struct err err;
static char target[310];
static const struct quarry_options reading = {.read_only = true};

#define OK(call) ck_assert_msg((call) == 0, "%s", err.text)

static struct quarry *new_store(const struct quarry_options *o,
                                struct quarry_table **t)
{
    static const struct quarry_family_spec families[] = {{"f", ""}};
    struct quarry *q;
    test_new_target(target, sizeof(target));
    OK(test_open(target, o, &q, &err));
    OK(quarry_table_create(q, "t", families, 1, NULL, 0, &err));
    OK(quarry_table_open(q, "t", t, &err));
    return q;
}

static int put(struct quarry_table *t, unsigned number, struct err *why)
{
    static const char value[ROW_BYTES];
    char key[16];
    struct quarry_mutation *m;
    int rc;
    snprintf(key, sizeof(key), "%08u", number);
    m = quarry_mutation_new(slice_str(key));
    quarry_mutation_set(m, "f", SLICE_EMPTY, QUARRY_NOW,
                        slice_make(value, sizeof(value)));
    rc = quarry_apply(t, m, &(struct quarry_write_options){QUARRY_LOGGED}, why);
    quarry_mutation_free(m);
    return rc;
}

/* The rows are those from 0 on, without a gap; how many? */
static unsigned count_rows(struct quarry *q)
{
    struct quarry_table *t;
    struct quarry_scanner *s;
    const struct quarry_row *row;
    unsigned n = 0;
    char key[16];
    OK(quarry_table_open(q, "t", &t, &err));
    OK(quarry_scan(t, NULL, &s, &err));
    for (;;) {
        OK(quarry_scanner_next(s, &row, &err));
        if (!row)
            break;
        snprintf(key, sizeof(key), "%08u", n++);
        ck_assert(slice_eq(row->key, slice_str(key)));
    }
    quarry_scanner_close(s);
    quarry_table_close(t);
    return n;
}

static unsigned read_beside(void)
{
    struct quarry *r;
    unsigned n;
    OK(test_open(target, &reading, &r, &err));
    n = count_rows(r);
    quarry_close(r);
    return n;
}

/* Names, sizes and times of all that lies in @dir. */
static void describe(const char *dir, struct buf *out)
{
    struct dirent **names;
    int count = scandir(dir, &names, NULL, alphasort);
    ck_assert_int_ge(count, 0);
    for (int i = 0; i < count; i++) {
        char path[700];
        struct stat st;
        snprintf(path, sizeof(path), "%s/%s", dir, names[i]->d_name);
        if (names[i]->d_name[0] != '.' && stat(path, &st) == 0) {
            buf_printf(out, "%s %lld %lld.%09ld\n", path, (long long)st.st_size,
                       (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
            if (S_ISDIR(st.st_mode))
                describe(path, out);
        }
        free(names[i]);
    }
    free(names);
}

/* --- Tests --------------------------------------------------------------- */

/* Rows that are only in the log are read by several readers at once, and
 * nothing is written: beside the writer, and after it has ended. */
START_TEST(test_log_is_read)
{
    SKIP_ON_CLUSTER("it has no directory");
    struct quarry_table *t;
    struct quarry *q = new_store(NULL, &t);
    struct quarry *r[3];
    struct buf before = BUF_INIT;
    struct buf after = BUF_INIT;
    for (unsigned i = 0; i < 10; i++)
        OK(put(t, i, &err));
    describe(target + strlen("file:"), &before);
    for (size_t i = 0; i < 3; i++)
        OK(test_open(target, &reading, &r[i], &err));
    OK(put(t, 10, &err));
    for (size_t i = 0; i < 3; i++) {
        struct quarry_table *rt;
        ck_assert_uint_eq(count_rows(r[i]), 10);
        OK(quarry_table_open(r[i], "t", &rt, &err));
        ck_assert_int_eq(put(rt, 11, &err), ERR_DENIED);
        quarry_table_close(rt);
        quarry_close(r[i]);
    }
    ck_assert_uint_eq(read_beside(), 11);
    quarry_table_close(t);
    quarry_close(q);
    buf_clear(&before);
    describe(target + strlen("file:"), &before);
    ck_assert_uint_eq(read_beside(), 11);
    describe(target + strlen("file:"), &after);
    ck_assert_str_eq(buf_cstr(&before), buf_cstr(&after));
    buf_close(&before);
    buf_close(&after);
}

END_TEST

/* A reader makes no directory. */
START_TEST(test_nothing_there)
{
    SKIP_ON_CLUSTER("it has no directory");
    struct quarry *q;
    struct stat st;
    test_new_target(target, sizeof(target));
    ck_assert_int_eq(test_open(target, &reading, &q, &err), ERR_NOTFOUND);
    ck_assert_int_ne(stat(target + strlen("file:"), &st), 0);
}

END_TEST

struct storm {
    struct quarry_table *t;
    struct quarry *q;
    atomic_uint acknowledged;
    atomic_bool stop;
};

static void write_on(void *arg)
{
    struct storm *s = arg;
    struct err why = ERR_INIT;
    while (!atomic_load(&s->stop)) {
        unsigned n = atomic_load(&s->acknowledged);
        int rc = put(s->t, n, &why);
        ck_assert_msg(rc == 0, "%s", why.text);
        atomic_store(&s->acknowledged, n + 1);
        if (n % 150 == 149)
            ck_assert_int_eq(quarry_flush(s->q, &why), 0);
    }
}

/* Beside a writer whose log and files change all the time, a reader sees all
 * that was acknowledged before, and no gap. */
START_TEST(test_storm)
{
    SKIP_ON_CLUSTER("it has no directory");
    const struct quarry_options o = {.memtable_bytes = 256 << 10};
    struct world *w = world_real_new();
    struct storm s = {.acknowledged = 0};
    struct task *writer;
    s.q = new_store(&o, &s.t);
    writer = task_start(w, "writer", write_on, &s);
    for (int i = 0; i < OPENS; i++) {
        unsigned least = atomic_load(&s.acknowledged);
        ck_assert_uint_ge(read_beside(), least);
    }
    atomic_store(&s.stop, true);
    task_join(writer);
    ck_assert_uint_eq(read_beside(), atomic_load(&s.acknowledged));
    quarry_table_close(s.t);
    quarry_close(s.q);
    world_free(w);
}

END_TEST

TEST_MAIN("read_beside", test_log_is_read, test_nothing_there, test_storm)
