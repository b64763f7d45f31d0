/* The snapshots of tables of jobs that died are dropped, and no others. */
#include <stdio.h>
#include <string.h>

#include "bigtable/quarry.h"
#include "mapreduce/job.h"
#include "mapreduce/master/input_snapshots.h"
#include "tests/lib/check_main.h"

static char target[320];

static void make(struct quarry *q, const char *name)
{
    static const struct quarry_family_spec family = {"f", ""};
    ck_assert_int_eq(quarry_table_create(q, name, &family, 1, NULL, 0, NULL),
                     0);
}

static void check_names(const char *want)
{
    struct quarry *q;
    char **names;
    size_t count;
    char all[200] = "";
    ck_assert_int_eq(quarry_open(target, NULL, &q, NULL), 0);
    ck_assert_int_eq(quarry_table_list_all(q, &names, &count, NULL), 0);
    for (size_t i = 0; i < count; i++) {
        strcat(all, names[i]);
        strcat(all, " ");
    }
    quarry_names_free(names, count);
    quarry_close(q);
    ck_assert_str_eq(all, want);
}

/* Tables of the jobs named are dropped; those of jobs whose names begin alike,
 * and tables of users, stay. A job that reads no table had made none. */
START_TEST(test_forget)
{
    static const char *const tables[] = {".job-a-0", ".job-a-2", ".job-ab-0",
                                         ".job-b-0", "a-0"};
    const char *input = "table:a-0";
    char a[] = "a";
    char c[] = "c";
    char *const ids[] = {a, c};
    struct mr_options o = {.inputs = &input, .input_count = 1};
    struct quarry *q;
    snprintf(target, sizeof(target), "file:%s/store", test_tmpdir());
    ck_assert_int_eq(quarry_open(target, NULL, &q, NULL), 0);
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
        make(q, tables[i]);
    quarry_close(q);
    o.target = target;
    input_snapshots_forget(&o, ids, 0);
    input = "file:x";
    input_snapshots_forget(&o, ids, 2);
    check_names(".job-a-0 .job-a-2 .job-ab-0 .job-b-0 a-0 ");
    input = "table:a-0?columns=f:";
    input_snapshots_forget(&o, ids, 2);
    check_names(".job-ab-0 .job-b-0 a-0 ");
}

END_TEST

TEST_MAIN("input_snapshots", test_forget)
