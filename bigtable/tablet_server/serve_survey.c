/* Answers about tablets for people: all that are here at a glance, and one with
 * its files. Both read what the engine keeps in memory. */
#include <stdlib.h>

#include "base/core/arena.h"
#include "base/core/panic.h"
#include "base/rpc/roles.h"
#include "base/runtime/world.h"
#include "bigtable/lsm/version.h"
#include "bigtable/read/family_use.h"
#include "bigtable/store/store.h"
#include "bigtable/tablet/table_part.h"
#include "bigtable/tablet/tablet.h"
#include "bigtable/tablet_server/rules.h"
#include "bigtable/tablet_server/serving.h"
#include "bigtable/tablet_server/tablet_server_state.h"

/* --- a tablet at a glance ------------------------------------------------ */

static uint64_t in_thousandths(double rate)
{
    return (uint64_t)(rate * 1000 + 0.5);
}

static void survey_groups(struct tablet_server *s,
                          const struct table_part_view *v,
                          struct surveyed_tablet *out)
{
    const struct tablet *t = v->tablets[0];
    size_t count = MIN_OF(atomic_load(&t->group_count), v->schema->group_count);
    PRE(v->tablet_count == 1);
    for (size_t i = 0; i < count; i++) {
        struct lsm_stats stats;
        lsm_stats(t->groups[i]->lsm, &stats);
        out->file_count += stats.table_count;
        out->debt_bytes += lsm_compaction_debt(t->groups[i]->lsm);
    }
    mutex_lock(&s->store->background.lock);
    for (size_t i = 0; i < count; i++)
        out->is_busy |= t->groups[i]->flushing || t->groups[i]->compacting;
    mutex_unlock(&s->store->background.lock);
}

/* Borrows from @t and @v, the view of its table; NULL: it is being loaded. */
static void survey_tablet(struct tablet_server *s,
                          const struct served *t,
                          const struct table_part_view *v,
                          struct surveyed_tablet *out)
{
    struct load_rates rates;
    *out = (struct surveyed_tablet){.id = t->id,
                                    .phase = atomic_load(&t->phase),
                                    .table = SLICE_EMPTY,
                                    .start = SLICE_EMPTY,
                                    .end = SLICE_EMPTY};
    if (!v)
        return;
    INVARIANT(t->table); /* INV-2 of struct served. */
    INVARIANT(v->tablet_count == 1);
    rates = load_meter_rates(&v->tablets[0]->load, world_mono_ns(s->world));
    out->table = slice_str(t->table->name);
    out->start = buf_slice(&v->tablets[0]->start);
    out->end = buf_slice(&v->tablets[0]->end);
    out->bytes = tablet_table_bytes(v->tablets[0]);
    out->memory_bytes = tablet_memory_bytes(v->tablets[0], v->schema);
    out->milli_reads_per_s = in_thousandths(rates.reads);
    out->milli_writes_per_s = in_thousandths(rates.writes);
    out->milli_bytes_per_s = in_thousandths(rates.bytes);
    out->loaded_at_us = t->loaded_at_us;
    survey_groups(s, v, out);
}

/* May @principal know of the tablet? Parks after a change of rules. */
static bool
may_survey(struct tablet_server *s, struct served *t, struct slice principal)
{
    if (cluster_roles_may_order(s->options.roles, principal))
        return true;
    return t->table && rules_refresh(s, t, NULL) == 0 &&
           rules_may_look(s, t, principal, NULL) == 0;
}

/* Tablets that are being put into an answer, with the views that they borrow
 * from. */
struct surveying {
    struct survey answer;
    struct table_part_view **views;
    size_t max;
    size_t bytes; /* Of keys. */
};

static void add_surveyed(struct tablet_server *s,
                         struct surveying *x,
                         const struct served *t)
{
    size_t i = x->answer.tablet_count;
    struct surveyed_tablet *to = &x->answer.tablets[i];
    PRE(i <= x->max);
    if (i == x->max || x->bytes >= SURVEY_BYTES_MAX) {
        x->answer.more = true;
        return;
    }
    x->views[i] = t->table ? table_part_get_view(t->table) : NULL;
    survey_tablet(s, t, x->views[i], to);
    x->bytes += to->start.len + to->end.len + to->table.len;
    x->answer.tablet_count++;
}

int handle_survey(struct tablet_server *s,
                  struct rpc_call *call,
                  struct err *err)
{
    struct survey_request r;
    struct surveying x = {.bytes = 0};
    struct served **list;
    size_t count;
    int rc = survey_request_get(call->body, &r, err);

    PRE(atomic_load(&s->ready)); /* The gate. */
    if (rc)
        return rc;
    list = served_list(&s->served, &count);
    x.max = r.max && r.max < SURVEY_TABLETS_MAX ? r.max : SURVEY_TABLETS_MAX;
    x.answer.server = s->number;
    x.answer.tablets =
        mem_zalloc(MIN_OF(count, x.max) + 1, sizeof(*x.answer.tablets));
    x.views = mem_zalloc(MIN_OF(count, x.max) + 1, sizeof(*x.views));
    for (size_t i = 0; i < count; i++)
        if (list[i]->id > r.after && may_survey(s, list[i], call->principal))
            add_surveyed(s, &x, list[i]);
    survey_put(&x.answer, call->reply_body);
    for (size_t i = 0; i < x.answer.tablet_count; i++)
        table_part_view_unref(x.views[i]);
    for (size_t i = 0; i < count; i++)
        served_unref(list[i]);
    mem_free(x.views);
    mem_free(x.answer.tablets);
    mem_free(list);
    return 0;
}

/* --- a tablet in detail -------------------------------------------------- */

/* The plain row of an encoded key, in @a. */
static struct slice plain_row(struct slice key, struct arena *a)
{
    struct buf scratch = BUF_INIT;
    struct slice row = SLICE_EMPTY;
    if (cell_key_row_length(key) > 0)
        row = arena_dup(a, cell_key_plain_row(key, &scratch));
    buf_close(&scratch);
    return row;
}

static void examine_files(const struct lsm_snapshot *snapshot,
                          struct examined_group *g,
                          struct arena *a)
{
    const struct version *v = snapshot->version;
    g->file_total = v->table_count;
    g->file_count = MIN_OF(v->table_count, (size_t)EXAMINE_FILES_MAX);
    g->files = arena_zalloc(a, (g->file_count + 1) * sizeof(*g->files));
    for (size_t i = 0; i < g->file_count; i++) {
        const struct lsm_table *t = &v->tables[i]->info;
        g->files[i] =
            (struct examined_file){.number = t->number,
                                   .run = t->run,
                                   .bytes = t->bytes,
                                   .entry_count = t->entry_count,
                                   .sequence_max = t->sequence_max,
                                   .smallest = plain_row(t->first_key, a),
                                   .largest = plain_row(t->last_key, a)};
    }
}

static void examine_group(struct tablet_server *s,
                          const struct tablet_group *from,
                          const char *name,
                          struct examined_group *g,
                          struct arena *a)
{
    PRE(name[0]);
    struct lsm_snapshot *snapshot = lsm_snapshot_new(from->lsm);
    struct lsm_stats stats;
    lsm_stats(from->lsm, &stats);
    *g = (struct examined_group){.name = slice_str(name),
                                 .memtable_count = snapshot->mem_count,
                                 .memtable_bytes = stats.memtable_bytes,
                                 .debt_bytes = lsm_compaction_debt(from->lsm)};
    mutex_lock(&s->store->background.lock);
    g->is_flushing = from->flushing;
    g->is_compacting = from->compacting;
    mutex_unlock(&s->store->background.lock);
    examine_files(snapshot, g, a);
    lsm_snapshot_free(snapshot);
}

static void put_examination(struct tablet_server *s,
                            const struct serving *v,
                            struct buf *out)
{
    const struct schema *schema = v->view->schema;
    const struct tablet *t = v->view->tablets[0];
    struct arena a;
    struct examination e = {.table = v->served->table_id,
                            .epoch = v->served->epoch};
    PRE(v->served->table->id == v->served->table_id);
    arena_init(&a);
    e.group_count = MIN_OF(atomic_load(&t->group_count), schema->group_count);
    e.groups = arena_zalloc(&a, (e.group_count + 1) * sizeof(*e.groups));
    survey_tablet(s, v->served, v->view, &e.tablet);
    for (size_t i = 0; i < e.group_count; i++)
        examine_group(s, t->groups[i], schema->groups[i].name, &e.groups[i],
                      &a);
    examination_put(&e, out);
    arena_close(&a);
}

int handle_examine(struct tablet_server *s,
                   struct rpc_call *call,
                   struct err *err)
{
    struct examine_request r;
    struct serving v;
    int rc = examine_request_get(call->body, &r, err);

    PRE(atomic_load(&s->ready)); /* The gate. */
    if (rc)
        return rc;
    rc = serving_begin(s, &v, r.tablet, 0, err);
    if (rc == 0)
        rc = rules_may_look(s, v.served, call->principal, err);
    if (rc == 0)
        put_examination(s, &v, call->reply_body);
    serving_end(&v);
    return rc;
}
