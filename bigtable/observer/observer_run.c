/* Running an observer. A batch of changes is one transaction: for each row that
 * changed the function's writes, or the note that the row was put aside, and
 * the place in the stream. A batch that conflicts is done again.
 *
 * Invariants
 *     INV-1. A transaction begins after the newest change that it deals with,
 *            by the store's timestamps: it sees what it was told.
 *     INV-2. Writes of a row reach the transaction when its function has
 *            succeeded, all of them or none.
 */
#include "bigtable/observer/observer_run.h"

#include <stdio.h>
#include <string.h>

#include "base/core/fault.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"

/* Changes of one transaction, about: as many as are there, up to this. Rows
 * that several of them write, such as those of frequent words, are written
 * once. */
#define BATCH_BYTES ((size_t)1 << 20)
/* Of the cells of rows that a program is given together, about. */
#define GROUP_BYTES ((size_t)4 << 20)

#define BACK_OFF_US     ((uint64_t)20000)
#define BACK_OFF_US_MAX ((uint64_t)2000000)
/* How often rows that shall be tried again are looked for. */
#define LETTERS_NS ((uint64_t)1000000000)
/* The delay before it is doubled so often at most, from half of it on. */
#define RETRY_SHIFT_MAX 7U
#define LOOK_US         ((uint64_t)20000)
/* Runs that fail before a caller that waits is told. */
#define FAILURES_MAX 2

/* The kind of one process's function. */
struct observer_code {
    struct observer_kind base; /* First: the run knows it alone. */
    quarry_observer_fn fn;
    void *ctx;
};

/* --- a function of this process ------------------------------------------ */

static int
function_open(const struct observer_setup *setup, void **state, struct err *err)
{
    (void)err;
    *state = (void *)(uintptr_t)setup->host;
    return 0;
}

static void function_close(void *state)
{
    (void)state;
}

static int function_rows(void *state,
                         struct quarry_observation *rows,
                         size_t count,
                         size_t *done,
                         bool *exact,
                         struct err *err)
{
    const struct observer_code *code = state;
    int rc = 0;
    *exact = true;
    for (*done = 0; *done < count && rc == 0; *done += rc == 0)
        rc = code->fn(&rows[*done], code->ctx, err);
    return rc;
}

static const struct observer_engine observer_function = {
    "function", function_open, function_rows, function_close};

/* --- a batch ------------------------------------------------------------- */

static bool observer_run_watches(const struct observer_run *r,
                                 const struct quarry_change_entry *e)
{
    const struct observer_settings *s = &r->settings;
    const char *table = quarry_table_name(r->table);
    if (e->kind == QUARRY_CHANGE_DELETE_ROW)
        return true;
    return observer_has_column(
        s->columns, s->column_count, table, e->family,
        e->kind == QUARRY_CHANGE_DELETE_FAMILY ? NULL : &e->qualifier);
}

static struct observed_row *row_of(struct observer_run *r, struct slice key)
{
    for (size_t i = r->row_count; i-- > 0;)
        if (slice_eq(r->rows[i].key, key))
            return &r->rows[i];
    if (r->row_count == r->row_cap) {
        r->row_cap = MAX_OF(2 * r->row_cap, (size_t)16);
        r->rows = mem_realloc(r->rows, r->row_cap * sizeof(*r->rows));
    }
    r->rows[r->row_count] = (struct observed_row){.key = key};
    return &r->rows[r->row_count++];
}

static void forget_cells(struct observed_row *row)
{
    quarry_row_free(row->cells);
    row->cells = NULL;
    observer_drop_writes(row);
}

static void clear_rows(struct observer_run *r)
{
    for (size_t i = 0; i < r->row_count; i++) {
        forget_cells(&r->rows[i]);
        buf_close(&r->rows[i].changes);
        buf_close(&r->rows[i].writes);
    }
    r->row_count = 0;
}

/* Changes with a watched entry, by rows in the order of their first. */
static int64_t group_rows(struct observer_run *r,
                          const struct quarry_change *list,
                          size_t count)
{
    int64_t newest = 0;
    clear_rows(r);
    for (size_t i = 0; i < count; i++) {
        bool watched = false;
        for (size_t k = 0; k < list[i].entry_count && !watched; k++)
            watched = observer_run_watches(r, &list[i].entries[k]);
        newest = MAX_OF(newest, list[i].commit_us);
        if (watched)
            buf_append(&row_of(r, list[i].row)->changes, &list[i],
                       sizeof(list[i]));
    }
    return newest;
}

static void
put_letter_key(const struct observer_run *r, struct slice row, struct buf *key)
{
    buf_printf(key, "%s/", r->name);
    buf_append_slice(key, row);
}

/* The number of times is in the letter, for the next delay. */
static int put_aside(struct observer_run *r,
                     struct quarry_txn *txn,
                     const struct observed_row *row,
                     struct err *err)
{
    struct buf key = BUF_INIT;
    char times[16];
    int n = snprintf(times, sizeof(times), "%u", row->times + 1);
    int rc;
    put_letter_key(r, row->key, &key);
    rc = quarry_txn_put(txn, r->letters, buf_slice(&key), OBSERVER_LETTER,
                        SLICE_LIT("error"), slice_str(row->error), err);
    if (rc == 0)
        rc = quarry_txn_put(txn, r->letters, buf_slice(&key), OBSERVER_LETTER,
                            SLICE_LIT("times"), slice_make(times, (size_t)n),
                            err);
    if (rc == 0)
        rc = quarry_txn_delete(txn, r->letters, buf_slice(&key),
                               OBSERVER_LETTER, SLICE_LIT("retry"), err);
    buf_close(&key);
    return rc;
}

/* Is it the store that fails, and not the function? */
static bool is_stores(int rc)
{
    return rc == ERR_CONFLICT || rc == ERR_CLOSED || rc == ERR_CANCELLED ||
           rc == ERR_TOO_OLD || rc == ERR_UNAVAILABLE || rc == ERR_DEADLINE ||
           rc == ERR_IO || rc == ERR_FULL || rc == ERR_UNKNOWN_OUTCOME;
}

static bool is_function(const struct observer_run *r)
{
    return r->engine == &observer_function;
}

/* @row failed, unless the store did. *@again: it may be tried again. */
static int observer_run_blame(struct observer_run *r,
                              struct observed_row *row,
                              int rc,
                              const struct err *why,
                              bool *again,
                              struct err *err)
{
    bool runs = !is_function(r) && rc == ERR_UNSUPPORTED;
    PRE(rc != 0);
    *again = !is_stores(rc) && !runs;
    row->failures += *again;
    snprintf(row->error, sizeof(row->error), "%s", why->text);
    return err_copy(err, why);
}

/* --- groups of rows ------------------------------------------------------ */

static size_t group_count(const struct observer_run *r)
{
    return r->group.len / sizeof(struct quarry_observation);
}

static int add_to_group(struct observer_run *r,
                        struct quarry_txn *txn,
                        struct observed_row *row,
                        struct err *err)
{
    struct quarry_observation o = {.row = row->key,
                                   .changes = (const void *)row->changes.data,
                                   .change_count = row->changes.len /
                                                   sizeof(struct quarry_change),
                                   .txn = txn,
                                   .run = r,
                                   .observed = row};
    int rc = quarry_txn_read_row(txn, r->table, row->key, &row->cells, err);
    o.cells = row->cells;
    if (rc == 0)
        buf_append(&r->group, &o, sizeof(o));
    return rc;
}

/* Rows that are gone stand for nothing: nothing is run for those. */
static int run_rows(struct observer_run *r,
                    struct quarry_observation *rows,
                    size_t count,
                    bool *again,
                    struct err *err)
{
    while (count > 0) {
        struct err why = ERR_INIT;
        size_t done = 0;
        size_t half;
        bool exact = false;
        int rc = r->engine->rows(r->state, rows, count, &done, &exact, &why);
        INVARIANT(done <= count && (rc != 0 || done == count));
        rows += done;
        count -= done;
        for (size_t i = 0; i < count; i++)
            observer_drop_writes(rows[i].observed);
        if (rc == 0)
            break;
        if (count == 1 || exact || is_stores(rc) || rc == ERR_UNSUPPORTED)
            return observer_run_blame(r, rows[0].observed, rc, &why, again,
                                      err);
        /* Which of them it was is found by halves. */
        half = count / 2;
        rc = run_rows(r, rows, half, again, err);
        if (rc)
            return rc;
        rows += half;
        count -= half;
    }
    return 0;
}

static int finish_row(struct observer_run *r,
                      struct quarry_txn *txn,
                      struct observed_row *row,
                      bool *again,
                      struct err *err)
{
    struct err why = ERR_INIT;
    int rc = r->settings.derives ? observer_derive(r, txn, row, &why)
                                 : observer_apply_writes(r, txn, row, &why);
    forget_cells(row);
    return rc ? observer_run_blame(r, row, rc, &why, again, err) : 0;
}

/* Run the rows of the group, and empty it. */
static int run_group(struct observer_run *r,
                     struct quarry_txn *txn,
                     bool *again,
                     struct err *err)
{
    struct quarry_observation *rows = (void *)r->group.data;
    size_t count = group_count(r);
    size_t live = 0;
    int rc;
    for (size_t i = 0; i < count; i++)
        if (!r->settings.derives || rows[i].cells) {
            struct quarry_observation o = rows[i];
            rows[i] = rows[live];
            rows[live++] = o;
        }
    rc = run_rows(r, rows, live, again, err);
    for (size_t i = 0; i < count && rc == 0; i++)
        rc = finish_row(r, txn, rows[i].observed, again, err);
    for (size_t i = 0; i < count; i++)
        forget_cells(rows[i].observed);
    buf_clear(&r->group);
    return rc;
}

static size_t cells_bytes(const struct quarry_row *row)
{
    size_t n = 0;
    for (size_t i = 0; row && i < row->cell_count; i++)
        n += row->cells[i].value.len + row->cells[i].qualifier.len;
    return n;
}

/* All rows of the batch: functions one by one, since each sees what those
 * before it wrote; programs many at a time, but rows that failed alone. */
static int do_rows(struct observer_run *r,
                   struct quarry_txn *txn,
                   bool *again,
                   struct err *err)
{
    size_t bytes = 0;
    int rc = 0;
    buf_clear(&r->group);
    for (size_t i = 0; i < r->row_count && rc == 0; i++) {
        struct observed_row *row = &r->rows[i];
        bool alone = is_function(r) || row->failures > 0;
        if (row->failures >= r->settings.tries) {
            rc = put_aside(r, txn, row, err);
            continue;
        }
        if (alone && group_count(r))
            rc = run_group(r, txn, again, err);
        if (rc == 0)
            rc = add_to_group(r, txn, row, err);
        bytes += cells_bytes(row->cells);
        if (rc == 0 && (alone || bytes >= GROUP_BYTES)) {
            rc = run_group(r, txn, again, err);
            bytes = 0;
        }
    }
    return rc || !group_count(r) ? rc : run_group(r, txn, again, err);
}

/* A transaction that sees all up to @newest. */
static int begin_after(struct observer_run *r,
                       int64_t newest,
                       struct quarry_txn **txn,
                       struct err *err)
{
    const struct quarry_txn_options o = {.cancel =
                                             follower_stop_flag(r->follower)};
    int rc;
    for (;;) {
        int64_t ahead;
        rc = quarry_txn_begin(r->quarry, &o, txn, err);
        if (rc)
            return rc;
        ahead = newest - quarry_txn_start(*txn);
        if (ahead < 0 || fault_hit("observer.begin_early")) /* Deliberate. */
            return 0;
        quarry_txn_close(*txn);
        *txn = NULL; /* The caller closes what it is given. */
        if (follower_stopped(r->follower))
            return err_set(err, ERR_CANCELLED, "stopped");
        world_sleep_us(quarry_world(r->quarry),
                       MIN_OF((uint64_t)ahead + 1000, BACK_OFF_US_MAX));
    }
}

/* One try. @changes NULL: of rows that were put aside, of which the note is
 * taken away. */
static int try_batch(struct observer_run *r,
                     struct quarry_changes *changes,
                     int64_t newest,
                     bool *again,
                     struct err *err)
{
    struct quarry_txn *txn = NULL;
    struct buf key = BUF_INIT;
    bool apart;
    int rc = begin_after(r, newest, &txn, err);
    for (size_t i = 0; i < r->row_count && rc == 0 && !changes; i++) {
        buf_clear(&key);
        put_letter_key(r, r->rows[i].key, &key);
        rc = quarry_txn_delete(txn, r->letters, buf_slice(&key), NULL,
                               SLICE_EMPTY, err);
    }
    if (rc == 0)
        rc = do_rows(r, txn, again, err);
    if (rc == 0 && fault_hit("observer.crash"))
        rc = err_set(err, ERR_IO, "injected before the commit");
    apart = changes && fault_hit("observer.save_apart"); /* Deliberate. */
    if (rc == 0 && !apart)
        rc = changes ? follower_save_in_txn(r->follower, txn, changes, err)
                     : follower_state_put_in_txn(r->follower, txn, "retried",
                                                 SLICE_LIT("1"), err);
    if (rc == 0)
        rc = quarry_txn_commit(txn, NULL, err);
    quarry_txn_close(txn);
    if (rc == 0 && apart)
        rc = follower_save(r->follower, changes, err);
    if (rc == 0 && fault_hit("observer.crash"))
        rc = err_set(err, ERR_IO, "injected behind the commit");
    buf_close(&key);
    return rc;
}

static int do_batch(struct observer_run *r,
                    struct quarry_changes *changes,
                    int64_t newest,
                    struct err *err)
{
    struct world *w = quarry_world(r->quarry);
    uint64_t us = BACK_OFF_US;
    int rc;
    for (;;) {
        bool again = false;
        rc = try_batch(r, changes, newest, &again, err);
        if (rc != ERR_CONFLICT && !again)
            return rc;
        if (follower_stopped(r->follower))
            return 0;
        world_sleep_us(w, us / 2 + world_random(w) % us);
        us = MIN_OF(2 * us, BACK_OFF_US_MAX);
    }
}

/* --- rows that were put aside -------------------------------------------- */

/* Is it time to try it again by itself? */
static bool is_due(const struct observer_run *r,
                   const struct quarry_observer_letter *l)
{
    uint64_t after = r->settings.retry_us << MIN_OF(l->times, RETRY_SHIFT_MAX);
    int64_t now = (int64_t)world_now_us(quarry_world(r->quarry));
    /* The first time has the delay itself. */
    return after && now - l->time_us >= (int64_t)(after / 2);
}

static int retry_letters(struct observer_run *r, struct err *err)
{
    struct quarry_observer_letter *list;
    size_t n;
    int rc;
    uint64_t now = world_mono_ns(quarry_world(r->quarry));
    if (now - r->letters_ns < LETTERS_NS)
        return 0;
    r->letters_ns = now;
    rc = quarry_observer_log(r->quarry, r->name, &list, &n, err);
    for (size_t i = 0; i < n && rc == 0 && !follower_stopped(r->follower);
         i++) {
        if (!list[i].waits && !is_due(r, &list[i]))
            continue;
        clear_rows(r);
        row_of(r, list[i].row)->times = list[i].times;
        rc = do_batch(r, NULL, 0, err);
    }
    clear_rows(r);
    quarry_observer_letters_free(list, n);
    return rc;
}

/* --- the run ------------------------------------------------------------- */

static int follow_changes(struct observer_run *r,
                          struct quarry_changes *c,
                          struct err *err)
{
    const struct quarry_change *list;
    size_t count;
    int rc = 0;
    while (rc == 0 && !follower_stopped(r->follower)) {
        rc = retry_letters(r, err);
        if (rc == 0)
            rc = follower_next(r->follower, c, &list, &count, err);
        if (rc == 0 && count) {
            int64_t newest = group_rows(r, list, count);
            rc = r->row_count ? do_batch(r, c, newest, err)
                              : follower_save(r->follower, c, err);
            clear_rows(r);
        }
    }
    return rc == ERR_CANCELLED && follower_stopped(r->follower) ? 0 : rc;
}

static void close_run(struct observer_run *r)
{
    clear_rows(r);
    if (r->engine && r->state)
        r->engine->close(r->state);
    for (size_t i = 0; i < r->output_count; i++)
        quarry_table_close(r->outputs[i]);
    quarry_table_close(r->table);
    quarry_table_close(r->letters);
    observer_settings_close(&r->settings);
    buf_close(&r->group);
    mem_free(r->rows);
}

static int open_engine(struct observer_run *r,
                       const struct observer_kind *kind,
                       struct err *err)
{
    const char *program = r->settings.kind ? r->settings.kind : "function";
    const struct observer_setup setup = {.name = r->name,
                                         .table = quarry_table_name(r->table),
                                         .settings = &r->settings,
                                         .stop =
                                             follower_stop_flag(r->follower),
                                         .world = quarry_world(r->quarry),
                                         .host = kind->host};
    for (size_t i = 0; kind->engines[i] && !r->engine; i++)
        if (strcmp(kind->engines[i]->kind, program) == 0)
            r->engine = kind->engines[i];
    if (!r->engine)
        return err_set(err, ERR_UNSUPPORTED,
                       "this process does not run observers of kind %s",
                       program);
    return r->engine->open(&setup, &r->state, err);
}

/* A batch whose effects are too many for one transaction is read again in
 * smaller ones, down to single changes. */
static int follow_in_batches(struct observer_run *r, struct err *err)
{
    struct quarry_changes_options o = {.batch_bytes = BATCH_BYTES};
    int rc;
    do {
        struct quarry_changes *c = NULL;
        err_init(err);
        rc = follower_changes_open(r->follower, r->table, &o, &c, err);
        if (rc == 0)
            rc = follow_changes(r, c, err);
        quarry_changes_close(c);
        o.batch_bytes /= 8;
    } while (rc == ERR_TOOBIG && o.batch_bytes > 0 &&
             !follower_stopped(r->follower));
    return rc;
}

static int run_observer(struct follower_run *follower, struct err *err)
{
    const struct follower_record *record = follower_record(follower);
    struct observer_run r = {.follower = follower,
                             .quarry = follower_quarry(follower),
                             .name = record->name};
    int rc = observer_settings_get(record->table, record->settings, &r.settings,
                                   err);
    if (rc == 0)
        rc = quarry_table_open(r.quarry, record->table, &r.table, err);
    if (rc == 0)
        rc = quarry_table_open(r.quarry, OBSERVER_LETTERS, &r.letters, err);
    if (rc == 0)
        rc = open_engine(
            &r, (const struct observer_kind *)follower_kind_of(follower), err);
    if (rc == 0)
        rc = follow_in_batches(&r, err);
    close_run(&r);
    return rc;
}

static bool takes_programs(const struct follower_record *r)
{
    return observer_settings_have_program(r->settings);
}

static bool takes_functions(const struct follower_record *r)
{
    return !observer_settings_have_program(r->settings);
}

struct observer_kind
observer_kind_make(const struct observer_engine *const *engines,
                   const void *host)
{
    return (struct observer_kind){.kind = {.name = OBSERVER_KIND,
                                           .run = run_observer,
                                           .takes = takes_programs},
                                  .engines = engines,
                                  .host = host};
}

/* --- a process's own ----------------------------------------------------- */

/* Has it dealt with all up to @since? */
static int look_at_progress(struct quarry *q,
                            const char *name,
                            int64_t since,
                            uint64_t *failures,
                            bool *caught,
                            struct err *err)
{
    struct follower_info *info;
    int rc = follower_get(q, OBSERVER_KIND, name, &info, err);
    if (rc)
        return rc;
    if (takes_programs(&info->record)) {
        rc = err_set(err, ERR_INVALID,
                     "observer %s keeps its program: servers with the role "
                     "follow run it, and \"quarry follow run\"",
                     name);
        follower_infos_free(info, 1);
        return rc;
    }
    *caught = info->caught_us >= since;
    if (*failures == UINT64_MAX)
        *failures = info->failures;
    if (info->failures > *failures + FAILURES_MAX)
        rc = err_set(err, ERR_ABORTED, "observer %s fails: %s", name,
                     info->error);
    follower_infos_free(info, 1);
    return rc;
}

int quarry_observer_run(struct quarry *q,
                        const char *name,
                        quarry_observer_fn fn,
                        void *ctx,
                        const struct quarry_observer_run_options *options,
                        struct err *err)
{
    const struct quarry_observer_run_options none = {.stop = NULL};
    const struct quarry_observer_run_options *o = options ? options : &none;
    static const struct observer_engine *const engines[] = {&observer_function,
                                                            NULL};
    const struct observer_code code = {
        {{OBSERVER_KIND, run_observer, takes_functions}, engines, &code},
        fn,
        ctx};
    const struct follower_kind *const kinds[] = {&code.base.kind};
    struct follower_host *h = NULL;
    struct world *w = quarry_world(q);
    char only[2 * FOLLOWER_NAME_BYTES_MAX];
    int64_t since = (int64_t)world_now_us(w);
    uint64_t failures = UINT64_MAX;
    bool caught = false;
    const struct follower_host_options host = {.name = "program", .only = only};
    int rc;
    snprintf(only, sizeof(only), "%s/%s", OBSERVER_KIND, name);
    rc = look_at_progress(q, name, since, &failures, &caught, err);
    if (rc == 0)
        rc = follower_host_open(q, kinds, 1, &host, &h, err);
    caught = false;
    while (rc == 0 && !caught && !(o->stop && *o->stop)) {
        world_sleep_us(w, LOOK_US);
        if (o->until_caught_up)
            rc = look_at_progress(q, name, since, &failures, &caught, err);
    }
    follower_host_close(h);
    return rc;
}
