/* The description of a cluster's table: its tablets from METADATA, their sizes
 * and split points from the servers that have them, asked some at a time.
 */
#include "base/core/panic.h"
#include "bigtable/client/cluster/cluster_client.h"
#include "bigtable/client/cluster/fan_out.h"
#include "bigtable/client/cluster/locator.h"
#include "bigtable/client/table_info.h"

#define WORKERS 16

/* Every tablet of a table, in order. */
struct tablet_list {
    struct cluster_table *table; /* Reference. */
    struct arena arena;
    struct quarry_tablet_info *tablets;
    size_t count;
    size_t cap;
    size_t next; /* For fan_out(). */
};

static int add_tablet(void *ctx,
                      const struct tablet_bounds *bounds,
                      const struct tablet_location *location,
                      const struct tablet_state *state)
{
    struct tablet_list *l = ctx;
    (void)location;
    if (l->count == l->cap) {
        l->cap = l->cap ? l->cap * 2 : 16;
        l->tablets = mem_realloc(l->tablets, l->cap * sizeof(*l->tablets));
    }
    l->tablets[l->count++] = (struct quarry_tablet_info){
        .start = arena_dup(&l->arena, bounds->start),
        .end = arena_dup(&l->arena, bounds->end),
        .bytes = state->bytes};
    return 0;
}

static void list_close(struct tablet_list *l)
{
    mem_free(l->tablets);
    arena_close(&l->arena);
    cluster_table_unref(l->table);
}

/* @t is referenced. On error nothing is held. */
static int
list_init(struct tablet_list *l, struct cluster_table *t, struct err *err)
{
    int rc = cluster_table_refresh(t, err);
    *l = (struct tablet_list){.table = t};
    if (rc)
        return rc;
    cluster_table_ref(t);
    arena_init(&l->arena);
    rc = locator_walk(t->cluster->locator, t->id, add_tablet, l, err);
    if (rc == 0 && l->count == 0)
        rc = err_set(err, ERR_UNAVAILABLE, "table %s has no tablets yet",
                     t->name);
    if (rc)
        list_close(l);
    return rc;
}

/* --- asking a tablet ----------------------------------------------------- */

/* Ask the server of the tablet that holds @row, until it answers. */
static int ask_tablet(struct cluster_table *t,
                      struct slice row,
                      uint32_t method,
                      uint32_t parts,
                      struct buf *reply,
                      struct buf *attachment,
                      struct err *err)
{
    struct retry retry = {.cluster = t->cluster};
    int rc;
    do {
        struct cuts_request request = {.parts = parts};
        struct buf body = BUF_INIT;
        struct location *where;
        rc = cluster_table_refresh(t, err);
        if (rc == 0)
            rc = locator_find(t->cluster->locator, t->id, row, &where, err);
        if (rc)
            continue;
        request.tablet = where->tablet;
        cuts_request_put(&request, &body);
        buf_clear(reply);
        buf_clear(attachment);
        rc = tablet_call(t->cluster, where, method, NULL, buf_slice(&body),
                         SLICE_EMPTY, reply, attachment, err);
        buf_close(&body);
        location_unref(where);
    } while (rc && retry_again(&retry, &rc, err));
    return rc;
}

/* --- describing ---------------------------------------------------------- */

struct description {
    struct quarry *quarry;
    const char *name;
    struct owned_info *out;
    struct tablet_list list;
};

static void add_groups(struct quarry_table_info *info,
                       const struct describe_reply *r)
{
    for (size_t i = 0; i < r->group_count; i++)
        for (size_t k = 0; k < info->group_count; k++) {
            struct quarry_group_info *g = &info->groups[k];
            if (!slice_eq_str(r->groups[i].name, g->name))
                continue;
            g->table_file_count += r->groups[i].file_count;
            g->table_bytes += r->groups[i].file_bytes;
            g->memtable_bytes += r->groups[i].memory_bytes;
            g->entry_count += r->groups[i].entry_count;
        }
}

static void add_families(struct quarry_table_info *info,
                         const struct describe_reply *r)
{
    for (size_t i = 0; i < r->family_count; i++)
        for (size_t k = 0; k < info->family_count; k++) {
            struct quarry_family_info *f = &info->families[k];
            if (!slice_eq_str(r->families[i].name, f->name))
                continue;
            f->stored_bytes += r->families[i].stored_bytes;
            f->memory_bytes += r->families[i].memory_bytes;
        }
}

static void take_load(struct quarry_tablet_info *t,
                      const struct describe_reply *r)
{
    t->bytes = r->bytes;
    t->reads_per_s = (double)r->milli_reads_per_s / 1000;
    t->writes_per_s = (double)r->milli_writes_per_s / 1000;
    t->bytes_per_s = (double)r->milli_bytes_per_s / 1000;
}

static int describe_next(void *ctx, bool *more, struct err *err)
{
    struct description *d = ctx;
    struct buf reply = BUF_INIT;
    struct buf attachment = BUF_INIT;
    struct describe_reply r;
    struct arena a;
    size_t i = d->list.next;
    int rc;
    *more = i < d->list.count;
    if (!*more)
        return 0;
    d->list.next++;
    arena_init(&a);
    rc = ask_tablet(d->list.table, d->list.tablets[i].start, TABLET_DESCRIBE, 0,
                    &reply, &attachment, err);
    if (rc == 0)
        rc = describe_reply_get(buf_slice(&reply), &a, &r, err);
    if (rc == 0) {
        take_load(&d->list.tablets[i], &r);
        add_groups(&d->out->info, &r);
        add_families(&d->out->info, &r);
    }
    arena_close(&a);
    buf_close(&reply);
    buf_close(&attachment);
    return rc;
}

static void take_tablets(struct owned_info *o, const struct tablet_list *l)
{
    struct quarry_tablet_info *t =
        arena_zalloc(&o->arena, l->count * sizeof(*t));
    for (size_t i = 0; i < l->count; i++) {
        t[i] = l->tablets[i];
        t[i].start = arena_dup(&o->arena, t[i].start);
        t[i].end = arena_dup(&o->arena, t[i].end);
    }
    o->info.tablets = t;
    o->info.tablet_count = l->count;
}

static int describe_on_loop(void *arg, struct err *err)
{
    struct description *d = arg;
    struct cluster *c = d->quarry->cluster;
    struct cluster_table *t;
    int rc = cluster_table_new(c, d->name, &t, err);
    if (rc)
        return rc;
    rc = list_init(&d->list, t, err);
    if (rc == 0) {
        d->out = table_info_new(d->name, t->schema);
        rc = fan_out(c->loop, (unsigned)MIN_OF(d->list.count, WORKERS),
                     describe_next, d, err);
        if (rc == 0)
            take_tablets(d->out, &d->list);
        list_close(&d->list);
    }
    cluster_table_unref(t);
    return rc;
}

int cluster_table_describe(struct quarry *q,
                           const char *name,
                           struct quarry_table_info **out,
                           struct err *err)
{
    struct description d = {.quarry = q, .name = name};
    int rc =
        cluster_do(q->cluster, "tables describe", 0, describe_on_loop, &d, err);
    if (rc && d.out)
        quarry_table_info_free(&d.out->info);
    else if (rc == 0)
        *out = &d.out->info;
    return rc;
}

/* --- cuts ---------------------------------------------------------------- */

struct cutting {
    struct quarry_table *table;
    size_t parts;
    struct slice *keys; /* Owned. */
    size_t count;
    struct tablet_list list;
    struct slice **inside; /* By tablet: its cuts, in the list's arena. */
    size_t *inside_count;
};

/* How many pieces tablet @i should become: by its share of the bytes. */
static size_t pieces_of(const struct cutting *c, size_t i)
{
    uint64_t total = 0;
    uint64_t pieces;
    for (size_t k = 0; k < c->list.count; k++)
        total += c->list.tablets[k].bytes + 1;
    pieces =
        (uint64_t)((double)c->parts * (double)(c->list.tablets[i].bytes + 1) /
                       (double)total +
                   0.5);
    return MIN_OF(pieces, CUTS_MAX);
}

static int cut_next(void *ctx, bool *more, struct err *err)
{
    struct cutting *c = ctx;
    struct buf reply = BUF_INIT;
    struct buf attachment = BUF_INIT;
    size_t i = c->list.next;
    struct slice *keys;
    struct arena a;
    size_t n;
    int rc;
    *more = i < c->list.count;
    if (!*more)
        return 0;
    c->list.next++;
    if (pieces_of(c, i) < 2)
        return 0;
    arena_init(&a);
    rc = ask_tablet(c->list.table, c->list.tablets[i].start, TABLET_CUTS,
                    (uint32_t)pieces_of(c, i), &reply, &attachment, err);
    if (rc == 0)
        rc = keys_get(buf_slice(&attachment), &a, &keys, &n, err);
    if (rc == 0) {
        c->inside_count[i] = n;
        c->inside[i] = arena_zalloc(&c->list.arena, (n + 1) * sizeof(*keys));
        for (size_t k = 0; k < n; k++)
            c->inside[i][k] = arena_dup(&c->list.arena, keys[k]);
    }
    arena_close(&a);
    buf_close(&reply);
    buf_close(&attachment);
    return rc;
}

/* All cuts, in order; too many of them are thinned out. One allocation. */
static void join_cuts(struct cutting *c)
{
    const struct tablet_list *l = &c->list;
    struct slice *all;
    size_t n = 0;
    size_t bytes = 0;
    size_t kept;
    char *p;
    for (size_t i = 0; i < l->count; i++)
        n += c->inside_count[i] + 1;
    all = mem_zalloc(n, sizeof(*all));
    n = 0;
    for (size_t i = 0; i < l->count; i++) {
        for (size_t k = 0; k < c->inside_count[i]; k++)
            all[n++] = c->inside[i][k];
        if (l->tablets[i].end.len)
            all[n++] = l->tablets[i].end;
    }
    kept = MIN_OF(n, c->parts ? c->parts - 1 : 0);
    for (size_t i = 0; i < kept; i++) {
        all[i] = all[(i + 1) * (n + 1) / (kept + 1) - 1];
        bytes += all[i].len;
    }
    c->keys = mem_alloc(kept * sizeof(*all) + bytes + 1);
    p = (char *)(c->keys + kept);
    for (size_t i = 0; i < kept; i++) {
        c->keys[i] = slice_make(p, all[i].len);
        memcpy(p, all[i].data, all[i].len);
        p += all[i].len;
    }
    c->count = kept;
    mem_free(all);
}

static int cut_on_loop(void *arg, struct err *err)
{
    struct cutting *c = arg;
    int rc = list_init(&c->list, c->table->remote, err);
    if (rc)
        return rc;
    c->inside =
        arena_zalloc(&c->list.arena, c->list.count * sizeof(*c->inside));
    c->inside_count =
        arena_zalloc(&c->list.arena, c->list.count * sizeof(*c->inside_count));
    rc = fan_out(c->list.table->cluster->loop,
                 (unsigned)MIN_OF(c->list.count, WORKERS), cut_next, c, err);
    if (rc == 0)
        join_cuts(c);
    list_close(&c->list);
    return rc;
}

int cluster_table_split_points(struct quarry_table *t,
                               size_t parts,
                               struct slice **keys,
                               size_t *count,
                               struct err *err)
{
    struct cutting c = {.table = t, .parts = parts};
    int rc =
        cluster_do(t->quarry->cluster, "tables cut", 0, cut_on_loop, &c, err);
    *keys = c.keys;
    *count = c.count;
    return rc;
}
