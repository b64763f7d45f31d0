/* A client process of lists (txns.h), whose history is lines of its output, and
 * the check of several such histories.
 *
 *     txn_lists create TARGET KEY
 *     txn_lists run TARGET KEY NUMBER SECONDS snapshot|serializable
 *     txn_lists check snapshot|serializable FILE…
 *
 * A line is written before the call that it announces, so that a process that
 * is killed leaves what it may have done.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/core/buf.h"
#include "base/core/macros.h"
#include "base/core/panic.h"
#include "bigtable/quarry_txn.h"
#include "tests/clients/txns.h"
#include "tests/lib/append_history.h"

#define CLIENTS_MAX   1000 /* Numbers of clients, for values of their own. */
#define LISTS         24
#define LINE_MAX_SIZE 65536
#define TIMEOUT_US    ((uint64_t)20 * 1000000)

static int64_t now_ns(void *ctx)
{
    struct timespec t;
    (void)ctx;
    if (clock_gettime(CLOCK_MONOTONIC, &t))
        PANIC("no clock");
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void no_lock(void *ctx)
{
    (void)ctx;
}

static int fail(const char *what, const struct err *err)
{
    fprintf(stderr, "%s: %s\n", what, err->text);
    return 1;
}

static int open_target(char **argv, struct quarry **q, struct err *err)
{
    const struct quarry_options o = {.key_file = argv[1],
                                     .timeout_us = TIMEOUT_US};
    return quarry_open(argv[0], &o, q, err);
}

static int run_create(char **argv)
{
    struct err err = ERR_INIT;
    struct quarry *q;
    int rc = open_target(argv, &q, &err);
    if (rc == 0)
        rc = txn_tables_create(q, &err);
    quarry_close(q);
    return rc ? fail("create", &err) : 0;
}

static int run_client(char **argv)
{
    struct rand_gen rand;
    struct err err = ERR_INIT;
    uint64_t appends = 0;
    uint64_t number = strtoull(argv[2], NULL, 10);
    int64_t end = now_ns(NULL) + strtoll(argv[3], NULL, 10) * 1000000000;
    struct txn_client c = {.rand = &rand,
                           .lists = LISTS,
                           .fixed_lists = true,
                           .appends = &appends,
                           .value_step = CLIENTS_MAX,
                           .value_first = number,
                           .serializable = argv[4][1] == 'e',
                           .lease_us = 1000000,
                           .timeout_us = TIMEOUT_US,
                           .lock = no_lock,
                           .unlock = no_lock,
                           .clock = now_ns,
                           .log = stdout};
    int rc = open_target(argv, &c.quarry, &err);
    rand_init(&rand, number + 1);
    if (rc == 0)
        rc = txn_client_open(&c, &err);
    if (rc)
        return fail("open", &err);
    c.history = append_history_new();
    while (now_ns(NULL) < end) {
        rc = txn_client_step(&c, &err);
        if (rc && rc != ERR_CONFLICT)
            fprintf(stderr, "client %s: %s\n", argv[2], err.text);
    }
    append_history_free(c.history);
    txn_client_close(&c);
    quarry_close(c.quarry);
    return 0;
}

/* --- checking ------------------------------------------------------------ */

struct reading {
    struct append_history *history;
    size_t first;     /* Number of the file's first transaction. */
    uint64_t commits; /* Of all files. */
};

static void read_line(struct reading *r, char *line)
{
    char kind = line[0];
    char *p = line + 1;
    size_t txn = r->first + (size_t)strtoull(p, &p, 10);
    uint64_t key = strtoull(p, &p, 10);
    static uint64_t values[LINE_MAX_SIZE / 8];
    size_t count = 0;
    while (*p == ' ' && count < ARRAY_LEN(values))
        values[count++] = strtoull(p, &p, 10);
    if (*p != '\n')
        return; /* Cut off by a kill. */
    switch (kind) {
    case 'B': (void)append_begin(r->history, (int64_t)key); break;
    case 'R': append_read(r->history, txn, key, values, count); break;
    case 'W': append_write(r->history, txn, key, values[0]); break;
    case 'E':
        append_end(r->history, txn, (enum append_outcome)values[0],
                   (int64_t)key);
        r->commits += values[0] == APPEND_COMMITTED;
        break;
    default: PANIC("what is %s", line);
    }
}

static void read_file(struct reading *r, const char *path)
{
    static char line[LINE_MAX_SIZE];
    FILE *f = fopen(path, "r");
    if (!f)
        PANIC("%s cannot be read", path);
    r->first = append_history_count(r->history);
    while (fgets(line, sizeof(line), f))
        read_line(r, line);
    fclose(f);
}

static int run_check(int argc, char **argv)
{
    enum append_level level =
        argv[0][1] == 'e' ? APPEND_SERIALIZABLE : APPEND_SNAPSHOT;
    struct reading r = {.history = append_history_new()};
    struct buf why = BUF_INIT;
    bool good;
    for (int i = 1; i < argc; i++)
        read_file(&r, argv[i]);
    good = append_check(r.history, level, &why);
    printf("%zu transactions, %" PRIu64 " commits: %s\n",
           append_history_count(r.history), r.commits,
           good ? "good" : buf_cstr(&why));
    buf_close(&why);
    append_history_free(r.history);
    return good && r.commits > 20 ? 0 : 1;
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "create") == 0)
        return run_create(argv + 2);
    if (argc == 7 && strcmp(argv[1], "run") == 0)
        return run_client(argv + 2);
    if (argc > 3 && strcmp(argv[1], "check") == 0)
        return run_check(argc - 2, argv + 2);
    fprintf(stderr, "txn_lists: see its source\n");
    return 2;
}
