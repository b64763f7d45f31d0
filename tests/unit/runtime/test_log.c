/* A log line is one line whatever is in it, comes at its level and above, and a
 * repeated one is held back and counted. */
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/buf.h"
#include "base/core/rand.h"
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
    log_info(w, "server", "goes nowhere");
    ck_assert_msg(logger_open(log_path(), LOG_LEVEL_INFO, &l, &err) == 0, "%s",
                  err.text);
    world_set_logger(w, l);
    log_debug(w, "server", "not seen");
    log_info(w, "server", "peer=%s n=%d", "a\nb\x01\x7f\xc3\xa9", 7);
    memset(big, 'x', sizeof(big) - 1);
    big[sizeof(big) - 1] = '\0';
    log_error(w, "server", "%s", big);
    text = read_all(log_path());
    line = strtok(text, "\n");
    ck_assert_ptr_nonnull(
        strstr(line, "Z INFO server peer=a\\x0ab\\x01\\x7f\xc3\xa9 n=7"));
    line = strtok(NULL, "\n");
    ck_assert_ptr_nonnull(strstr(line, " ERROR server xxxx"));
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
    log_info(w, "gfs", "first");
    ck_assert_int_eq(rename(log_path(), old), 0);
    log_info(w, "gfs", "second");
    logger_reopen(l);
    log_info(w, "gfs", "third");
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
    log_info(w, "server", "three");
    log_warn(w, "server", "four");
    ck_assert_int_eq(
        logger_set_levels(l, SLICE_LIT("server=error,rpc=loud"), &err),
        ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(err.text, "\"loud\""));
    log_warn(w, "server", "five");
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

/* Components that there are not are refused with the list of those there are;
 * nothing is changed then. Later changes count more. */
START_TEST(test_unknown_components)
{
    static const char *const wrong[] = {
        "nobody=warn",           "=warn",    "rpc=", "rpc =",
        "rpc=debug,nobody=info", "RPC=debug"};
    struct err err = ERR_INIT;
    struct buf levels = BUF_INIT;
    struct buf all = BUF_INIT;
    struct logger *l;
    const char *about;
    char name[100];
    ck_assert_int_eq(logger_open(log_path(), LOG_LEVEL_INFO, &l, &err), 0);
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
        ck_assert_int_eq(logger_set_levels(l, slice_str(wrong[i]), &err),
                         ERR_INVALID);
    memset(name, 'x', sizeof(name));
    memcpy(name + sizeof(name) - 6, "=warn", 6);
    err = ERR_INIT;
    ck_assert_int_eq(logger_set_levels(l, slice_str(name), &err), ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(err.text, "attempt, chunk, "));
    for (size_t i = 0; log_component_name(i, &about); i++) {
        ck_assert_ptr_nonnull(strstr(err.text, log_component_name(i, &about)));
        ck_assert_uint_gt(strlen(about), 0);
        buf_printf(&all, "%s=error,", log_component_name(i, &about));
    }
    logger_print_levels(l, &levels);
    ck_assert_str_eq(buf_cstr(&levels), "info");
    buf_append_str(&all, " rpc = debug , warn,error");
    ck_assert_int_eq(logger_set_levels(l, buf_slice(&all), &err), 0);
    buf_clear(&levels);
    logger_print_levels(l, &levels);
    ck_assert_ptr_nonnull(strstr(buf_cstr(&levels), "error,attempt=error,"));
    ck_assert_ptr_nonnull(strstr(buf_cstr(&levels), ",rpc=debug,"));
    buf_close(&levels);
    buf_close(&all);
    logger_close(l);
}

END_TEST

static int counted(int *count)
{
    return ++*count;
}

/* Of a line that is not written, no argument is evaluated or formatted. */
START_TEST(test_no_cost)
{
    struct err err = ERR_INIT;
    struct world *w = world_real_new();
    struct logger *l;
    int count = 0;
    log_error(w, "rpc", "%d", counted(&count)); /* There is no log. */
    ck_assert_int_eq(logger_open(log_path(), LOG_LEVEL_INFO, &l, &err), 0);
    world_set_logger(w, l);
    log_debug(w, "rpc", "%d", counted(&count));
    ck_assert_int_eq(logger_set_levels(l, SLICE_LIT("rpc=error"), &err), 0);
    log_warn(w, "rpc", "%d", counted(&count));
    ck_assert_int_eq(logger_set_levels(l, SLICE_LIT("gfs=debug"), &err), 0);
    log_debug(w, "lock", "%d", counted(&count));
    log_info(w, "rpc", "%d", counted(&count));
    ck_assert_int_eq(count, 0);
    log_debug(w, "gfs", "%d", counted(&count));
    log_info(w, "lock", "%d", counted(&count));
    log_error(w, "rpc", "%d", counted(&count));
    ck_assert_int_eq(count, 3);
    logger_close(l);
    world_free(w);
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
    log_warn(w, "server", "why=\"a\\b\nc\"");
    logger_set_request(l, request_of_test);
    log_info(w, "rpc", "x");
    text = read_all(log_path());
    ck_assert_int_eq(strncmp(text, "{\"time\":\"2", 10), 0);
    ck_assert_ptr_nonnull(
        strstr(text, "Z\",\"level\":\"warn\",\"component\":\"server\","
                     "\"message\":\"why=\\\"a\\\\b\\\\x0ac\\\"\"}\n"));
    ck_assert_ptr_nonnull(strstr(text,
                                 "\"component\":\"rpc\",\"request\":"
                                 "\"0000000000000abc\",\"message\":\"x\"}\n"));
    free(text);
    logger_close(l);
    world_free(w);
}

END_TEST

#define MESSAGES          2000
#define MESSAGE_BYTES_MAX 3000

/* Bytes of all kinds, among which are more of those that are special. */
static void random_text(struct rand_gen *r, char *out, size_t len)
{
    static const char special[] =
        "\"\\/\n\r\t\b\x1b\x7f{}[]:,\xc3\xe2\xf0\xff\xed"
        "\xa0\x80\xbf%u";
    for (size_t i = 0; i < len; i++) {
        bool any = rand_below(r, 2) == 0;
        char c = any ? (char)rand_below(r, 256)
                     : special[rand_below(r, sizeof(special) - 1)];
        out[i] = c ? c : 'x';
    }
    out[len] = '\0';
}

/* One object a line, with exactly the fields there are, all of them texts. */
static void check_object(const char *line, size_t len, const char *component)
{
    json_error_t at;
    json_t *o = json_loadb(line, len, JSON_REJECT_DUPLICATES, &at);
    ck_assert_msg(o != NULL, "%s: %.*s", at.text, (int)len, line);
    ck_assert(json_is_object(o));
    ck_assert_uint_eq(json_object_size(o), 5);
    ck_assert_str_eq(json_string_value(json_object_get(o, "component")),
                     component);
    ck_assert_str_eq(json_string_value(json_object_get(o, "level")), "warn");
    ck_assert_ptr_nonnull(json_string_value(json_object_get(o, "message")));
    ck_assert_ptr_nonnull(json_string_value(json_object_get(o, "request")));
    json_decref(o);
}

/* Whatever bytes are in messages, however long, each is one line with one
 * object of JSON. */
START_TEST(test_json_of_anything)
{
    static char message[MESSAGE_BYTES_MAX + 1];
    struct err err = ERR_INIT;
    struct world *w = world_real_new();
    struct rand_gen r;
    struct logger *l;
    struct stat st;
    char *text;
    size_t at = 0;
    size_t lines = 0;
    int fd;
    rand_init(&r, 7);
    ck_assert_int_eq(logger_open(log_path(), LOG_LEVEL_INFO, &l, &err), 0);
    logger_set_format(l, LOG_JSON);
    logger_set_request(l, request_of_test);
    world_set_logger(w, l);
    for (int i = 0; i < MESSAGES; i++) {
        size_t most = i % 10 ? 60 : MESSAGE_BYTES_MAX;
        random_text(&r, message, rand_below(&r, most));
        log_warn(w, "rpc", "why=\"%s\"", message);
    }
    fd = open(log_path(), O_RDONLY);
    ck_assert_int_eq(fstat(fd, &st), 0);
    text = malloc((size_t)st.st_size);
    ck_assert_int_eq(read(fd, text, (size_t)st.st_size), st.st_size);
    close(fd);
    while (at < (size_t)st.st_size) {
        const char *end = memchr(text + at, '\n', (size_t)st.st_size - at);
        size_t len = (size_t)(end - (text + at));
        ck_assert_ptr_nonnull(end);
        check_object(text + at, len, "rpc");
        at += len + 1;
        lines++;
    }
    ck_assert_uint_eq(lines, MESSAGES);
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
        log_error(w, "server", "bad");
        log_debug(w, "server", "fine");
        world_set_logger(w, NULL);
        logger_close(l);
    }
    text = read_all(log_path());
    ck_assert_ptr_nonnull(strstr(text, "Z ERROR server bad\n"));
    ck_assert_ptr_nonnull(
        strstr(text, "\n<3>ERROR server bad\n<7>DEBUG server fine\n"));
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
          test_unknown_components,
          test_no_cost,
          test_json,
          test_json_of_anything,
          test_journal)
