/* A log line is one line whatever is in it, comes at its level and above, and a
 * repeated one is held back and counted. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* A component can have a level of its own, which changes while it is used; a
 * wrong word changes nothing. */
START_TEST(test_component_levels)
{
    struct err err = ERR_INIT;
    struct world *w = world_real_new();
    struct buf levels = BUF_INIT;
    struct logger *l;
    char *text;
    ck_assert_int_eq(logger_open(log_path(), LOG_LEVEL_INFO, &l, &err), 0);
    world_set_logger(w, l);
    log_debug(w, "rpc", "one");
    ck_assert_int_eq(logger_set_levels(l, SLICE_LIT("warn, rpc=debug"), &err),
                     0);
    log_debug(w, "rpc", "two");
    log_info(w, "core", "three");
    log_warn(w, "core", "four");
    ck_assert_int_eq(
        logger_set_levels(l, SLICE_LIT("core=error,rpc=loud"), &err),
        ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(err.text, "\"loud\""));
    log_warn(w, "core", "five");
    logger_print_levels(l, &levels);
    ck_assert_str_eq(buf_cstr(&levels), "warn,rpc=debug");
    ck_assert_int_eq(logger_set_levels(l, SLICE_LIT("rpc=default"), &err), 0);
    log_info(w, "rpc", "six");
    buf_clear(&levels);
    logger_print_levels(l, &levels);
    ck_assert_str_eq(buf_cstr(&levels), "warn");
    text = read_all(log_path());
    ck_assert_ptr_null(strstr(text, "one"));
    ck_assert_ptr_nonnull(strstr(text, " DEBUG rpc two\n"));
    ck_assert_ptr_null(strstr(text, "three"));
    ck_assert_ptr_nonnull(strstr(text, "four"));
    ck_assert_ptr_nonnull(strstr(text, "five"));
    ck_assert_ptr_null(strstr(text, "six"));
    free(text);
    buf_close(&levels);
    logger_close(l);
    world_free(w);
}

END_TEST

/* There is room for a bounded number of components, also of hostile names. */
START_TEST(test_component_bound)
{
    struct err err = ERR_INIT;
    struct logger *l;
    char name[100];
    int rc = 0;
    ck_assert_int_eq(logger_open(log_path(), LOG_LEVEL_INFO, &l, &err), 0);
    for (int i = 0; i <= LOG_COMPONENTS_MAX && rc == 0; i++) {
        snprintf(name, sizeof(name), "c%d=warn", i);
        rc = logger_set_levels(l, slice_str(name), &err);
        ck_assert_int_eq(rc, i < LOG_COMPONENTS_MAX ? 0 : ERR_FULL);
    }
    memset(name, 'x', sizeof(name));
    memcpy(name + sizeof(name) - 6, "=warn", 6);
    ck_assert_int_eq(logger_set_levels(l, slice_str(name), &err), ERR_INVALID);
    ck_assert_int_eq(logger_set_levels(l, SLICE_LIT("=warn"), &err),
                     ERR_INVALID);
    logger_close(l);
}

END_TEST

static size_t request_of_test(char *out)
{
    memcpy(out, "0000000000000abc", 16);
    return 16;
}

/* A line of JSON is one object, whatever the message has; requests have their
 * id. */
START_TEST(test_json)
{
    struct err err = ERR_INIT;
    struct world *w = world_real_new();
    struct logger *l;
    char *text;
    ck_assert_int_eq(logger_open(log_path(), LOG_LEVEL_INFO, &l, &err), 0);
    logger_set_format(l, LOG_JSON);
    world_set_logger(w, l);
    log_warn(w, "core", "why=\"a\\b\nc\"");
    logger_set_request(l, request_of_test);
    log_info(w, "rpc", "x");
    text = read_all(log_path());
    ck_assert_int_eq(strncmp(text, "{\"time\":\"2", 10), 0);
    ck_assert_ptr_nonnull(
        strstr(text, "Z\",\"level\":\"warn\",\"component\":\"core\","
                     "\"message\":\"why=\\\"a\\\\b\\\\x0ac\\\"\"}\n"));
    ck_assert_ptr_nonnull(strstr(text,
                                 "\"component\":\"rpc\",\"request\":"
                                 "\"0000000000000abc\",\"message\":\"x\"}\n"));
    free(text);
    logger_close(l);
    world_free(w);
}

END_TEST

/* A line for systemd's journal begins with its priority and has no time;
 * another standard error gets plain lines. */
START_TEST(test_journal)
{
    struct err err = ERR_INIT;
    struct world *w = world_real_new();
    struct logger *l;
    struct stat st;
    char stream[64];
    char *text;
    int fd = open(log_path(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    ck_assert_int_ge(dup2(fd, STDERR_FILENO), 0);
    ck_assert_int_eq(fstat(fd, &st), 0);
    for (int right = 0; right < 2; right++) {
        snprintf(stream, sizeof(stream), "%llu:%llu",
                 (unsigned long long)st.st_dev,
                 (unsigned long long)st.st_ino + !right);
        ck_assert_int_eq(logger_open(NULL, LOG_LEVEL_DEBUG, &l, &err), 0);
        logger_find_journal(l, stream);
        world_set_logger(w, l);
        log_error(w, "core", "bad");
        log_debug(w, "core", "fine");
        world_set_logger(w, NULL);
        logger_close(l);
    }
    text = read_all(log_path());
    ck_assert_ptr_nonnull(strstr(text, "Z ERROR core bad\n"));
    ck_assert_ptr_nonnull(
        strstr(text, "\n<3>ERROR core bad\n<7>DEBUG core fine\n"));
    free(text);
    close(fd);
    world_free(w);
}

END_TEST

TEST_MAIN("log",
          test_lines,
          test_reopen,
          test_limiter,
          test_levels_and_trace,
          test_component_levels,
          test_component_bound,
          test_json,
          test_journal)
