/* Making a table of a snapshot's tablets: a record that counts as being
 * dropped, the rows of the tablets with the snapshot's files, and the record
 * again, which makes the table known. A master that dies in between leaves a
 * table that the next one removes. */
#include "bigtable/master/restore.h"

#include "base/core/panic.h"
#include "bigtable/master/master_term.h"
#include "bigtable/row/index_set.h"
#include "bigtable/row/schema.h"
#include "bigtable/wire/snapshot_record.h"

#define RETRY_US UINT64_C(100000)
/* How long to wait for its tablets, so that it can be used at once. */
#define SERVED_WAIT_US UINT64_C(10000000)

static int put_tablets(struct master_term *r,
                       uint64_t table,
                       const struct snapshot_record *s,
                       struct err *err)
{
    struct tablet_state *state = mem_zalloc(1, sizeof(*state));
    int rc = 0;
    PRE(r->ready);
    PRE(r->store);
    for (size_t i = 0; i < s->tablet_count && rc == 0; i++) {
        const struct snapshot_tablet *t = &s->tablets[i];
        bool done;
        state->groups = t->groups;
        state->sequence = t->sequence;
        state->bytes = t->bytes;
        state->stamped_us = t->stamped_us;
        rc = master_term_put_tablet(r, table, t->start, t->end, state,
                                    "restored", &done, err);
        /* Nobody else writes rows of a table that is not known. */
    }
    mem_free(state);
    return rc;
}

static bool all_are_served(const struct master_term *r, uint64_t table)
{
    for (size_t i = 0; i < r->view.tablet_count; i++)
        if (r->view.tablets[i]->table == table &&
            r->view.tablets[i]->stage != STAGE_SERVED)
            return false;
    return true;
}

static int wait_served(struct master_term *r, uint64_t table, struct err *err)
{
    uint64_t until = master_term_now_ns(r) + SERVED_WAIT_US * 1000;
    PRE(r->ready);
    while (!all_are_served(r, table) && master_term_now_ns(r) < until)
        if (!master_term_wait(r, RETRY_US))
            return master_term_over(err);
    return 0;
}

int restore_table(struct master_term *r,
                  struct slice name,
                  struct slice creator,
                  const struct snapshot_record *s,
                  struct err *err)
{
    struct schema *schema = NULL;
    uint64_t id = 0;
    int rc = schema_decode(s->schema, &schema, err);
    if (rc == 0) {
        struct buf own = BUF_INIT;
        schema_forget_indexes(schema);
        schema_encode(schema, &own);
        rc = tables_begin(r, name, buf_slice(&own), creator,
                          s->has_access ? &s->access : NULL, &id, err);
        buf_close(&own);
    }
    schema_free(schema);
    if (rc)
        return rc;
    PRE(s->tablet_count > 0);
    PRE(s->tablets[0].start.len == 0);
    PRE(s->tablets[s->tablet_count - 1].end.len == 0);
    rc = put_tablets(r, id, s, err);
    if (rc == 0)
        rc = tables_make_known(r, name, id, err);
    if (rc) {
        tables_clear_away(r, name, id);
        return rc;
    }
    master_note(r, EVENT_RESTORE, "name=%.*s table=%llu from=%.*s",
                SLICE_ARG(name), (unsigned long long)id, SLICE_ARG(s->name));
    return wait_served(r, id, err);
}
