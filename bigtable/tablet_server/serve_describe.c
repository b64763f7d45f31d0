/* Descriptions of a tablet: its size and rates, by locality group and family,
 * and the rows at which it can be cut into pieces of like size. Computed on a
 * reader thread, because memtables are walked entry by entry. */
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "bigtable/lsm/lsm.h"
#include "bigtable/read/family_use.h"
#include "bigtable/store/maintain.h"
#include "bigtable/store/store.h"
#include "bigtable/tablet/table_part.h"
#include "bigtable/tablet/tablet.h"
#include "bigtable/tablet_server/reader_pool.h"
#include "bigtable/tablet_server/rules.h"
#include "bigtable/tablet_server/serving.h"
#include "bigtable/tablet_server/tablet_server_state.h"

struct cuts_job {
    struct table_part *table;
    uint32_t parts;
    struct slice *keys; /* Owned. */
    size_t count;
    int rc;
    struct err err;
};

static void run_cuts(void *arg)
{
    struct cuts_job *j = arg;

    PRE(j->table);
    j->rc =
        table_split_points(j->table, j->parts, &j->keys, &j->count, &j->err);
}

int handle_cuts(struct tablet_server *s, struct rpc_call *call, struct err *err)
{
    struct cuts_request r;
    struct serving v;
    int rc = cuts_request_get(call->body, &r, err);

    PRE(atomic_load(&s->ready)); /* The gate. */
    if (rc)
        return rc;
    rc = serving_begin(s, &v, r.tablet, 0, err);
    if (rc == 0)
        rc = rules_may_look(s, v.served, call->principal, err);
    if (rc == 0) {
        struct cuts_job j = {.table = v.served->table,
                             .parts = MIN_OF(r.parts, CUTS_MAX)};
        reader_pool_run(s->readers, run_cuts, &j);
        rc = j.rc ? err_copy(err, &j.err) : check_answer(s, err);
        if (rc == 0)
            keys_put(j.keys, MIN_OF(j.count, CUTS_MAX), call->reply_attachment);
        mem_free(j.keys);
    }
    serving_end(&v);
    return rc;
}

/* On a thread: memtables are walked entry by entry. */
struct describe_job {
    const struct serving *serving;
    struct family_use *uses; /* Owned. */
};

static void run_describe(void *arg)
{
    struct describe_job *j = arg;
    const struct table_part_view *v = j->serving->view;
    PRE(!j->uses);
    PRE(v->tablet_count > 0);
    j->uses = mem_zalloc(v->schema->family_count + 1, sizeof(*j->uses));
    family_use_add(v->tablets[0], v->schema, true, j->uses);
}

static void describe_families(const struct schema *schema,
                              const struct family_use *uses,
                              struct describe_reply *r)
{
    PRE(!r->families);
    PRE(r->family_count == 0);
    r->families = mem_zalloc(schema->family_count + 1, sizeof(*r->families));
    r->family_count = schema->family_count;
    for (size_t i = 0; i < schema->family_count; i++)
        r->families[i] =
            (struct family_load){.name = slice_str(schema->families[i].name),
                                 .stored_bytes = uses[i].stored_bytes,
                                 .memory_bytes = uses[i].memory_bytes};
}

static void describe_groups(const struct tablet *t,
                            const struct schema *schema,
                            struct describe_reply *r)
{
    size_t count = MIN_OF(atomic_load(&t->group_count), schema->group_count);
    r->groups = mem_zalloc(count + 1, sizeof(*r->groups));
    for (size_t i = 0; i < count; i++) {
        struct lsm_stats stats;
        lsm_stats(t->groups[i]->lsm, &stats);
        r->groups[r->group_count++] =
            (struct group_load){.name = slice_str(schema->groups[i].name),
                                .file_count = stats.table_count,
                                .file_bytes = stats.table_bytes,
                                .memory_bytes = stats.memtable_bytes,
                                .entry_count = stats.entry_count};
    }
    POST(r->group_count == count);
}

static uint64_t serve_describe_milli(double rate)
{
    return (uint64_t)(rate * 1000 + 0.5);
}

static void serve_describe_families(const struct serving *v,
                                    const struct family_use *uses,
                                    struct buf *out)
{
    const struct tablet *t = v->view->tablets[0];
    struct load_rates rates =
        load_meter_rates(&t->load, world_mono_ns(t->env->world));
    struct describe_reply r = {
        .bytes = tablet_table_bytes(t),
        .milli_reads_per_s = serve_describe_milli(rates.reads),
        .milli_writes_per_s = serve_describe_milli(rates.writes),
        .milli_bytes_per_s = serve_describe_milli(rates.bytes)};
    PRE(uses); /* run_describe() */
    describe_groups(t, v->view->schema, &r);
    describe_families(v->view->schema, uses, &r);
    describe_reply_put(&r, out);
    mem_free(r.groups);
    mem_free(r.families);
}

int handle_describe(struct tablet_server *s,
                    struct rpc_call *call,
                    struct err *err)
{
    struct cuts_request r;
    struct serving v;
    struct describe_job j = {.serving = &v};
    int rc = cuts_request_get(call->body, &r, err);

    PRE(atomic_load(&s->ready)); /* The gate. */
    if (rc)
        return rc;
    rc = serving_begin(s, &v, r.tablet, 0, err);
    if (rc == 0)
        rc = rules_may_look(s, v.served, call->principal, err);
    if (rc == 0)
        reader_pool_run(s->readers, run_describe, &j);
    if (rc == 0)
        rc = check_answer(s, err);
    if (rc == 0)
        serve_describe_families(&v, j.uses, call->reply_body);
    mem_free(j.uses);
    serving_end(&v);
    return rc;
}
