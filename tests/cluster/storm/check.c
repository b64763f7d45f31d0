/* Judging what all processes together saw. */
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/core/text.h"
#include "tests/cluster/storm/storm.h"

/* Of a row, looked at before it is given up: when all servers are away for a
 * while a dozen calls on one row may have been made or not, in any order. */
#define STATES_MAX 10000000

/* Calls of one kind in one journal. */
#define CALLS_MAX 1000000

/* The outcome of each call, as far as it is known: the last line counts. */
struct calls {
    char **lines; /* By number; owned. */
    size_t count;
};

struct doubt {
    uint64_t holder;
    char path[32];
};

struct judge {
    struct history_lock *locks;
    struct history_names *names;
    struct history_rows *rows;
    struct calls lock_calls; /* Of the journal that is being read. */
    struct calls name_calls;
    struct calls row_calls;
    struct doubt doubts[64];
    size_t doubt_count;
    uint64_t last_us;
    bool ended;
};

static void note(struct calls *c, const struct storm_line *l)
{
    uint64_t op = 0;
    int rc = text_parse_u64(slice_sub(l->what, 1, l->what.len), &op, NULL);
    STORM_CHECK(rc == 0 && op < CALLS_MAX, "call \"%.*s\"", SLICE_ARG(l->what));
    if (op >= c->count) {
        c->lines = mem_realloc(c->lines, (op + 1) * sizeof(*c->lines));
        while (c->count <= op)
            c->lines[c->count++] = NULL;
    }
    mem_free(c->lines[op]);
    c->lines[op] = mem_strndup(l->rest.data, l->rest.len);
}

static void add_doubt(struct judge *j, const struct storm_line *l)
{
    struct doubt *d = &j->doubts[j->doubt_count];
    STORM_CHECK(j->doubt_count < ARRAY_LEN(j->doubts) &&
                    l->field[1].len < sizeof(d->path),
                "too many locks may be held");
    *d = (struct doubt){.holder = storm_line_number(l, 0)};
    memcpy(d->path, l->field[1].data, l->field[1].len);
    j->doubt_count++;
}

static void end_doubt(struct judge *j, const struct storm_line *l)
{
    uint64_t holder = storm_line_number(l, 0);
    for (size_t i = 0; i < j->doubt_count; i++)
        if (j->doubts[i].holder == holder &&
            slice_eq_str(l->field[1], j->doubts[i].path)) {
            j->doubts[i] = j->doubts[--j->doubt_count];
            return;
        }
}

static void take_line(void *ctx, const struct storm_line *l)
{
    struct judge *j = ctx;
    j->last_us = l->time_us;
    if (slice_eq_str(l->what, "doubt"))
        add_doubt(j, l);
    else if (slice_eq_str(l->what, "sure"))
        end_doubt(j, l);
    else if (slice_eq_str(l->what, "end"))
        j->ended = true;
    else if (l->what.len && l->what.data[0] == 'L')
        note(&j->lock_calls, l);
    else if (l->what.len && l->what.data[0] == 'N')
        note(&j->name_calls, l);
    else if (l->what.len && l->what.data[0] == 'R')
        note(&j->row_calls, l);
}

/* --- into the histories -------------------------------------------------- */

static int read_lock(struct judge *j, struct slice line, struct err *err)
{
    return history_lock_read(j->locks, line, err);
}

static int read_names(struct judge *j, struct slice line, struct err *err)
{
    return history_names_read(j->names, line, err);
}

static int read_rows(struct judge *j, struct slice line, struct err *err)
{
    return history_rows_read(j->rows, line, err);
}

static void
add_calls(struct judge *j,
          struct calls *c,
          int (*read)(struct judge *j, struct slice line, struct err *err))
{
    for (size_t i = 0; i < c->count; i++) {
        struct err err = ERR_INIT;
        struct slice line = slice_str(c->lines[i] ? c->lines[i] : "-");
        int rc = 0;
        if (line.len > 1)
            rc = read(j, line, &err);
        STORM_CHECK(rc == 0, "%s", err.text);
        mem_free(c->lines[i]);
    }
    mem_free(c->lines);
    *c = (struct calls){.count = 0};
}

/* Locks of a killed process become free some time after its last line. */
static void add_journal(struct judge *j, const char *path)
{
    j->ended = false;
    j->doubt_count = 0;
    storm_read_journal(path, take_line, j);
    add_calls(j, &j->lock_calls, read_lock);
    add_calls(j, &j->name_calls, read_names);
    add_calls(j, &j->row_calls, read_rows);
    for (size_t i = 0; i < j->doubt_count; i++)
        history_lock_call(j->locks, j->last_us, j->doubts[i].holder,
                          LOCK_EXPIRE, j->doubts[i].path, NULL);
}

static bool say(const char *what, enum history_verdict v, const struct buf *why)
{
    switch (v) {
    case HISTORY_LINEARIZABLE: return true;
    case HISTORY_WRONG:
        fprintf(stderr, "%.*sthe answers of the %s have no order\n",
                SLICE_ARG(buf_slice(why)), what);
        return false;
    case HISTORY_TOO_HARD:
        fprintf(stderr, "the history of the %s is too hard to judge\n", what);
        return false;
    }
    return false;
}

int storm_check(char **journals, size_t count)
{
    struct judge j = {.locks = history_lock_new(),
                      .names = history_names_new(),
                      .rows = history_rows_new()};
    struct buf why = BUF_INIT;
    bool good;
    for (size_t i = 0; i < count; i++)
        add_journal(&j, journals[i]);
    printf("lock-calls=%zu name-calls=%zu row-calls=%zu\n",
           history_lock_count(j.locks), history_names_count(j.names),
           history_rows_count(j.rows));
    good = say("lock service", history_lock_check(j.locks, 0, &why), &why);
    buf_clear(&why);
    good &= say("names", history_names_check(j.names, 0, &why), &why);
    buf_clear(&why);
    good &= say("rows", history_rows_check(j.rows, STATES_MAX, &why), &why);
    buf_close(&why);
    history_lock_free(j.locks);
    history_names_free(j.names);
    history_rows_free(j.rows);
    return good ? 0 : 1;
}
