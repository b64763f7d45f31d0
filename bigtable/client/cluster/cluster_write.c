/* Writing rows: grouped by the server of each, one call a server at a time, all
 * servers at once; what may succeed elsewhere or later is tried again.
 *
 * Every try of a change carries its number, by which the tablet knows that it
 * has made it: each is made once. Changes of one row are made in order: all
 * servers are looked up at one moment, and behind a call that failed a server
 * gets no other before that one was tried again.
 */
#include <stdlib.h>

#include "base/core/hash_map.h"
#include "base/core/ignore_result.h"
#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/world.h"
#include "bigtable/client/cluster/cluster_client.h"
#include "bigtable/client/cluster/locator.h"
#include "bigtable/client/cluster/resolve.h"
#include "bigtable/client/cluster/shared_calls.h"
#include "bigtable/row/mutation.h"

/* Of one call: more goes into the next. */
#define CALL_BYTES   ((size_t)8 << 20)
#define CALL_CHANGES ((size_t)100000)
/* Rarely more than two are needed. */
#define LOOK_UP_PASSES_MAX 8
/* About the bytes of a change besides its row and operations. */
#define CHANGE_EXTRA_BYTES ((size_t)48)

static void put_request(const struct cluster *c,
                        uint8_t flavor,
                        uint32_t count,
                        struct buf *body)
{
    const struct apply_request r = {.durability = flavor,
                                    .count = count,
                                    .origin = change_ids_origin(c->changes)};
    apply_request_put(&r, body);
}

/* Two calls: one is at the disks, one gathers in the server meanwhile. */
const struct shared_kind cluster_write_kind = {
    .method = TABLET_APPLY,
    .calls_max = 2,
    .count_max = APPLY_CHANGES_MAX,
    .bytes_max = (size_t)1 << 20,
    .small_bytes = (size_t)32 << 10,
    .put = put_request,
};

/* One mutation on its way. */
struct change {
    const struct quarry_mutation *mutation;
    struct location *where; /* Reference, while it is being sent. */
    uint64_t sequence;
    int look_up_code;
    bool look_up_again; /* It may succeed later. */
    bool pending;
    int code;
};

struct group;

/* A change that must be made again, under another number. */
struct change_again {
    struct change_again *next;
    struct change_block block;
};

/* Mutations of one call of the library. */
struct writing {
    struct cluster_table *table;
    struct cluster *cluster;
    const struct quarry_mutation *const *mutations;
    size_t count;
    uint8_t durability;
    bool once; /* Nothing is tried again. */
    struct change *changes;
    struct change_block block;  /* Of the changes' numbers. */
    struct change_again *again; /* Numbers given later. */
    struct group *groups;
    struct fiber *waiter;
    void *context;      /* Its: base/runtime/fiber.h. */
    size_t running;     /* Groups whose fibers have not ended. */
    size_t failed;      /* Least index that failed; count: none. */
    struct err failure; /* Why it did. */
    struct err look_up_failure;
};

/* The changes for one server, in the order of the mutations. */
struct group {
    struct group *next;
    struct writing *writing;
    struct location *server; /* Reference: one of its tablets. */
    size_t *indexes;
    size_t count;
    size_t cap;
    struct fiber *fiber;
};

/* --- outcomes ------------------------------------------------------------ */

static void
cluster_write_note(struct writing *w, size_t i, int code, const struct err *err)
{
    w->changes[i].code = code;
    if (code && i < w->failed) {
        w->failed = i;
        if (err)
            w->failure = *err;
        w->failure.code = code;
    }
}

/* --- one call ------------------------------------------------------------ */

/* About the bytes of the changes from @begin on that go into one call, and more
 * rather than less. */
static size_t cluster_write_estimate(const struct group *g, size_t begin)
{
    const struct writing *w = g->writing;
    size_t bytes = 0;
    for (size_t i = begin;
         i < g->count && i - begin < CALL_CHANGES && bytes < CALL_BYTES; i++) {
        const struct quarry_mutation *m = w->changes[g->indexes[i]].mutation;
        bytes += m->row.len + m->ops.len + CHANGE_EXTRA_BYTES;
    }
    return MIN_OF(bytes, (size_t)CALL_BYTES);
}

/* The changes from @begin on that fit into one call; returns where they end. */
static size_t
cluster_write_fill(const struct group *g, size_t begin, struct buf *out)
{
    const struct writing *w = g->writing;
    size_t i = begin;
    /* Else it would grow, and be moved, many times. */
    buf_reserve(out, cluster_write_estimate(g, begin));
    for (; i < g->count && i - begin < CALL_CHANGES; i++) {
        const struct change *c = &w->changes[g->indexes[i]];
        const struct quarry_mutation *m = c->mutation;
        if (i > begin && out->len + m->ops.len > CALL_BYTES)
            break;
        row_change_mutation_put(c->where->tablet, c->sequence, m, out);
    }
    return i;
}

/* Take the server's codes of the changes from @begin on. */
static void take_codes(struct group *g, size_t begin, struct shared_parcel *p)
{
    struct writing *w = g->writing;
    for (size_t i = 0; i < p->count; i++) {
        size_t index = g->indexes[begin + i];
        struct change *c = &w->changes[index];
        int rc = p->codes[i];
        /* A change that failed so alone was not refused for what it says:
         * families have been looked at. */
        c->pending = rc && retry_is_of_use(rc, &p->first);
        p->first.code = rc;
        if (c->pending && !retry_is_rate(rc, &p->first))
            locator_forget(w->cluster->locator, c->where);
        cluster_write_note(w, index, rc, rc ? &p->first : NULL);
    }
}

static void fail_changes(struct group *g,
                         size_t begin,
                         size_t end,
                         int rc,
                         const struct err *err)
{
    struct writing *w = g->writing;
    for (size_t i = begin; i < end; i++) {
        struct change *c = &w->changes[g->indexes[i]];
        c->pending = retry_is_of_use(rc, err);
        if (c->pending && !retry_is_rate(rc, err))
            locator_forget(w->cluster->locator, c->where);
        cluster_write_note(w, g->indexes[i], rc, err);
    }
}

static size_t send_some(struct group *g, size_t begin)
{
    struct writing *w = g->writing;
    struct shared_parcel p = {
        .cluster = w->cluster, .where = g->server, .flavor = w->durability};
    struct err err = ERR_INIT;
    int32_t one;
    size_t end = cluster_write_fill(g, begin, &p.items);
    int rc;
    p.count = (uint32_t)(end - begin);
    p.codes = p.count == 1 ? &one : mem_alloc(p.count * sizeof(*p.codes));
    rc = shared_calls_send(w->cluster->writes, &p, &err);
    if (rc)
        fail_changes(g, begin, end, rc, &err);
    else
        take_codes(g, begin, &p);
    if (p.codes != &one)
        mem_free(p.codes);
    shared_parcel_close(&p);
    return end;
}

static void send_group(void *arg)
{
    struct group *g = arg;
    bool stopped = false; /* Later changes may be of the same rows. */
    (void)fiber_set_context(g->writing->context);
    for (size_t i = 0; i < g->count && !stopped;) {
        size_t begin = i;
        i = send_some(g, i);
        for (; begin < i; begin++)
            stopped |= g->writing->changes[g->indexes[begin]].pending;
    }
    g->writing->running--;
    fiber_wake(g->writing->waiter);
}

/* --- groups -------------------------------------------------------------- */

static struct group *find_group(struct writing *w, struct location *where)
{
    struct group *g;
    for (g = w->groups; g; g = g->next)
        if (g->server->server == where->server &&
            slice_eq(g->server->address, where->address))
            return g;
    g = mem_zalloc(1, sizeof(*g));
    g->writing = w;
    g->server = location_ref(where);
    g->next = w->groups;
    w->groups = g;
    return g;
}

static void group_add(struct group *g, size_t i)
{
    if (g->count == g->cap) {
        g->cap = g->cap ? g->cap * 2 : 16;
        g->indexes = mem_realloc(g->indexes, g->cap * sizeof(*g->indexes));
    }
    g->indexes[g->count++] = i;
}

static void free_groups(struct writing *w)
{
    while (w->groups) {
        struct group *g = w->groups;
        w->groups = g->next;
        location_unref(g->server);
        mem_free(g->indexes);
        mem_free(g);
    }
    for (size_t i = 0; i < w->count; i++) {
        location_unref(w->changes[i].where);
        w->changes[i].where = NULL;
    }
}

/* Find the server of @i, which is pending. */
static void find_server(struct writing *w, size_t i)
{
    struct change *c = &w->changes[i];
    struct err err = ERR_INIT;
    location_unref(c->where);
    c->where = NULL;
    c->look_up_code =
        locator_find(w->cluster->locator, w->table->id,
                     buf_slice(&c->mutation->row), &c->where, &err);
    c->look_up_again = retry_is_of_use(c->look_up_code, &err);
    if (c->look_up_code)
        w->look_up_failure = err;
}

/* Of all pending changes, at one moment if that can be had: changes of one row
 * must not go to several servers. A change whose server cannot be found
 * fails as its look-up did. */
static void find_servers(struct writing *w)
{
    uint64_t waits;
    unsigned passes = 0;
    do {
        waits = locator_wait_count(w->cluster->locator);
        for (size_t i = 0; i < w->count; i++)
            if (w->changes[i].pending)
                find_server(w, i);
    } while (w->count > 1 && ++passes < LOOK_UP_PASSES_MAX &&
             waits != locator_wait_count(w->cluster->locator));
    for (size_t i = 0; i < w->count; i++) {
        struct change *c = &w->changes[i];
        if (!c->pending || c->where)
            continue;
        c->pending = c->look_up_again;
        cluster_write_note(w, i, c->look_up_code, &w->look_up_failure);
    }
}

static void make_groups(struct writing *w)
{
    struct group *last = NULL;
    find_servers(w);
    for (size_t i = 0; i < w->count; i++) {
        struct change *c = &w->changes[i];
        if (!c->pending || !c->where)
            continue;
        if (!last || last->server->server != c->where->server)
            last = find_group(w, c->where);
        group_add(last, i);
    }
}

static void send_groups(struct writing *w)
{
    w->waiter = fiber_self();
    w->context = fiber_context();
    for (struct group *g = w->groups; g; g = g->next)
        w->running++;
    for (struct group *g = w->groups ? w->groups->next : NULL; g; g = g->next)
        g->fiber = fiber_start(w->cluster->loop, "tables write", send_group, g);
    if (w->groups)
        send_group(w->groups);
    for (struct group *g = w->groups; g; g = g->next)
        if (g->fiber)
            fiber_join(g->fiber);
    POST(w->running == 0);
}

/* --- tries --------------------------------------------------------------- */

static void number_again(struct writing *w, struct change *c)
{
    struct change_again *a = mem_zalloc(1, sizeof(*a));
    change_ids_open(w->cluster->changes, &a->block, 1);
    c->sequence = a->block.first;
    a->next = w->again;
    w->again = a;
}

/* Changes of rows of which an earlier one is pending are to be made again: so
 * the last word is the last one's. It needs a tablet that moved between two
 * look-ups. */
static size_t keep_order(struct writing *w)
{
    struct hash_map rows;
    size_t pending = 0;
    for (size_t i = 0; i < w->count; i++)
        pending += w->changes[i].pending;
    if (pending == 0 || w->count == 1)
        return pending;
    hash_map_init(&rows, HASH_KEYS_BORROWED);
    for (size_t i = 0; i < w->count; i++) {
        struct change *c = &w->changes[i];
        struct slice row = buf_slice(&c->mutation->row);
        if (c->pending)
            (void)hash_map_put(&rows, row, NULL);
        else if (c->code == 0 && hash_map_get(&rows, row)) {
            c->pending = true;
            number_again(w, c);
        }
    }
    hash_map_close(&rows);
    return pending;
}

static void begin_try(struct writing *w)
{
    w->failed = w->count;
    for (size_t i = 0; i < w->count; i++)
        if (w->changes[i].code && !w->changes[i].pending && i < w->failed)
            w->failed = i; /* Its failure is the one that is kept. */
}

static int try_all(struct writing *w, struct err *err)
{
    struct retry retry = {.cluster = w->cluster, .is_change = true};
    for (;;) {
        struct err kept = w->failure;
        size_t kept_index;
        int rc;
        begin_try(w);
        kept_index = w->failed;
        make_groups(w);
        send_groups(w);
        free_groups(w);
        if (w->failed == kept_index)
            w->failure = kept;
        if (w->once || keep_order(w) == 0)
            break;
        *err = w->failure;
        rc = retry_is_rate(err->code, err) ? err->code : ERR_UNAVAILABLE;
        if (!retry_again(&retry, &rc, err)) {
            w->failure = *err;
            break;
        }
        rc = cluster_table_refresh(w->table, err);
        if (rc && !retry_is_of_use(rc, err)) {
            begin_try(w); /* This is why they fail now. */
            for (size_t i = 0; i < w->count; i++)
                if (w->changes[i].pending)
                    cluster_write_note(w, i, rc, err);
            break;
        }
    }
    /* Changes that were not sent because others failed. */
    for (size_t i = 0; i < w->count; i++)
        if (w->changes[i].pending && w->changes[i].code == 0)
            cluster_write_note(w, i, ERR_UNAVAILABLE, &w->failure);
    return w->failed < w->count ? err_copy(err, &w->failure) : 0;
}

/* --- what quarry.h offers ------------------------------------------------ */

/* Mistakes that are known before anything is sent. */
static void check_changes(struct writing *w)
{
    for (size_t i = 0; i < w->count; i++) {
        struct err err = ERR_INIT;
        int rc;
        w->changes[i].mutation = w->mutations[i];
        rc = mutation_check(w->mutations[i], &err);
        if (rc == 0)
            rc = mutation_families_check(w->table, w->mutations[i], &err);
        w->changes[i].pending = rc == 0;
        if (rc)
            cluster_write_note(w, i, rc, &err);
    }
}

/* One call of the library, on the loop. */
struct request {
    struct quarry_table *table;
    const struct quarry_mutation *const *mutations;
    size_t count;
    const struct quarry_write_options *opts;
    bool in_order;                /* Nothing behind a mistake is to be made. */
    bool once;                    /* As of a writing. */
    int *codes;                   /* May be NULL. */
    struct change_block **blocks; /* As of apply_some; NULL: none. */
    size_t failed;
};

/* Give each change its number: the one that it had in a try before. */
static void number_changes(struct writing *w, struct change_block **blocks)
{
    if (!blocks)
        change_ids_open(w->cluster->changes, &w->block, w->count);
    for (size_t i = 0; i < w->count; i++) {
        if (blocks && !blocks[i]) {
            blocks[i] = mem_zalloc(1, sizeof(*blocks[i]));
            change_ids_open(w->cluster->changes, blocks[i], 1);
        }
        w->changes[i].sequence = blocks ? blocks[i]->first : w->block.first + i;
    }
}

/* Those of changes that are not called with again. */
static void end_blocks(struct cluster *c,
                       struct change_block **blocks,
                       const int *codes,
                       size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!blocks[i] || apply_is_again(codes[i], count))
            continue;
        change_ids_close(c->changes, blocks[i]);
        mem_free(blocks[i]);
        blocks[i] = NULL;
    }
}

static void end_numbers(struct writing *w, bool has_blocks)
{
    while (w->again) {
        struct change_again *a = w->again;
        w->again = a->next;
        change_ids_close(w->cluster->changes, &a->block);
        mem_free(a);
    }
    if (!has_blocks)
        change_ids_close(w->cluster->changes, &w->block);
}

static int write_on_loop(void *arg, struct err *err)
{
    struct request *r = arg;
    struct cluster_table *t = cluster_table_ref(r->table->remote);
    struct writing w = {.table = t,
                        .cluster = t->cluster,
                        .mutations = r->mutations,
                        .count = r->count,
                        .durability = cluster_durability(r->opts),
                        .once = r->once,
                        .failed = r->count};
    int rc = cluster_table_refresh(t, err);
    r->failed = 0;
    if (rc == 0) {
        w.changes = mem_zalloc(r->count + 1, sizeof(*w.changes));
        number_changes(&w, r->blocks);
        check_changes(&w);
        for (size_t i = w.failed; r->in_order && i < w.count; i++)
            w.changes[i].pending = false;
        rc = try_all(&w, err);
        r->failed = w.failed;
        for (size_t i = 0; r->codes && i < r->count; i++)
            r->codes[i] = w.changes[i].code;
        end_numbers(&w, r->blocks != NULL);
        mem_free(w.changes);
    } else {
        for (size_t i = 0; r->codes && i < r->count; i++)
            r->codes[i] = rc;
    }
    if (r->blocks)
        end_blocks(t->cluster, r->blocks, r->codes, r->count);
    cluster_table_unref(t);
    return rc;
}

static int write_rows(struct request *r, struct err *err)
{
    if (r->count == 0)
        return 0;
    return cluster_do(r->table->quarry->cluster, "tables write", 0,
                      write_on_loop, r, err);
}

int cluster_apply(struct quarry_table *t,
                  const struct quarry_mutation *m,
                  const struct quarry_write_options *opts,
                  struct err *err)
{
    struct request r = {.table = t, .mutations = &m, .count = 1, .opts = opts};
    return write_rows(&r, err);
}

int cluster_apply_batch(struct quarry_table *t,
                        struct quarry_mutation *const *mutations,
                        size_t count,
                        const struct quarry_write_options *opts,
                        size_t *failed_index,
                        struct err *err)
{
    struct request r = {.table = t,
                        .mutations =
                            (const struct quarry_mutation *const *)mutations,
                        .count = count,
                        .opts = opts,
                        .in_order = true};
    int rc = write_rows(&r, err);
    if (rc && failed_index)
        *failed_index = r.failed;
    return rc;
}

int cluster_apply_each(struct quarry_table *t,
                       struct quarry_mutation *const *mutations,
                       size_t count,
                       const struct quarry_write_options *opts,
                       int *codes,
                       struct err *err)
{
    struct request r = {.table = t,
                        .mutations =
                            (const struct quarry_mutation *const *)mutations,
                        .count = count,
                        .opts = opts,
                        .codes = codes};
    return write_rows(&r, err);
}

void cluster_apply_some(struct quarry_table *t,
                        const struct quarry_mutation *const *mutations,
                        size_t count,
                        const struct quarry_write_options *opts,
                        struct change_block **blocks,
                        int *codes,
                        struct err *err)
{
    struct request r = {.table = t,
                        .mutations = mutations,
                        .blocks = blocks,
                        .count = count,
                        .opts = opts,
                        .once = count > 1,
                        .codes = codes};
    /* The codes say which. */
    IGNORE_RESULT(write_rows(&r, err));
}
