/* Capturing a table: the files that hold all writes up to one moment. The
 * tablets are flushed beside writers, then the table is closed, flushed again
 * and its files are listed before it is opened. In a directory each file gets
 * one more user (file_refs.h), so that a compaction does not delete it; in a
 * cluster it is the caller's to keep them.
 */
#include "bigtable/store/capture.h"

#include <stdlib.h>

#include "base/core/panic.h"
#include "base/runtime/sync.h"
#include "bigtable/row/schema.h"
#include "bigtable/store/maintain.h"
#include "bigtable/store/manifest_state.h"
#include "bigtable/store/registry.h"
#include "bigtable/store/store.h"
#include "bigtable/tablet/tablet.h"

/* --- taking it down ------------------------------------------------------ */

struct taking {
    struct store *store;
    uint64_t table;
    struct capture *out;
};

static void take_file(struct taking *k, uint64_t number)
{
    struct capture *c = k->out;
    PRE(number > 0);
    c->files = mem_realloc(c->files, (c->file_count + 1) * sizeof(*c->files));
    c->files[c->file_count++] = number;
    if (!k->store->sharing)
        file_refs_add(&k->store->files, number);
}

static void take_tablet(struct taking *k,
                        const struct manifest_state *state,
                        const struct manifest_tablet *t)
{
    struct capture *c = k->out;
    struct captured_tablet *to;
    PRE(t->table == k->table);
    c->tablets =
        mem_realloc(c->tablets, (c->tablet_count + 1) * sizeof(*c->tablets));
    to = &c->tablets[c->tablet_count++];
    *to = (struct captured_tablet){.sequence = state->sequence,
                                   .stamped_us = t->stamped_us};
    buf_append_slice(&to->start, buf_slice(&t->start));
    buf_append_slice(&to->end, buf_slice(&t->end));
    edit_put_groups(&to->groups, t->groups, t->group_count);
    for (size_t g = 0; g < t->group_count; g++)
        for (size_t f = 0; f < t->groups[g].file_count; f++) {
            to->bytes += t->groups[g].files[f].bytes;
            take_file(k, t->groups[g].files[f].number);
        }
}

static void table_capture_take(void *ctx, const struct manifest_state *state)
{
    struct taking *k = ctx;
    PRE(k->out);
    for (size_t i = 0; i < state->tablet_count; i++)
        if (state->tablets[i].table == k->table)
            take_tablet(k, state, &state->tablets[i]);
}

static int compare_starts(const void *a, const void *b)
{
    return slice_cmp(buf_slice(&((const struct captured_tablet *)a)->start),
                     buf_slice(&((const struct captured_tablet *)b)->start));
}

/* --- the moment ---------------------------------------------------------- */

static int
flush_all(struct store *s, const struct table_part_view *v, struct err *err)
{
    int rc = 0;
    PRE(v->tablet_count > 0);
    for (size_t i = 0; i < v->tablet_count && rc == 0; i++)
        rc = flush_tablet(s, v->tablets[i], err);
    return rc;
}

/* PRE: the table's change_lock is held, and no background job works on it. */
static int table_capture_view(struct store *s,
                              struct table_part *t,
                              const struct table_part_view *v,
                              struct capture *out,
                              struct err *err)
{
    struct taking k = {s, t->id, out};
    int rc = flush_all(s, v, err);
    PRE(mutex_is_held(&t->change_lock));
    PRE(v->tablet_count > 0);
    if (rc)
        return rc;
    write_turn_close_table(&s->env, t);
    rc = flush_all(s, v, err);
    if (rc == 0)
        registry_look(s->registry, v->tablets[0]->id, table_capture_take, &k);
    write_turn_open_table(&s->env, t, false, NULL);
    if (rc == 0 && out->tablet_count != v->tablet_count)
        rc = err_set(err, ERR_CANCELLED, "a tablet is not here any more");
    return rc;
}

int table_capture(struct store *s,
                  struct table_part *t,
                  struct capture *out,
                  struct err *err)
{
    struct table_part_view *v;
    int rc = tablet_env_check_writable(&s->env, err);
    *out = (struct capture){.tablets = NULL};
    if (rc)
        return rc;
    mutex_lock(&t->change_lock);
    v = table_part_get_view(t);
    if (!v) {
        mutex_unlock(&t->change_lock);
        return table_part_gone(t, err);
    }
    for (size_t i = 0; i < v->tablet_count; i++)
        background_pause(s, v->tablets[i]);
    rc = table_capture_view(s, t, v, out, err);
    for (size_t i = 0; i < v->tablet_count; i++)
        background_resume(s, v->tablets[i]);
    schema_encode(v->schema, &out->schema);
    table_part_view_unref(v);
    mutex_unlock(&t->change_lock);
    if (rc)
        capture_release(s, out);
    else if (out->tablet_count > 1)
        qsort(out->tablets, out->tablet_count, sizeof(*out->tablets),
              compare_starts);
    store_release_log(s);
    POST(rc || out->tablet_count > 0);
    return rc;
}

void capture_release(struct store *s, struct capture *c)
{
    for (size_t i = 0; i < c->file_count && !s->sharing; i++)
        store_drop_file(s, c->files[i]);
    capture_keep(c);
    POST(c->file_count == 0);
    POST(!c->files);
}

void capture_keep(struct capture *c)
{
    PRE(c->tablets || c->tablet_count == 0);
    for (size_t i = 0; i < c->tablet_count; i++) {
        buf_close(&c->tablets[i].start);
        buf_close(&c->tablets[i].end);
        buf_close(&c->tablets[i].groups);
    }
    mem_free(c->tablets);
    mem_free(c->files);
    buf_close(&c->schema);
    *c = (struct capture){.tablets = NULL};
}
