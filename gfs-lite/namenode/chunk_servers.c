/* The chunk servers as their heartbeats describe them. Machines and racks are
 * numbered, because placement compares them for every candidate of every chunk.
 */
#include "gfs-lite/namenode/chunk_servers.h"

#include "base/core/panic.h"

static void close_server(struct live_server *l)
{
    mem_free(l->deletes);
    mem_free(l->orders);
}

void chunk_servers_close(struct chunk_servers *s)
{
    PRE(s->servers || s->count == 0);
    for (size_t i = 0; i < s->count; i++)
        close_server(&s->servers[i]);
    for (size_t i = 0; i < s->text_count; i++)
        mem_free(s->texts[i]);
    mem_free(s->servers);
    mem_free(s->texts);
    *s = (struct chunk_servers){.count = 0};
}

void chunk_servers_reset(struct chunk_servers *s)
{
    for (size_t i = 0; i < s->count; i++) {
        struct live_server old = s->servers[i];
        INVARIANT(old.delete_count <= old.delete_cap); /* INV-1 */
        INVARIANT(old.order_count <= old.order_cap);   /* INV-1 */
        close_server(&old);
        s->servers[i] =
            (struct live_server){.machine = old.machine, .rack = old.rack};
    }
}

uint32_t chunk_servers_text(struct chunk_servers *s, struct slice text)
{
    PRE(s->texts || s->text_count == 0);
    for (size_t i = 0; i < s->text_count; i++)
        if (slice_eq_str(text, s->texts[i]))
            return (uint32_t)i;
    s->texts = mem_realloc(s->texts, (s->text_count + 1) * sizeof(*s->texts));
    s->texts[s->text_count] = mem_strndup(text.data, text.len);
    return (uint32_t)s->text_count++;
}

void chunk_servers_follow(struct chunk_servers *s, const struct catalog *c)
{
    if (s->count < c->server_count) {
        s->servers =
            mem_realloc(s->servers, c->server_count * sizeof(*s->servers));
        for (size_t i = s->count; i < c->server_count; i++)
            s->servers[i] = (struct live_server){.alive = false};
        s->count = c->server_count;
    }
    POST(s->count >= c->server_count); /* INV-2 */
    for (size_t i = 0; i < c->server_count; i++) {
        s->servers[i].machine =
            chunk_servers_text(s, slice_str(c->servers[i].machine));
        s->servers[i].rack =
            chunk_servers_text(s, slice_str(c->servers[i].rack));
    }
}

bool chunk_server_is_alive(const struct chunk_servers *s, uint16_t number)
{
    return number < s->count && s->servers[number].alive;
}

/* Chunks given long ago are part of the load and disk that the server reports.
 */
static uint32_t chunk_servers_given(const struct live_server *l,
                                    uint64_t now_ns)
{
    return now_ns - l->given_ns > LOAD_MEMORY_NS ? 0 : l->given;
}

void chunk_server_give(struct chunk_servers *s,
                       uint16_t number,
                       uint64_t now_ns)
{
    struct live_server *l;
    PRE(number < s->count);
    l = &s->servers[number];
    l->given = chunk_servers_given(l, now_ns) + 1;
    if (l->given == 1)
        l->given_ns = now_ns;
    POST(l->given > 0);
}

void chunk_server_add_delete(struct chunk_servers *s,
                             uint16_t number,
                             uint64_t handle,
                             uint32_t version)
{
    struct live_server *l;
    if (number >= s->count)
        return;
    l = &s->servers[number];
    if (l->delete_count == l->delete_cap) {
        l->delete_cap = l->delete_cap ? l->delete_cap * 2 : 16;
        l->deletes =
            mem_realloc(l->deletes, l->delete_cap * sizeof(*l->deletes));
    }
    INVARIANT(l->delete_count < l->delete_cap); /* INV-1 */
    l->deletes[l->delete_count++] = (struct pending_delete){handle, version};
}

void chunk_server_add_order(struct chunk_servers *s,
                            uint16_t number,
                            enum gfs_order_kind kind,
                            uint64_t handle)
{
    struct live_server *l;
    if (number >= s->count)
        return;
    l = &s->servers[number];
    if (l->order_count == l->order_cap) {
        l->order_cap = l->order_cap ? l->order_cap * 2 : 16;
        l->orders = mem_realloc(l->orders, l->order_cap * sizeof(*l->orders));
    }
    INVARIANT(l->order_count < l->order_cap); /* INV-1 */
    l->orders[l->order_count++] = (struct pending_order){kind, handle};
}

struct placement_server *chunk_servers_view(const struct chunk_servers *s,
                                            const struct catalog *c,
                                            uint64_t now_ns)
{
    struct placement_server *view = mem_zalloc(s->count + 1, sizeof(*view));
    PRE(s->count <= c->server_count);
    for (size_t i = 0; i < s->count; i++) {
        const struct live_server *l = &s->servers[i];
        view[i] = (struct placement_server){
            .number = (uint16_t)i,
            .usable = l->alive && c->servers[i].state == GFS_SERVER_IN_SERVICE,
            .machine = l->machine,
            .rack = l->rack,
            .capacity_bytes = l->capacity_bytes,
            .free_bytes = l->free_bytes,
            .load = l->load + chunk_servers_given(l, now_ns)};
    }
    return view;
}
