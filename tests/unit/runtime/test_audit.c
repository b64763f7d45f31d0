/* Notes are in the file, one JSON object a line, whatever they contain;
 * callers do not wait, and lines that did not fit are counted. */
#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/buf.h"
#include "base/runtime/audit.h"
#include "base/runtime/world.h"
#include "tests/lib/check_main.h"

static struct world *world;
static struct audit *audit;
static char path[300];
static char old_path[310];

static void begin(void)
{
    struct err err = ERR_INIT;
    snprintf(path, sizeof(path), "%s/audit", test_tmpdir());
    snprintf(old_path, sizeof(old_path), "%s.1", path);
    world = world_real_new();
    ck_assert_msg(audit_open(world, path, "n1", &audit, &err) == 0, "%s",
                  err.text);
    world_set_audit(world, audit);
}

static void end(void)
{
    if (audit) {
        world_set_audit(world, NULL);
        audit_close(audit);
    }
    audit = NULL;
    world_free(world);
}

static void read_file(const char *name, struct buf *out)
{
    FILE *f = fopen(name, "r");
    char chunk[4096];
    size_t n;
    ck_assert_ptr_nonnull(f);
    while ((n = fread(chunk, 1, sizeof(chunk), f)) > 0)
        buf_append(out, chunk, n);
    fclose(f);
}

static void note(const char *who, const char *what, int code)
{
    audit_note(world, &(struct audit_event){.who = slice_str(who),
                                            .from = SLICE_LIT("10.0.0.9:4711"),
                                            .what = slice_str(what),
                                            .on = SLICE_LIT("webtable"),
                                            .code = code,
                                            .why = SLICE_LIT("no \"right\"")});
}

/* A line says who, from where, what, on what, whether it was allowed, why. */
START_TEST(test_line)
{
    struct buf b = BUF_INIT;
    struct stat st;
    begin();
    note("eve\n{}", "master.drop_table", ERR_DENIED);
    note("ann", "master.drop_table", 0);
    world_set_audit(world, NULL);
    audit_close(audit); /* It writes what waits. */
    audit = NULL;
    read_file(path, &b);
    ck_assert_ptr_nonnull(strstr(
        buf_cstr(&b),
        "\"node\":\"n1\",\"who\":\"eve\\n{}\",\"from\":\"10.0.0.9:4711\","
        "\"what\":\"master.drop_table\",\"on\":\"webtable\",\"allowed\":"
        "false,\"outcome\":\"permission denied\",\"why\":\"no "
        "\\\"right\\\"\"}\n{\"time\":\"20"));
    ck_assert_ptr_nonnull(strstr(buf_cstr(&b),
                                 "\"who\":\"ann\",\"from\":\"10.0.0.9:4711\","
                                 "\"what\":\"master.drop_table\",\"on\":"
                                 "\"webtable\",\"allowed\":true,"));
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_uint_eq(st.st_mode & 037, 0); /* Nobody else writes or reads. */
    buf_close(&b);
    end();
}

END_TEST

/* After the file was renamed lines go to a new one, and none is lost. */
START_TEST(test_rotation)
{
    struct buf b = BUF_INIT;
    struct err err = ERR_INIT;
    begin();
    for (int i = 0; i < 1000; i++) {
        note("ann", "x", 0);
        if (i == 500) {
            ck_assert_int_eq(rename(path, old_path), 0);
            ck_assert_int_eq(audit_reopen(audit, &err), 0);
        }
    }
    world_set_audit(world, NULL);
    audit_close(audit);
    audit = NULL;
    read_file(old_path, &b);
    read_file(path, &b);
    for (size_t i = 0, lines = 0; i <= b.len; i++) {
        if (i == b.len)
            ck_assert_uint_eq(lines, 1000);
        else
            lines += b.data[i] == '\n';
    }
    buf_close(&b);
    end();
}

END_TEST

/* A file that takes nothing costs lines, and their number is told; nobody
 * waits for it. */
START_TEST(test_full)
{
    struct err err = ERR_INIT;
    world = world_real_new();
    ck_assert_int_eq(audit_open(world, "/dev/full", "n1", &audit, &err), 0);
    world_set_audit(world, audit);
    /* More than the queue holds, whatever the thread takes meanwhile. */
    for (int i = 0; i < 100000; i++)
        note("ann", "x", 0);
    ck_assert_uint_gt(audit_dropped(audit), 0);
    end();
}

END_TEST

/* A directory that is not there is an error that names the file. */
START_TEST(test_no_file)
{
    struct err err = ERR_INIT;
    world = world_real_new();
    ck_assert_int_eq(audit_open(world, "/nowhere/audit", "n1", &audit, &err),
                     ERR_NOTFOUND);
    ck_assert_ptr_nonnull(strstr(err.text, "audit log /nowhere/audit"));
    ck_assert_ptr_null(audit);
    world_free(world);
}

END_TEST

TEST_MAIN("audit", test_line, test_rotation, test_full, test_no_file)
