/* Bytes are accounted to the families that hold them: in memory first, in files
 * once they are flushed, and both where a group is kept in memory; and what is
 * told of rights where there are none. */
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "bigtable/quarry.h"
#include "bigtable/quarry_access.h"
#include "tests/lib/check_main.h"
#include "tests/unit/client/test_target.h"

#define OK(call) ck_assert_msg((call) == 0, "%s", err.text)

enum {
    BIG = 100000,
    SMALL = 1000
};

static struct err err;
static char target[400];
static struct quarry *q;
static struct quarry_table *table;

static void setup(void)
{
    const struct quarry_family_spec f[] = {
        {"big", ""}, {"small", ""}, {"hot", "group=hot"}, {"none", ""}};
    const struct quarry_group_spec g[] = {{"hot", "memory=on"}};
    test_new_target(target, sizeof(target));
    OK(test_open(target, NULL, &q, &err));
    OK(quarry_table_create(q, "t", f, 4, g, 1, &err));
    OK(quarry_table_open(q, "t", &table, &err));
}

static void teardown(void)
{
    quarry_table_close(table);
    quarry_close(q);
}

/* @len bytes that do not compress. */
static void put(const char *family, size_t len)
{
    struct quarry_mutation *m = quarry_mutation_new(SLICE_LIT("row"));
    char *value = malloc(len);
    uint64_t x = 88172645463325252u;
    for (size_t i = 0; i < len; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        value[i] = (char)x;
    }
    quarry_mutation_set(m, family, SLICE_LIT("q"), 1, slice_make(value, len));
    OK(quarry_apply(table, m, NULL, &err));
    quarry_mutation_free(m);
    free(value);
}

static const struct quarry_family_info *
family(const struct quarry_table_info *info, const char *name)
{
    for (size_t i = 0; i < info->family_count; i++)
        if (strcmp(info->families[i].name, name) == 0)
            return &info->families[i];
    ck_abort_msg("no family %s", name);
    return NULL;
}

static void expect(const struct quarry_table_info *info,
                   const char *name,
                   uint64_t stored,
                   uint64_t memory)
{
    const struct quarry_family_info *f = family(info, name);
    ck_assert_msg(f->stored_bytes >= stored &&
                      f->stored_bytes <= stored * 3 / 2,
                  "%s: stored %llu", name, (unsigned long long)f->stored_bytes);
    ck_assert_msg(f->memory_bytes >= memory &&
                      f->memory_bytes <= memory * 3 / 2,
                  "%s: memory %llu", name, (unsigned long long)f->memory_bytes);
}

START_TEST(test_bytes_of_families)
{
    struct quarry_table_info *info;
    setup();
    put("big", BIG);
    put("small", SMALL);
    put("hot", BIG);
    OK(quarry_table_describe(q, "t", &info, &err));
    expect(info, "big", 0, BIG);
    expect(info, "small", 0, SMALL);
    expect(info, "hot", 0, BIG);
    expect(info, "none", 0, 0);
    quarry_table_info_free(info);
    OK(quarry_flush(q, &err));
    OK(quarry_table_describe(q, "t", &info, &err));
    expect(info, "big", BIG, 0);
    expect(info, "small", SMALL, 0);
    expect(info, "hot", BIG, BIG);
    expect(info, "none", 0, 0);
    quarry_table_info_free(info);
    teardown();
}

END_TEST

/* A directory has no principals: nothing is pretended. */
START_TEST(test_directory_has_no_rights)
{
    struct quarry_quota quota = {.reads_per_s = 1};
    struct buf list = BUF_INIT;
    bool any;
    if (test_cluster())
        return;
    setup();
    ck_assert_int_eq(quarry_acl_get(q, "t", &list, &any, &err),
                     ERR_UNSUPPORTED);
    ck_assert_int_eq(quarry_acl_grant(q, "t", "*", "read", "ann", &err),
                     ERR_UNSUPPORTED);
    ck_assert_int_eq(quarry_quota_set(q, "t", &quota, &err), ERR_UNSUPPORTED);
    ck_assert_int_eq(quarry_quota_get(q, "t", &quota, NULL, &err),
                     ERR_UNSUPPORTED);
    teardown();
}

END_TEST

TEST_MAIN("families", test_bytes_of_families, test_directory_has_no_rights)
