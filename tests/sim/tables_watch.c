/* Checks that no row is served by two tablet servers. */
#include "tests/sim/tables_watch.h"

#include <inttypes.h>

#include "base/core/hash_map.h"
#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "bigtable/tablet/table_part.h"
#include "bigtable/tablet/tablet.h"
#include "bigtable/tablet_server/tablet_server_state.h"
#include "tests/sim/storm.h"

#define LOOK_US (SECOND_US / 20)

struct tables_watch {
    struct tables_cell *tables;
    struct fiber *fiber;
    struct hash_map servers; /* By tablet: the number of its last server. */
    uint64_t moves;
    bool over;
};

/* --- one look ------------------------------------------------------------ */

/* Would it answer? */
static bool answers(const struct tables_server *s)
{
    const struct tablet_server *t = s->tablet;
    return t && sim_is_up(s->world) && t->session && atomic_load(&t->ready) &&
           !atomic_load(&t->over) && session_is_safe(t->session);
}

/* All runs on one thread, and nothing here waits: locks are not needed. */
static void add_served(const struct tables_server *s,
                       struct tables_served *out,
                       size_t *count)
{
    const struct hash_map *map = &s->tablet->served.map;
    struct hash_slot *slot;
    size_t at = 0;
    while ((slot = hash_map_next(map, &at)) != NULL) {
        const struct served *h = slot->value.pointer;
        const struct table_part_view *v = h->table ? h->table->view : NULL;
        if (atomic_load(&h->phase) != TABLET_SERVING || !v ||
            atomic_load(&h->reads_stopped))
            continue;
        out[(*count)++] =
            (struct tables_served){.server = s,
                                   .number = s->tablet->number,
                                   .id = h->id,
                                   .table = h->table_id,
                                   .epoch = h->epoch,
                                   .is_root = h->is_root,
                                   .start = buf_slice(&v->tablets[0]->start),
                                   .end = buf_slice(&v->tablets[0]->end)};
    }
}

struct tables_served *tables_served_now(const struct tables_cell *t,
                                        size_t *count)
{
    struct tables_served *out;
    size_t most = 0;
    for (unsigned i = 0; i < t->tablet_count; i++)
        if (answers(&t->tablets[i]))
            most += t->tablets[i].tablet->served.map.count;
    out = mem_alloc((most + 1) * sizeof(*out));
    *count = 0;
    for (unsigned i = 0; i < t->tablet_count; i++)
        if (answers(&t->tablets[i]))
            add_served(&t->tablets[i], out, count);
    return out;
}

static bool overlap(const struct tables_served *a,
                    const struct tables_served *b)
{
    return a->table == b->table &&
           (b->end.len == 0 || slice_cmp(a->start, b->end) < 0) &&
           (a->end.len == 0 || slice_cmp(b->start, a->end) < 0);
}

static void note_server(struct tables_watch *w, const struct tables_served *s)
{
    bool added;
    union hash_value *v =
        hash_map_put(&w->servers, hash_key_u64(&s->id), &added);
    w->moves += !added && v->number != s->number;
    v->number = s->number;
}

static void look(struct tables_watch *w)
{
    size_t count;
    struct tables_served *all = tables_served_now(w->tables, &count);
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < i; j++)
            STORM_CHECK(all[i].server == all[j].server ||
                            !overlap(&all[i], &all[j]),
                        "%s serves tablet %" PRIx64 " of epoch %" PRIu64
                        " and %s serves tablet %" PRIx64 " of epoch %" PRIu64
                        ", which have common rows",
                        all[i].server->name, all[i].id, all[i].epoch,
                        all[j].server->name, all[j].id, all[j].epoch);
        note_server(w, &all[i]);
    }
    mem_free(all);
}

/* --- all the time -------------------------------------------------------- */

static void watch(void *arg)
{
    struct tables_watch *w = arg;
    while (!w->over) {
        look(w);
        storm_sleep_us(LOOK_US);
    }
}

struct tables_watch *tables_watch_new(struct tables_cell *t)
{
    struct tables_watch *w = mem_zalloc(1, sizeof(*w));
    w->tables = t;
    hash_map_init(&w->servers, HASH_KEYS_COPIED);
    w->fiber = fiber_start(loop_self(), "tables watch", watch, w);
    return w;
}

uint64_t tables_watch_moves(const struct tables_watch *w)
{
    return w->moves;
}

void tables_watch_free(struct tables_watch *w)
{
    w->over = true;
    fiber_join(w->fiber);
    hash_map_close(&w->servers);
    mem_free(w);
}
