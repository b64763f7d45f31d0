/* Entries of unique indexes, and raising a row's mark.
 *
 * An entry is written on condition that its row of the index has no other's
 * (INV-3 of index.h). Where it has one, that one's row tells: it has the values
 * (they are taken), or had them (the entry goes), or will perhaps have them:
 * then it is waited for a while, and after that its mark is raised, so that its
 * writer must begin again.
 */
#include "base/core/coding.h"
#include "base/core/fault.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "bigtable/client/client.h"
#include "bigtable/index/index.h"

/* How long a writer that claimed the values may take before others do. */
#define CLAIM_WAIT_US ((uint64_t)1000000)
#define CLAIM_POLL_US ((uint64_t)2000)

void index_put_mark(struct quarry_mutation *m,
                    const struct index_set *set,
                    int64_t number)
{
    char value[INDEX_MARK_BYTES];
    PRE(number >= 0);
    put_be64(value, (uint64_t)number);
    put_be32(value + 8, set->version);
    quarry_mutation_set(m, INDEX_FAMILY, SLICE_LIT(INDEX_MARK), QUARRY_NOW,
                        slice_make(value, sizeof(value)));
}

struct index_expected index_expect_mark(const struct index_row *r)
{
    PRE(r->mark.len == 0 || r->mark.len == INDEX_MARK_BYTES);
    return (struct index_expected){.family = INDEX_FAMILY,
                                   .qualifier = SLICE_LIT(INDEX_MARK),
                                   .present = r->mark.len > 0,
                                   .value = r->mark};
}

int index_fence(struct quarry_table *base,
                const struct index_set *set,
                struct slice row,
                const struct index_row *r,
                int64_t number,
                bool *done,
                struct err *err)
{
    const struct quarry_write_options w = index_durability(base->quarry);
    struct index_expected e = index_expect_mark(r);
    struct quarry_mutation *m = quarry_mutation_new(row);
    struct quarry_filter *f;
    bool matched = false;
    int rc;
    PRE(number > r->number); /* INV-2 */
    index_put_mark(m, set, MAX_OF(number, r->number + 1));
    if (e.present)
        f = index_filter_if(&e, 1, quarry_filter_pass_all());
    else
        f = index_filter_unless(&e, 1, quarry_filter_block_all());
    rc = base->ops->check_and_mutate(base, row, f, e.present ? m : NULL,
                                     e.present ? NULL : m, &w, &matched, err);
    *done = rc == 0 && matched == e.present;
    quarry_filter_free(f);
    quarry_mutation_free(m);
    return rc == ERR_CONFLICT ? 0 : rc; /* The set changed: not done. */
}

void index_say_row(struct buf *out, const char *table, struct slice row)
{
    const size_t shown = 60;
    buf_printf(out, "row '%.*s%s' of %s",
               SLICE_ARG(slice_sub(row, 0, MIN_OF(row.len, shown))),
               row.len > shown ? "…" : "", table);
}

static int values_are_taken(const struct quarry_table *base,
                            const struct index_def *d,
                            struct slice other,
                            struct err *err)
{
    struct buf text = BUF_INIT;
    PRE(d->unique); /* INV-3 */
    index_say_row(&text, quarry_table_name(base), other);
    err_set(err, ERR_EXISTS, "unique index %s: %s has the same value%s",
            d->name, buf_cstr(&text), d->column_count > 1 ? "s" : "");
    buf_close(&text);
    return ERR_EXISTS;
}

static int remove_claim(struct quarry_table *entries,
                        const struct index_place *p,
                        struct slice other,
                        int64_t upto,
                        struct err *err)
{
    const struct quarry_write_options logged = {QUARRY_LOGGED};
    struct quarry_mutation *m = quarry_mutation_new(buf_slice(&p->row));
    int rc;
    PRE(index_place_is_claim(p));
    quarry_mutation_delete_cells(m, INDEX_ENTRY_FAMILY, other, 0, upto + 1);
    rc = quarry_apply(entries, m, &logged, err);
    quarry_mutation_free(m);
    return rc;
}

/* Look after the entry @c of another row. *@wait: it may be wanted still. */
static int look_at_other(struct quarry_table *base,
                         const struct index_set *set,
                         const struct index_def *d,
                         struct quarry_table *entries,
                         const struct index_place *p,
                         const struct quarry_cell *c,
                         bool may_fence,
                         bool *wait,
                         struct err *err)
{
    struct index_value values[INDEX_COLUMNS_MAX];
    struct index_place has = {BUF_INIT, BUF_INIT};
    struct slice other = c->qualifier;
    struct index_row r;
    bool done = false;
    int rc = index_row_read(base, set, NULL, 0, other, false, &r, err);
    PRE(d->unique);
    if (rc)
        return rc;
    index_values(r.owner, d, values);
    if (index_place_of(d, values, other, &has) &&
        slice_eq(buf_slice(&has.row), buf_slice(&p->row)))
        rc = values_are_taken(base, d, other, err);
    else if (c->timestamp_us <= r.number)
        rc = remove_claim(entries, p, other, r.number, err);
    else if (!may_fence)
        *wait = true;
    else
        rc = index_fence(base, set, other, &r, c->timestamp_us, &done, err);
    index_place_close(&has);
    index_row_close(&r);
    return rc;
}

static int look_at_others(struct quarry_table *base,
                          const struct index_set *set,
                          const struct index_def *d,
                          struct quarry_table *entries,
                          const struct index_place *p,
                          struct slice row,
                          bool may_fence,
                          bool *wait,
                          struct err *err)
{
    const struct quarry_read_options newest = {.versions = 1};
    struct quarry_row *found;
    int rc = quarry_read_row(entries, buf_slice(&p->row), &newest, &found, err);
    PRE(d->unique);
    PRE(p->row.len > 0);
    *wait = false;
    for (size_t i = 0; rc == 0 && found && i < found->cell_count; i++)
        if (!slice_eq(found->cells[i].qualifier, row))
            rc = look_at_other(base, set, d, entries, p, &found->cells[i],
                               may_fence, wait, err);
    quarry_row_free(found);
    return rc;
}

static int try_claim(struct quarry_table *entries,
                     const struct index_place *p,
                     struct slice row,
                     int64_t number,
                     bool *refused,
                     struct err *err)
{
    const struct quarry_write_options w = index_durability(entries->quarry);
    struct quarry_mutation *m = quarry_mutation_new(buf_slice(&p->row));
    struct quarry_filter *parts[2];
    struct quarry_filter *f;
    int rc;
    PRE(row.len > 0);
    parts[0] = quarry_filter_column_range(INDEX_ENTRY_FAMILY, QUARRY_UNBOUNDED,
                                          SLICE_EMPTY, QUARRY_OPEN, row);
    parts[1] = quarry_filter_column_range(INDEX_ENTRY_FAMILY, QUARRY_OPEN, row,
                                          QUARRY_UNBOUNDED, SLICE_EMPTY);
    f = quarry_filter_interleave(parts, 2);
    if (fault_hit("index.ignore_claims")) { /* A deliberate bug. */
        quarry_filter_free(f);
        f = quarry_filter_block_all();
    }
    quarry_mutation_set(m, INDEX_ENTRY_FAMILY, row, number, SLICE_EMPTY);
    rc = quarry_check_and_mutate(entries, buf_slice(&p->row), f, NULL, m, &w,
                                 refused, err);
    quarry_filter_free(f);
    quarry_mutation_free(m);
    return rc;
}

int index_claim(struct quarry_table *base,
                const struct index_set *set,
                const struct index_def *d,
                struct quarry_table *entries,
                const struct index_place *p,
                struct slice row,
                int64_t number,
                struct err *err)
{
    struct world *w = base->quarry->world;
    uint64_t waited_us = 0;
    bool refused = true;
    int rc = 0;
    PRE(index_place_is_claim(p));
    while (rc == 0) {
        bool wait = false;
        rc = try_claim(entries, p, row, number, &refused, err);
        if (rc || !refused)
            break;
        rc = look_at_others(base, set, d, entries, p, row,
                            waited_us >= CLAIM_WAIT_US, &wait, err);
        if (rc == 0 && wait) {
            uint64_t us = CLAIM_POLL_US + world_random(w) % CLAIM_POLL_US;
            world_sleep_us(w, us);
            waited_us += us;
        }
    }
    return rc;
}
