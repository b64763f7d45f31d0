/* Changes of rows with indexed columns: the steps that index.h lists.
 *
 * A change has two branches, of which a plain one has only the second: which of
 * them is made is decided where the row is, together with the condition on its
 * mark. Entries are written for both.
 */
#include "bigtable/index/index_write.h"

#include <string.h>

#include "base/core/coding.h"
#include "base/core/fault.h"
#include "base/core/ignore_result.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "bigtable/client/client.h"
#include "bigtable/index/index_change.h"
#include "bigtable/row/filter.h"
#include "bigtable/row/mutation.h"

/* Of a directory, its own clock is the table's. Of a cluster, clocks differ by
 * less than this. Of a unique index no values are claimed that a row will most
 * likely not have: there, clocks are taken to agree. */
#define CLOCKS_DIFFER_US INT64_C(3600000000)

/* An entry that a try has written, or that the row may have had. */
struct seen_entry {
    const struct index_def *def;
    struct index_place place;
    bool write;
    bool likely;           /* Unless the clock decides otherwise. */
    bool wanted[BRANCHES]; /* Of the row after that branch, surely. */
};

/* A try of a change. */
struct index_try {
    const struct index_change *change;
    struct index_set *set; /* Reference. */
    struct index_row row;  /* As it was read. */
    int64_t number;        /* That it gets. */
    bool unsure[BRANCHES]; /* The clock decides about the values. */
    struct buf seen;       /* struct seen_entry. */
    struct quarry_mutation *made[BRANCHES]; /* Owned. */
    bool crashed;
};

static bool crash_here(struct index_try *t, struct err *err)
{
    if (!fault_hit(INDEX_CRASH))
        return false;
    t->crashed = true;
    err_set(err, ERR_UNAVAILABLE, "injected");
    return true;
}

/* --- entries ------------------------------------------------------------- */

static struct seen_entry *seen_at(const struct index_try *t, size_t i)
{
    PRE(i <= t->seen.len / sizeof(struct seen_entry));
    return (struct seen_entry *)(void *)t->seen.data + i;
}

static size_t seen_count(const struct index_try *t)
{
    INVARIANT(t->seen.len % sizeof(struct seen_entry) == 0);
    return t->seen.len / sizeof(struct seen_entry);
}

/* The entry of @values, added if need be; @place moves in. */
static struct seen_entry *note_entry(struct index_try *t,
                                     const struct index_def *d,
                                     struct index_place *p)
{
    struct seen_entry e = {.def = d, .place = *p};
    PRE(p->row.len > 0);
    for (size_t i = 0; i < seen_count(t); i++)
        if (seen_at(t, i)->def == d &&
            index_place_eq(&seen_at(t, i)->place, p)) {
            index_place_close(p);
            return seen_at(t, i);
        }
    buf_append(&t->seen, &e, sizeof(e));
    return seen_at(t, seen_count(t) - 1);
}

static bool place_of(const struct index_try *t,
                     const struct index_def *d,
                     const struct index_value *values,
                     struct index_place *out)
{
    *out = (struct index_place){BUF_INIT, BUF_INIT};
    return index_place_of(d, values, t->change->row, out);
}

/* Entries of @d that are needed if @m is applied as branch @b. */
static void plan_branch(struct index_try *t,
                        const struct index_def *d,
                        const struct quarry_mutation *m,
                        int b,
                        int64_t sure_us)
{
    struct index_value values[INDEX_COLUMNS_MAX];
    struct index_place p;
    struct buf guesses = BUF_INIT;
    size_t count;
    PRE(b == BRANCH_FALSE || b == BRANCH_TRUE);
    PRE(m);
    index_guesses(t->row.owner, d, m, sure_us, &guesses);
    count = guesses.len / sizeof(int64_t);
    /* Where clocks are taken to agree, the row is looked at once more. */
    t->unsure[b] |=
        count > 1 ||
        (d->unique && !quarry_is_directory(t->change->table->quarry));
    for (size_t i = 0; i < count; i++) {
        int64_t now_us;
        memcpy(&now_us, guesses.data + i * sizeof(now_us), sizeof(now_us));
        index_values_after(t->row.owner, d, m, now_us, values);
        if (place_of(t, d, values, &p)) {
            struct seen_entry *e = note_entry(t, d, &p);
            e->write = true;
            e->likely |= i == 0;
            e->wanted[b] |= count == 1;
        }
    }
    buf_close(&guesses);
    INVARIANT(count > 0);
}

static const struct quarry_mutation *branch_of(const struct index_change *c,
                                               int b)
{
    PRE(b >= BRANCH_FALSE && b < BRANCHES);
    return c->branches[b];
}

static void
plan_index(struct index_try *t, const struct index_def *d, int64_t sure_us)
{
    const struct index_change *c = t->change;
    struct index_value values[INDEX_COLUMNS_MAX];
    struct seen_entry *old = NULL;
    struct index_place p;
    size_t before = seen_count(t);
    PRE(d->column_count <= INDEX_COLUMNS_MAX);
    index_values(t->row.owner, d, values);
    if (place_of(t, d, values, &p))
        old = note_entry(t, d, &p);
    before = old ? (size_t)(old - seen_at(t, 0)) : before;
    for (int b = 0; b < BRANCHES; b++) {
        const struct quarry_mutation *m = branch_of(c, b);
        if (m && index_def_is_touched(d, m))
            plan_branch(t, d, m, b, sure_us);
        else if (old)
            seen_at(t, before)->wanted[b] = true;
    }
    /* INV-1: the present one is there. While a unique one is built, a row may
     * have values that are another's, and is given others. */
    if (old && c->all)
        seen_at(t, before)->write = true;
    else if (old && (d->state == INDEX_READY ||
                     (d->unique && !seen_at(t, before)->likely)))
        seen_at(t, before)->write = false;
}

static void plan_entries(struct index_try *t)
{
    struct quarry *q = t->change->table->quarry;
    int64_t now_us = (int64_t)world_now_us(q->world);
    int64_t agreed_us =
        quarry_is_directory(q) ? now_us : now_us - CLOCKS_DIFFER_US;
    t->number = MAX_OF(t->row.number + 1, now_us);
    t->unsure[BRANCH_FALSE] = t->unsure[BRANCH_TRUE] = false;
    for (size_t i = 0; i < seen_count(t); i++) {
        struct seen_entry *e = seen_at(t, i);
        e->write = e->likely = false;
        e->wanted[BRANCH_FALSE] = e->wanted[BRANCH_TRUE] = false;
    }
    for (size_t i = 0; i < t->set->count; i++) {
        const struct index_def *d = &t->set->defs[i];
        if (d->state == INDEX_BUILDING &&
            fault_hit("index.skip_building")) /* A deliberate bug. */
            continue;
        plan_index(t, d, d->unique ? now_us : agreed_us);
    }
    INVARIANT(t->number > t->row.number); /* INV-2 */
}

/* The entries of index @d that need no claim, together. */
static int write_plain(struct index_try *t,
                       const struct index_def *d,
                       struct quarry_table *entries,
                       struct err *err)
{
    const struct quarry_write_options w =
        index_durability(t->change->table->quarry);
    size_t n = 0;
    struct quarry_mutation **list =
        mem_alloc((seen_count(t) + 1) * sizeof(*list));
    int rc = 0;
    PRE(entries);
    for (size_t i = 0; i < seen_count(t); i++) {
        const struct seen_entry *e = seen_at(t, i);
        if (e->def != d || !e->write || index_place_is_claim(&e->place))
            continue;
        list[n] = quarry_mutation_new(buf_slice(&e->place.row));
        quarry_mutation_set(list[n++], INDEX_ENTRY_FAMILY, SLICE_EMPTY,
                            t->number, SLICE_EMPTY);
    }
    if (n)
        rc = quarry_apply_batch(entries, list, n, &w, NULL, err);
    while (n > 0)
        quarry_mutation_free(list[--n]);
    mem_free(list);
    return rc;
}

static int write_claims(struct index_try *t,
                        const struct index_def *d,
                        struct quarry_table *entries,
                        struct err *err)
{
    int rc = 0;
    PRE(entries);
    for (size_t i = 0; i < seen_count(t) && rc == 0; i++) {
        const struct seen_entry *e = seen_at(t, i);
        if (e->def == d && e->write && index_place_is_claim(&e->place))
            rc = index_claim(t->change->table, t->set, d, entries, &e->place,
                             t->change->row, t->number, err);
    }
    return rc;
}

static bool writes_any(const struct index_try *t, const struct index_def *d)
{
    for (size_t i = 0; i < seen_count(t); i++)
        if (seen_at(t, i)->def == d && seen_at(t, i)->write)
            return true;
    return false;
}

static int write_entries(struct index_try *t, struct err *err)
{
    int rc = 0;
    PRE(t->number > t->row.number); /* INV-2 */
    for (size_t i = 0; i < t->set->count && rc == 0; i++) {
        const struct index_def *d = &t->set->defs[i];
        struct quarry_table *entries;
        if (!writes_any(t, d))
            continue;
        if (crash_here(t, err))
            return ERR_UNAVAILABLE;
        rc = index_table(t->change->table->quarry, d, &entries, err);
        if (rc == 0)
            rc = write_plain(t, d, entries, err);
        if (rc == 0)
            rc = write_claims(t, d, entries, err);
        if (rc && rc != ERR_EXISTS)
            err_wrap(err, "index %s", d->name);
    }
    return rc;
}

/* Remove the cells of an entry up to @upto. Losing that costs a look. */
static void
remove_entry(struct quarry *q, const struct seen_entry *e, int64_t upto)
{
    const struct quarry_write_options logged = {QUARRY_LOGGED};
    struct quarry_mutation *m = quarry_mutation_new(buf_slice(&e->place.row));
    struct quarry_table *entries;
    PRE(upto >= 0);
    quarry_mutation_delete_cells(m, INDEX_ENTRY_FAMILY,
                                 buf_slice(&e->place.qualifier), 0, upto + 1);
    if (index_table(q, e->def, &entries, NULL) == 0) {
        /* Readers skip it. */
        IGNORE_RESULT(quarry_apply(entries, m, &logged, NULL));
    }
    quarry_mutation_free(m);
}

/* Step 4, after branch @b was made. Where the clock decided, the row is read
 * again. */
static void remove_old(struct index_try *t, int b)
{
    struct quarry *q = t->change->table->quarry;
    struct index_row now = {.number = t->number};
    PRE(b == BRANCH_FALSE || b == BRANCH_TRUE);
    PRE(t->set);
    if (t->unsure[b] && index_row_read(t->change->table, t->set, NULL, 0,
                                       t->change->row, false, &now, NULL))
        return;
    for (size_t i = 0; i < seen_count(t); i++) {
        struct seen_entry *e = seen_at(t, i);
        bool wanted = e->wanted[b];
        struct index_value values[INDEX_COLUMNS_MAX];
        struct index_place p;
        if (t->unsure[b]) {
            index_values(now.owner, e->def, values);
            wanted = place_of(t, e->def, values, &p) &&
                     index_place_eq(&p, &e->place);
            index_place_close(&p);
        }
        if (!wanted) {
            if (crash_here(t, NULL))
                break;
            remove_entry(q, e, now.number);
        }
    }
    index_row_close(&now);
}

/* --- the row ------------------------------------------------------------- */

/* @m (NULL: nothing) with the mark and what keeps hidden cells hidden. */
static void make_branch(struct index_try *t, int b)
{
    const struct quarry_mutation *m = branch_of(t->change, b);
    struct quarry_mutation *made = quarry_mutation_new(t->change->row);
    PRE(t->number > t->row.number);
    if (m) {
        index_put_covers(t->row.owner, t->set, m, made);
        buf_append_slice(&made->ops, buf_slice(&m->ops));
        made->count += m->count;
    }
    index_put_mark(made, t->set, t->number);
    quarry_mutation_free(t->made[b]);
    t->made[b] = made;
    POST(t->made[b]);
}

struct expectation {
    struct index_expected *list;
    size_t count;
    bool any_present;
};

static void expect_row(const struct index_try *t, struct expectation *out)
{
    const struct index_change *c = t->change;
    PRE(c->expected || c->expected_count == 0);
    out->count = c->expected_count + 1;
    out->list = mem_alloc(out->count * sizeof(*out->list));
    out->list[0] = index_expect_mark(&t->row);
    out->any_present = out->list[0].present;
    for (size_t i = 0; i < c->expected_count; i++) {
        out->list[i + 1] = c->expected[i];
        out->any_present |= c->expected[i].present;
    }
    POST(out->count == c->expected_count + 1);
}

/* Apply branch @b if the row is as expected, and the caller's filter says so.
 * A row that is not there gives nothing for any filter: then all was expected
 * to be absent, and the condition is turned round. */
static int try_branch(struct index_try *t,
                      const struct expectation *e,
                      int b,
                      bool *made,
                      struct err *err)
{
    const struct index_change *c = t->change;
    const struct quarry_write_options w = {c->durability};
    struct quarry_filter *inner =
        c->checks ? index_filter_of_user(c->filter) : NULL;
    bool turned = b == BRANCH_FALSE && !e->any_present;
    struct quarry_filter *f;
    bool matched = false;
    int rc;
    PRE(t->made[b]);
    PRE(e->count > 0);
    if (turned) {
        if (!inner)
            inner = quarry_filter_block_all();
        f = index_filter_unless(e->list, e->count, inner);
    } else {
        if (!inner)
            inner = quarry_filter_pass_all();
        else if (b == BRANCH_FALSE)
            inner = index_filter_not(inner);
        f = index_filter_if(e->list, e->count, inner);
    }
    rc = c->table->ops->check_and_mutate(
        c->table, c->row, f, turned ? NULL : t->made[b],
        turned ? t->made[b] : NULL, &w, &matched, err);
    *made = rc == 0 && matched != turned;
    quarry_filter_free(f);
    return rc;
}

/* Step 3. *@made: the branch that was, or BRANCHES. */
static int change_row(struct index_try *t, int *made, struct err *err)
{
    struct expectation e;
    bool done = false;
    int rc = 0;
    PRE(t->set);
    *made = BRANCHES;
    expect_row(t, &e);
    for (int b = t->change->checks ? BRANCH_TRUE : BRANCH_FALSE;
         b >= BRANCH_FALSE && rc == 0 && !done; b--) {
        make_branch(t, b);
        rc = try_branch(t, &e, b, &done, err);
        if (done)
            *made = b;
    }
    mem_free(e.list);
    POST(rc == 0 || *made == BRANCHES);
    return rc;
}

/* --- tries --------------------------------------------------------------- */

static void try_forget_entries(struct index_try *t)
{
    for (size_t i = 0; i < seen_count(t); i++)
        index_place_close(&seen_at(t, i)->place);
    buf_clear(&t->seen);
}

static void try_close(struct index_try *t)
{
    try_forget_entries(t);
    buf_close(&t->seen);
    index_row_close(&t->row);
    for (int b = 0; b < BRANCHES; b++)
        quarry_mutation_free(t->made[b]);
    index_set_unref(t->set);
    POST(t->seen.len == 0);
}

/* The indexes as they are now: entries of others are forgotten. */
static int try_take_set(struct index_try *t, struct err *err)
{
    struct index_set *set;
    int rc = t->change->table->ops->table_indexes(t->change->table, &set, err);
    if (rc)
        return rc;
    if (set == t->set) {
        index_set_unref(set);
        return 0;
    }
    try_forget_entries(t);
    index_set_unref(t->set);
    t->set = set;
    POST(seen_count(t) == 0);
    return 0;
}

static bool needs_versions(const struct index_try *t)
{
    for (int b = 0; b < BRANCHES; b++)
        if (branch_of(t->change, b) &&
            index_needs_versions(t->set, branch_of(t->change, b)))
            return true;
    return false;
}

static int try_once(struct index_try *t, int *made, struct err *err)
{
    const struct index_change *c = t->change;
    int rc = try_take_set(t, err);
    PRE(!t->crashed);
    *made = BRANCHES;
    if (rc == 0 && !t->set)
        rc = err_set(err, ERR_CONFLICT, "the table has no indexes any more");
    if (rc)
        return rc;
    index_row_close(&t->row);
    rc = index_row_read(c->table, t->set, NULL, 0, c->row, needs_versions(t),
                        &t->row, err);
    if (rc)
        return rc;
    plan_entries(t);
    rc = write_entries(t, err);
    if (rc == 0 && crash_here(t, err))
        rc = ERR_UNAVAILABLE;
    if (rc == 0)
        rc = change_row(t, made, err);
    if (rc == 0 && *made != BRANCHES && crash_here(t, err))
        rc = ERR_UNAVAILABLE;
    return rc;
}

int index_change_make(struct index_change *c, int *made, struct err *err)
{
    struct world *w = c->table->quarry->world;
    uint64_t end_ns = world_mono_ns(w) + INDEX_TRY_US_MAX * 1000;
    struct index_try t = {.change = c};
    unsigned tries = 0;
    int rc;
    if (c->durability == QUARRY_DEFERRED)
        c->durability = QUARRY_LOGGED; /* Behind its entries in the log. */
    for (;;) {
        bool again;
        rc = try_once(&t, made, err);
        again = rc == ERR_CONFLICT || (rc == 0 && *made == BRANCHES);
        if (!again || t.crashed)
            break;
        if (c->expected_count && rc == 0) {
            rc = ERR_ABORTED;
            break;
        }
        if (world_mono_ns(w) >= end_ns) {
            rc = err_set(err, ERR_ABORTED,
                         "the row is changed by others all the time");
            break;
        }
        world_sleep_us(w, world_random(w) %
                              (INDEX_BACK_OFF_US << MIN_OF(tries, 8U)));
        tries++;
    }
    if (rc == 0)
        remove_old(&t, *made);
    try_close(&t);
    POST(rc || *made < BRANCHES);
    return rc;
}

/* --- what quarry.c calls ------------------------------------------------- */

enum quarry_durability
index_durability_asked(const struct quarry_write_options *opts)
{
    return opts ? opts->durability : QUARRY_SYNCED;
}

/* A commit of another site is reduced by what the row's history says, where
 * the row is: its outcome is not known before. */
static int refuse_mark(const struct quarry_mutation *m, struct err *err)
{
    struct cursor c = cursor_make(buf_slice(&m->ops));
    struct mutation_op op;
    while (mutation_next(&c, &op))
        if (op.kind == MUTATION_ORIGIN)
            return err_set(err, ERR_UNSUPPORTED,
                           "the table has indexes: commits of other sites to "
                           "indexed columns would not keep them");
        else if (op.kind != MUTATION_DELETE_ROW &&
                 slice_eq_str(op.family, INDEX_FAMILY))
            return err_set(err, ERR_INVALID,
                           "family %s is not written by users", INDEX_FAMILY);
    return 0;
}

int index_apply(struct quarry_table *t,
                const struct quarry_mutation *m,
                const struct quarry_write_options *opts,
                struct err *err)
{
    struct index_change c = {.table = t,
                             .row = buf_slice(&m->row),
                             .branches = {m, NULL},
                             .durability = index_durability_asked(opts)};
    int made;
    int rc = mutation_check(m, err);
    if (rc == 0)
        rc = refuse_mark(m, err);
    return rc ? rc : index_change_make(&c, &made, err);
}

int index_touch(struct quarry_table *t, struct slice row, struct err *err)
{
    struct index_change c = {
        .table = t, .row = row, .all = true, .durability = QUARRY_LOGGED};
    int made;
    return index_change_make(&c, &made, err);
}

int index_apply_batch(struct quarry_table *t,
                      struct quarry_mutation *const *mutations,
                      size_t begin,
                      size_t count,
                      const struct quarry_write_options *opts,
                      size_t *failed_index,
                      struct err *err)
{
    int rc = 0;
    PRE(begin < count);
    while (rc == 0 && begin < count) {
        size_t failed = count - begin;
        rc = index_apply(t, mutations[begin], opts, err);
        if (rc) {
            if (failed_index)
                *failed_index = begin;
            return rc;
        }
        begin++;
        if (begin < count)
            rc = t->ops->apply_batch(t, mutations + begin, count - begin, opts,
                                     &failed, err);
        if (rc == 0)
            return 0;
        begin += failed;
        if (failed_index)
            *failed_index = begin;
        if (rc == ERR_CONFLICT)
            rc = 0;
    }
    return rc;
}

int index_apply_each(struct quarry_table *t,
                     struct quarry_mutation *const *mutations,
                     size_t count,
                     const struct quarry_write_options *opts,
                     int *codes,
                     struct err *err)
{
    int first = 0;
    struct err kept = ERR_INIT;
    for (size_t i = 0; i < count; i++) {
        struct err why = ERR_INIT;
        if (codes[i] == ERR_CONFLICT)
            codes[i] = index_apply(t, mutations[i], opts, &why);
        if (codes[i] && first == 0) {
            first = codes[i];
            kept = why;
            if (why.code == 0) /* Of the first call, whose text is gone. */
                err_set(&kept, first, "%s", err_name(first));
        }
    }
    return first ? err_copy(err, &kept) : 0;
}

int index_check_and_mutate(struct quarry_table *t,
                           struct slice row,
                           const struct quarry_filter *predicate,
                           const struct quarry_mutation *if_true,
                           const struct quarry_mutation *if_false,
                           const struct quarry_write_options *opts,
                           bool *matched,
                           struct err *err)
{
    struct index_change c = {.table = t,
                             .row = row,
                             .checks = true,
                             .filter = predicate,
                             .branches = {if_false, if_true},
                             .durability = index_durability_asked(opts)};
    int made;
    int rc = if_true ? refuse_mark(if_true, err) : 0;
    if (rc == 0 && if_false)
        rc = refuse_mark(if_false, err);
    if (rc == 0)
        rc = index_change_make(&c, &made, err);
    if (rc == 0 && matched)
        *matched = made == BRANCH_TRUE;
    return rc;
}

/* --- whole tables -------------------------------------------------------- */

int index_drop_rows(struct quarry *q,
                    const char *table,
                    struct slice start,
                    struct slice end,
                    struct err *err)
{
    const struct quarry_range range = {start, end};
    const struct quarry_read_options read = {
        .ranges = &range, .range_count = 1, .keys_only = true, .versions = 1};
    const struct quarry_row *row = NULL;
    struct quarry_scanner *rows = NULL;
    struct quarry_table *t;
    int rc = quarry_table_open(q, table, &t, err);
    if (rc)
        return rc;
    rc = quarry_scan(t, &read, &rows, err);
    while (rc == 0 && (rc = quarry_scanner_next(rows, &row, err)) == 0 && row) {
        struct quarry_mutation *m = quarry_mutation_new(row->key);
        quarry_mutation_delete_row(m);
        rc = quarry_apply(t, m, NULL, err);
        quarry_mutation_free(m);
    }
    quarry_scanner_close(rows);
    quarry_table_close(t);
    return rc;
}

int index_refuse(struct quarry *q,
                 const char *table,
                 const char *what,
                 struct err *err)
{
    struct quarry_table *t;
    struct index_set *set = NULL;
    int rc = quarry_table_open(q, table, &t, err);
    PRE(what);
    if (rc)
        return rc;
    rc = q->ops->table_indexes(t, &set, err);
    if (rc == 0 && set && set->count) {
        rc = err_set(err, ERR_UNSUPPORTED,
                     "table %s has an index, %s: %s would not keep it", table,
                     set->defs[0].name, what);
        err_hint(err, "drop the index first and create it again after, or "
                      "write the rows instead");
    }
    index_set_unref(set);
    quarry_table_close(t);
    return rc;
}
