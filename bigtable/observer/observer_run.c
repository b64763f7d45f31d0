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
#include <stdio.h>
#include <string.h>

#include "base/core/fault.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "bigtable/follow/follow.h"
#include "bigtable/observer/observer_settings.h"
#include "bigtable/row/mutation.h"

/* Changes of one transaction, about. */
#define BATCH_BYTES ((size_t)64 << 10)

#define BACK_OFF_US     ((uint64_t)20000)
#define BACK_OFF_US_MAX ((uint64_t)2000000)
/* How often rows that shall be tried again are looked for. */
#define LETTERS_NS ((uint64_t)1000000000)
#define LOOK_US    ((uint64_t)20000)
/* Runs that fail before a caller that waits is told. */
#define FAILURES_MAX 2

/* The kind of one process's function. */
struct observer_code {
    struct follower_kind kind; /* First: the run knows it alone. */
    quarry_observer_fn fn;
    void *ctx;
};

/* A row of a batch. */
struct observed_row {
    struct slice key;   /* Borrowed from the changes. */
    struct buf changes; /* struct quarry_change each. */
    unsigned failures;
    char error[ERR_TEXT_BYTES]; /* Of the last failure. */
};

struct observer_write {
    struct quarry_table *table; /* Borrowed. */
    struct quarry_mutation *m;  /* Owned. */
};

struct observer_run {
    struct follower_run *follower; /* Borrowed, as the next two. */
    const struct observer_code *code;
    struct quarry *quarry;
    const char *name;
    struct quarry_table *table; /* Owned, as all below. */
    struct quarry_table *letters;
    struct observer_settings settings;
    struct quarry_table *outputs[QUARRY_OBSERVER_COLUMNS_MAX];
    size_t output_count;
    struct observed_row *rows; /* Of the batch. */
    size_t row_count;
    struct buf writes; /* struct observer_write each: of the present row. */
    uint64_t letters_ns;
};

/* --- writes of the function ---------------------------------------------- */

/* A deletion of a family is of all its columns. */
static bool observer_has_family(const struct observer_settings *s,
                                const char *table,
                                struct slice family)
{
    for (size_t i = 0; i < s->write_count; i++)
        if (!s->writes[i].qualifier && strcmp(s->writes[i].table, table) == 0 &&
            slice_eq_str(family, s->writes[i].family))
            return true;
    return false;
}

static int find_output(struct observer_run *r,
                       const char *table,
                       struct quarry_table **out,
                       struct err *err)
{
    int rc;
    for (size_t i = 0; i < r->output_count; i++)
        if (strcmp(quarry_table_name(r->outputs[i]), table) == 0) {
            *out = r->outputs[i];
            return 0;
        }
    PRE(r->output_count < QUARRY_OBSERVER_COLUMNS_MAX);
    rc = quarry_table_open(r->quarry, table, out, err);
    if (rc == 0)
        r->outputs[r->output_count++] = *out;
    return rc;
}

static int deny_write(const struct observer_run *r,
                      const char *table,
                      const struct mutation_op *op,
                      struct err *err)
{
    if (op->kind == MUTATION_DELETE_ROW)
        return err_set(err, ERR_DENIED,
                       "observer %s deletes a row of %s: it may delete "
                       "columns and families that it says it writes",
                       r->name, table);
    err_set(err, ERR_DENIED, "observer %s does not say that it writes %s:%.*s",
            r->name, table, SLICE_ARG(op->family));
    err_hint(err, "make it with %s:%.*s among what it writes", table,
             SLICE_ARG(op->family));
    return ERR_DENIED;
}

/* Everything that @m changes must have been declared; a whole row never is. */
static int check_write(const struct observer_run *r,
                       const char *table,
                       const struct quarry_mutation *m,
                       struct err *err)
{
    const struct observer_settings *s = &r->settings;
    struct cursor c = cursor_make(buf_slice(&m->ops));
    struct mutation_op op;
    int rc = mutation_check(m, err);
    while (rc == 0 && mutation_next(&c, &op)) {
        bool whole = op.kind == MUTATION_DELETE_FAMILY;
        bool declared = op.kind != MUTATION_DELETE_ROW;
        declared =
            declared &&
            (whole ? observer_has_family(s, table, op.family)
                   : observer_has_column(s->writes, s->write_count, table,
                                         op.family, &op.qualifier));
        if (!declared)
            rc = deny_write(r, table, &op, err);
    }
    return rc;
}

static struct quarry_mutation *copy_mutation(const struct quarry_mutation *m)
{
    struct quarry_mutation *copy = quarry_mutation_new(buf_slice(&m->row));
    buf_append_slice(&copy->ops, buf_slice(&m->ops));
    copy->count = m->count;
    return copy;
}

int quarry_observer_write(struct quarry_observation *o,
                          const char *table,
                          const struct quarry_mutation *m,
                          struct err *err)
{
    struct observer_write w = {.table = NULL};
    int rc = check_write(o->run, table, m, err);
    if (rc == 0)
        rc = find_output(o->run, table, &w.table, err);
    if (rc)
        return rc;
    w.m = copy_mutation(m);
    buf_append(&o->run->writes, &w, sizeof(w));
    return 0;
}

static void drop_writes(struct observer_run *r)
{
    struct observer_write *w = (void *)r->writes.data;
    for (size_t i = 0; i < r->writes.len / sizeof(*w); i++)
        quarry_mutation_free(w[i].m);
    buf_clear(&r->writes);
}

static int
apply_writes(struct observer_run *r, struct quarry_txn *txn, struct err *err)
{
    const struct observer_write *w = (const void *)r->writes.data;
    int rc = 0;
    for (size_t i = 0; i < r->writes.len / sizeof(*w) && rc == 0; i++)
        rc = quarry_txn_apply(txn, w[i].table, w[i].m, err);
    return rc;
}

/* --- a batch ------------------------------------------------------------- */

static bool watches(const struct observer_run *r,
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
    r->rows = mem_realloc(r->rows, (r->row_count + 1) * sizeof(*r->rows));
    r->rows[r->row_count] = (struct observed_row){.key = key};
    return &r->rows[r->row_count++];
}

static void clear_rows(struct observer_run *r)
{
    for (size_t i = 0; i < r->row_count; i++)
        buf_close(&r->rows[i].changes);
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
            watched = watches(r, &list[i].entries[k]);
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

static int put_aside(struct observer_run *r,
                     struct quarry_txn *txn,
                     const struct observed_row *row,
                     struct err *err)
{
    struct buf key = BUF_INIT;
    int rc;
    put_letter_key(r, row->key, &key);
    rc = quarry_txn_put(txn, r->letters, buf_slice(&key), OBSERVER_LETTER,
                        SLICE_LIT("error"), slice_str(row->error), err);
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

/* *@again: the function failed, and may be tried again. */
static int do_row(struct observer_run *r,
                  struct quarry_txn *txn,
                  struct observed_row *row,
                  bool *again,
                  struct err *err)
{
    struct quarry_row *cells = NULL;
    struct quarry_observation o = {.row = row->key,
                                   .changes = (const void *)row->changes.data,
                                   .change_count = row->changes.len /
                                                   sizeof(struct quarry_change),
                                   .txn = txn,
                                   .run = r};
    struct err why = ERR_INIT;
    int rc;
    if (row->failures >= r->settings.tries)
        return put_aside(r, txn, row, err);
    rc = quarry_txn_read_row(txn, r->table, row->key, &cells, err);
    if (rc)
        return rc;
    o.cells = cells;
    rc = r->code->fn(&o, r->code->ctx, &why);
    if (rc == 0)
        rc = apply_writes(r, txn, &why);
    drop_writes(r);
    quarry_row_free(cells);
    if (rc == 0)
        return 0;
    *again = !is_stores(rc);
    row->failures += *again;
    snprintf(row->error, sizeof(row->error), "%s", why.text);
    err_copy(err, &why);
    return rc;
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
        if (ahead < 0)
            return 0;
        quarry_txn_close(*txn);
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
    int rc = begin_after(r, newest, &txn, err);
    for (size_t i = 0; i < r->row_count && rc == 0; i++) {
        if (!changes) {
            buf_clear(&key);
            put_letter_key(r, r->rows[i].key, &key);
            rc = quarry_txn_delete(txn, r->letters, buf_slice(&key), NULL,
                                   SLICE_EMPTY, err);
        }
        if (rc == 0)
            rc = do_row(r, txn, &r->rows[i], again, err);
    }
    if (rc == 0 && fault_hit("observer.crash"))
        rc = err_set(err, ERR_IO, "injected before the commit");
    if (rc == 0)
        rc = changes ? follower_save_in_txn(r->follower, txn, changes, err)
                     : follower_state_put_in_txn(r->follower, txn, "retried",
                                                 SLICE_LIT("1"), err);
    if (rc == 0)
        rc = quarry_txn_commit(txn, NULL, err);
    quarry_txn_close(txn);
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
        if (!list[i].waits)
            continue;
        clear_rows(r);
        (void)row_of(r, list[i].row);
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
    drop_writes(r);
    clear_rows(r);
    for (size_t i = 0; i < r->output_count; i++)
        quarry_table_close(r->outputs[i]);
    quarry_table_close(r->table);
    quarry_table_close(r->letters);
    observer_settings_close(&r->settings);
    buf_close(&r->writes);
    mem_free(r->rows);
}

static int run_observer(struct follower_run *follower, struct err *err)
{
    const struct follower_record *record = follower_record(follower);
    const struct quarry_changes_options o = {.batch_bytes = BATCH_BYTES};
    struct quarry_changes *c = NULL;
    struct observer_run r = {
        .follower = follower,
        .code = (const struct observer_code *)follower_kind_of(follower),
        .quarry = follower_quarry(follower),
        .name = record->name};
    int rc = observer_settings_get(record->table, record->settings, &r.settings,
                                   err);
    if (rc == 0)
        rc = quarry_table_open(r.quarry, record->table, &r.table, err);
    if (rc == 0)
        rc = quarry_table_open(r.quarry, OBSERVER_LETTERS, &r.letters, err);
    if (rc == 0)
        rc = follower_changes_open(follower, r.table, &o, &c, err);
    if (rc == 0)
        rc = follow_changes(&r, c, err);
    quarry_changes_close(c);
    close_run(&r);
    return rc;
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
    const struct observer_code code = {{OBSERVER_KIND, run_observer}, fn, ctx};
    const struct follower_kind *const kinds[] = {&code.kind};
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
