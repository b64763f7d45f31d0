/* A log line is one line whatever is in it, comes at its level and above, and a
 * repeated one is held back and counted. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/runtime/log.h"
#include "base/runtime/world.h"
#include "base/sim/sim.h"
#include "tests/lib/check_main.h"

static char *read_all(const char *path)
{
    FILE *f = fopen(path, "r");
    char *p = calloc(1, 100000);
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_lt(fread(p, 1, 99999, f), 99999);
    fclose(f);
    return p;
}

static const char *log_path(void)
{
    static char path[300];
    if (!path[0]) /* Each test is a process of its own. */
        snprintf(path, sizeof(path), "%s/log", test_tmpdir());
    return path;
}

/* Lines have time, level and component; hostile bytes are escaped; what is long
 * is cut; what is below the level is not there. */
START_TEST(test_lines)
{
    struct err err = ERR_INIT;
    struct world *w = world_real_new();
    struct logger *l;
    char *text;
    char *line;
    char big[3000];
    log_info(w, "none", "goes nowhere");
    ck_assert_msg(logger_open(log_path(), LOG_LEVEL_INFO, &l, &err) == 0, "%s",
                  err.text);
    world_set_logger(w, l);
    log_debug(w, "core", "not seen");
    log_info(w, "core", "peer=%s n=%d", "a\nb\x01\x7f\xc3\xa9", 7);
    memset(big, 'x', sizeof(big) - 1);
    big[sizeof(big) - 1] = '\0';
    log_error(w, "core", "%s", big);
    text = read_all(log_path());
    line = strtok(text, "\n");
    ck_assert_ptr_nonnull(
        strstr(line, "Z INFO core peer=a\\x0ab\\x01\\x7f\xc3\xa9 n=7"));
    line = strtok(NULL, "\n");
    ck_assert_ptr_nonnull(strstr(line, " ERROR core xxxx"));
    ck_assert_uint_lt(strlen(line), LOG_LINE_BYTES + 40);
    ck_assert_ptr_null(strtok(NULL, "\n"));
    free(text);
    logger_close(l);
    world_free(w);
}

END_TEST

/* After the file was moved away, lines go to a new one. */
START_TEST(test_reopen)
{
    struct err err = ERR_INIT;
    struct world *w = world_real_new();
    struct logger *l;
    char old[310];
    char *text;
    snprintf(old, sizeof(old), "%s.1", log_path());
    ck_assert_int_eq(logger_open(log_path(), LOG_LEVEL_INFO, &l, &err), 0);
    world_set_logger(w, l);
    log_info(w, "a", "first");
    ck_assert_int_eq(rename(log_path(), old), 0);
    log_info(w, "a", "second");
    logger_reopen(l);
    log_info(w, "a", "third");
    text = read_all(old);
    ck_assert_ptr_nonnull(strstr(text, "second"));
    free(text);
    text = read_all(log_path());
    ck_assert_ptr_nonnull(strstr(text, "third"));
    ck_assert_ptr_null(strstr(text, "second"));
    free(text);
    logger_close(l);
    world_free(w);
    ck_assert_int_eq(logger_open("/nowhere/at/all", LOG_LEVEL_INFO, &l, &err),
                     ERR_NOTFOUND);
}

END_TEST

static void limit(void *arg)
{
    struct world *w = arg;
    struct log_limiter *l = log_limiter_new(w, 60000000);
    uint64_t held = 9;
    ck_assert(log_limiter_pass(l, SLICE_LIT("a"), &held));
    ck_assert_uint_eq(held, 0);
    for (int i = 0; i < 5; i++)
        ck_assert(!log_limiter_pass(l, SLICE_LIT("a"), &held));
    ck_assert(log_limiter_pass(l, SLICE_LIT("b"), &held));
    world_sleep_us(w, 61000000);
    ck_assert(log_limiter_pass(l, SLICE_LIT("a"), &held));
    ck_assert_uint_eq(held, 5);
    ck_assert(!log_limiter_pass(l, SLICE_LIT("a"), &held));
    for (int i = 0; i < 100000; i++) { /* Bounded, however many keys come. */
        char key[20];
        snprintf(key, sizeof(key), "%d", i);
        ck_assert(log_limiter_pass(l, slice_str(key), &held));
    }
    log_limiter_free(l);
}

/* Each key passes once per period, with the count of what was held back. */
START_TEST(test_limiter)
{
    struct world *w = sim_world_new(&(struct sim_options){.seed = 1});
    sim_run(w, limit, w);
    world_free(w);
}

END_TEST

/* Levels by name; a simulated machine's lines are in its trace. */
START_TEST(test_levels_and_trace)
{
    enum log_level level;
    struct buf b = BUF_INIT;
    struct world *w = sim_world_new(&(struct sim_options){.seed = 1});
    ck_assert(log_level_parse(SLICE_LIT("Warn"), &level));
    ck_assert_int_eq(level, LOG_LEVEL_WARN);
    ck_assert(!log_level_parse(SLICE_LIT("warning"), &level));
    ck_assert(!log_level_parse(SLICE_LIT(""), &level));
    log_warn(w, "rpc", "refused peer=%s", "x");
    sim_trace_print(w, &b);
    ck_assert_ptr_nonnull(strstr(buf_cstr(&b), "WARN rpc refused peer=x"));
    buf_close(&b);
    world_free(w);
}

END_TEST

TEST_MAIN("log", test_lines, test_reopen, test_limiter, test_levels_and_trace)
