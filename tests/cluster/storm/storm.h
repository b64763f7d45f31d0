/* Clients of a cluster of real processes, and what they write down.
 *
 *     quarry-storm run --journal FILE …     clients work until SIGTERM
 *     quarry-storm finish --journal FILE … JOURNAL…
 *                                           reads all that there is, and checks
 *                                           it against what was promised
 *     quarry-storm check JOURNAL…           judges the histories of them all
 *     quarry-storm watch …                  tells who leads, when it changes
 *
 * With --tables the clients are users of tables, and those are read.
 *
 * A journal is a file of lines, each written at once, so that it says what was
 * known when its process was killed. Times are those of the machine's monotonic
 * clock: all processes share it.
 *
 *     TIME L<op> <line of history_lock.h>    a call; again when it returned
 *     TIME N<op> <line of history_names.h>   the last one counts; "-": nothing
 *                                            was done
 *     TIME R<op> <line of history_rows.h>
 *     TIME doubt HOLDER PATH                 may hold the lock from now on
 *     TIME sure HOLDER PATH                  does not any more
 *     TIME file PATH SEED                    will be made
 *     TIME grown|flushed|synced PATH BYTES   asked for; promised
 *     TIME made|gone PATH
 *     TIME record PATH NUMBER OFFSET         was acknowledged
 *     TIME end                               its process ended in order
 *
 * Fields are separated by tabs. Threads: one loop.
 */
#ifndef TESTS_CLUSTER_STORM_STORM_H
#define TESTS_CLUSTER_STORM_STORM_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/core/err.h"
#include "base/core/rand.h"
#include "base/core/slice.h"
#include "tests/lib/history_lock.h"
#include "tests/lib/history_names.h"
#include "tests/lib/history_rows.h"

struct fs;
struct rpc_security;
struct world;

#define SECOND_US UINT64_C(1000000)

enum {
    STORM_SERVERS_MAX = 9,
    STORM_LOCKS = 2,
    STORM_FILES = 3,       /* Of the lock service. */
    STORM_DIRECTORIES = 3, /* Of names. */
    STORM_NAMES = 4,       /* In each. */
};

struct storm {
    struct world *world;
    const char *servers[STORM_SERVERS_MAX];
    size_t server_count;
    const char *all_servers; /* With commas. */
    struct rpc_security *security;
    uint64_t seed;
    uint64_t index; /* Of this process: no two of a run have the same. */
    FILE *journal;
    struct history_lock *locks;
    struct history_names *names;
    struct history_rows *rows;
    bool of_tables;       /* Not of the cell. */
    uint64_t origin_us;   /* When the storm began: the same for all. */
    uint32_t last_value;  /* Of rows; no two processes have the same. */
    uint64_t last_number; /* Given out by storm_number(). */
    uint64_t call_count;
    char *sequencer[STORM_LOCKS]; /* Newest of each lock seen here. Owned. */
};

/* One fiber of the process. */
struct storm_client {
    struct storm *storm;
    struct rand_gen rand;
    uint64_t number;
    void (*work)(struct storm_client *c);
};

uint64_t storm_now_us(const struct storm *s);
void storm_sleep_us(const struct storm *s, uint64_t us);
/* False once the process was told to end. */
bool storm_goes_on(void);
/* A number that no other call, of any process, gives. */
uint64_t storm_number(struct storm *s);
struct fs *storm_fs(struct storm *s, const char *name, uint64_t timeout_us);
/* Print what is wrong, and end with status 1. */
NORETURN void storm_fail(const char *fmt, ...) PRINTF_LIKE(1, 2);

#define STORM_CHECK(cond, ...) ((cond) ? (void)0 : storm_fail(__VA_ARGS__))

/* --- the journal --------------------------------------------------------- */

/* Add the line "TIME <text>". */
void storm_note(struct storm *s, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Note the outcome of a call of the histories. */
void storm_note_lock(struct storm *s, size_t op);
void storm_note_names(struct storm *s, size_t op);
void storm_note_rows(struct storm *s, size_t op);

/* A line of a journal, in parts; those that are missing are empty. */
struct storm_line {
    uint64_t time_us;
    struct slice what;
    struct slice rest; /* All behind it. */
    struct slice field[3];
};

uint64_t storm_line_number(const struct storm_line *l, size_t field);
/* Call @each(ctx, line) for every line of the journal @path. */
void storm_read_journal(const char *path,
                        void (*each)(void *ctx, const struct storm_line *l),
                        void *ctx);

/* --- contents ------------------------------------------------------------ */

/* The bytes [offset, offset + len) of whatever is named by @seed. */
void storm_fill(uint64_t seed, uint64_t offset, char *dst, size_t len);
/* Bytes of record @number. */
size_t storm_record_bytes(uint64_t number);
#define STORM_RECORD_BYTES_MAX 5000

/* Fails unless @got is what is at @offset. */
void storm_compare(const char *path,
                   uint64_t seed,
                   uint64_t offset,
                   const char *got,
                   size_t len);

/* --- clients ------------------------------------------------------------- */

void storm_work_locks(struct storm_client *c);   /* locks.c */
void storm_work_names(struct storm_client *c);   /* names.c */
void storm_work_files(struct storm_client *c);   /* files.c */
void storm_work_records(struct storm_client *c); /* files.c */
void storm_work_tables(struct storm_client *c);  /* tables.c */

/* --- afterwards; each until @until_us at the latest ---------------------- */

void storm_finish_locks(struct storm *s, uint64_t until_us);
void storm_finish_names(struct storm *s, uint64_t until_us);
void storm_finish_tables(struct storm *s, uint64_t until_us);
void storm_finish_files(struct storm *s,
                        char **journals,
                        size_t count,
                        uint64_t until_us); /* finish.c */
/* Returns the exit status. */
int storm_check(char **journals, size_t count); /* check.c */
void storm_watch(struct storm *s);              /* watch.c */

#endif /* TESTS_CLUSTER_STORM_STORM_H */
