/* The view: arrays of tablets by key and of servers by number, and a map of
 * tablets by id.
 *
 * A tablet's stage follows from its record and from the last report of the
 * server that the record names; orders change it in between
 * (tablet_placement.c, move.c). A report that was asked for before the last
 * change says nothing about it: is_confirmed() compares times. */
#include "bigtable/master/cluster_view.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/panic.h"
#include "bigtable/wire/metadata.h"

void cluster_view_init(struct cluster_view *p)
{
    *p = (struct cluster_view){.tablets = NULL};
    hash_map_init(&p->by_id, HASH_KEYS_COPIED);
}

static void known_tablet_check(const struct known_tablet *t)
{
    INVARIANT(t->stage == STAGE_UNASSIGNED || t->server != 0); /* INV-3 */
    INVARIANT(!t->is_fresh || t->stage == STAGE_UNASSIGNED);   /* INV-6 */
}

void known_tablet_hold(struct known_tablet *t)
{
    PRE(!t->busy); /* INV-2 */
    t->busy = true;
}

void known_tablet_release(struct known_tablet *t)
{
    PRE(t->busy); /* INV-2 */
    known_tablet_check(t);
    t->busy = false;
}

void known_tablet_move(struct known_tablet *t, enum tablet_stage to)
{
    PRE(to != STAGE_SERVED || t->stage != STAGE_UNASSIGNED); /* INV-4 */
    t->stage = to;
    if (to != STAGE_UNASSIGNED)
        t->is_fresh = false;
    known_tablet_check(t);
}

void known_tablet_locate(struct known_tablet *t,
                         const struct tablet_location *l)
{
    PRE(l->epoch >= t->epoch); /* INV-5 */
    PRE(l->server == 0 || l->epoch > t->epoch);
    t->server = l->server;
    t->epoch = l->epoch;
}

static void free_tablet(struct known_tablet *t)
{
    PRE(!t->busy); /* INV-2 */
    buf_close(&t->key);
    buf_close(&t->start);
    buf_close(&t->end);
    buf_close(&t->location);
    mem_free(t->logs);
    mem_free(t);
}

static void free_server(struct known_server *s)
{
    INVARIANT(!s->channel);
    cond_close(&s->wake);
    mem_free(s->name);
    mem_free(s->address);
    mem_free(s->loads);
    mem_free(s);
}

void cluster_view_close(struct cluster_view *p)
{
    PRE(p->tablets || p->tablet_count == 0);
    for (size_t i = 0; i < p->tablet_count; i++)
        free_tablet(p->tablets[i]);
    for (size_t i = 0; i < p->server_count; i++)
        free_server(p->servers[i]);
    mem_free(p->tablets);
    mem_free(p->servers);
    hash_map_close(&p->by_id);
}

/* --- finding ------------------------------------------------------------- */

struct known_server *cluster_view_server(const struct cluster_view *p,
                                         uint64_t number)
{
    size_t low = 0;
    size_t high = p->server_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (p->servers[middle]->number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low < p->server_count && p->servers[low]->number == number
               ? p->servers[low]
               : NULL;
}

bool cluster_view_is_alive(const struct cluster_view *p, uint64_t number)
{
    const struct known_server *s = cluster_view_server(p, number);
    return s && s->alive;
}

struct known_tablet *cluster_view_tablet(const struct cluster_view *p,
                                         uint64_t id)
{
    union hash_value *v = hash_map_get(&p->by_id, hash_key_u64(&id));
    return v ? v->pointer : NULL;
}

size_t cluster_view_at(const struct cluster_view *p, struct slice key)
{
    size_t low = 0;
    size_t high = p->tablet_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (slice_cmp(buf_slice(&p->tablets[middle]->key), key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct known_tablet *cluster_view_find(const struct cluster_view *p,
                                       uint64_t table,
                                       struct slice row)
{
    struct buf key = BUF_INIT;
    struct known_tablet *t = NULL;
    size_t at;
    metadata_search_key(table, row, &key);
    at = cluster_view_at(p, buf_slice(&key));
    buf_close(&key);
    if (at < p->tablet_count)
        t = p->tablets[at];
    return t && t->table == table && slice_cmp(buf_slice(&t->start), row) <= 0
               ? t
               : NULL;
}

enum tablet_level cluster_view_level(const struct known_tablet *t)
{
    if (t->table != METADATA_TABLE_ID)
        return LEVEL_USER;
    return t->start.len == 0 ? LEVEL_ROOT : LEVEL_METADATA;
}

enum tablet_level cluster_view_open_level(const struct cluster_view *p)
{
    for (size_t i = 0; i < p->tablet_count; i++) {
        enum tablet_level level = cluster_view_level(p->tablets[i]);
        if (level == LEVEL_USER)
            break;
        if (level == LEVEL_ROOT && p->tablets[i]->stage != STAGE_SERVED)
            return LEVEL_ROOT;
    }
    for (size_t i = 0; i < p->tablet_count; i++) {
        if (cluster_view_level(p->tablets[i]) == LEVEL_USER)
            break;
        if (p->tablets[i]->stage != STAGE_SERVED)
            return LEVEL_METADATA;
    }
    return LEVEL_USER;
}

/* --- servers ------------------------------------------------------------- */

struct known_server *cluster_view_add_server(struct cluster_view *p,
                                             const struct server_record *r,
                                             char *name)
{
    struct known_server *s = mem_zalloc(1, sizeof(*s));
    size_t at = p->server_count;
    PRE(!cluster_view_server(p, r->number));
    PRE(r->number != 0);
    cond_init(&s->wake);
    s->number = r->number;
    s->name = name;
    s->address = mem_strndup(r->address.data, r->address.len);
    s->alive = true;
    p->servers = mem_realloc(p->servers, (at + 1) * sizeof(*p->servers));
    for (; at > 0 && p->servers[at - 1]->number > r->number; at--)
        p->servers[at] = p->servers[at - 1];
    p->servers[at] = s;
    p->server_count++;
    POST(cluster_view_server(p, s->number) == s);
    return s;
}

static void known_tablet_unassign(struct known_tablet *t)
{
    known_tablet_move(t, STAGE_UNASSIGNED);
    t->is_fresh = false;
    t->only = 0;
    t->retry_ns = 0;
}

void cluster_view_server_died(struct cluster_view *p, struct known_server *s)
{
    PRE(s->alive);
    PRE(cluster_view_server(p, s->number) == s); /* INV-2 */
    s->alive = false;
    for (size_t i = 0; i < p->tablet_count; i++) {
        struct known_tablet *t = p->tablets[i];
        if (t->stage != STAGE_UNASSIGNED && t->server == s->number)
            known_tablet_unassign(t);
        if (t->only == s->number)
            t->only = 0;
    }
    mem_free(s->loads);
    s->loads = NULL;
    s->load_count = 0;
}

static int compare_ids(const void *key, const void *member)
{
    uint64_t id = *(const uint64_t *)key;
    uint64_t other = ((const struct tablet_load *)member)->id;
    return (id > other) - (id < other);
}

/* The report of @s about tablet @id; NULL: there is none. */
static const struct tablet_load *find_load(const struct known_server *s,
                                           uint64_t id)
{
    return s->load_count ? bsearch(&id, s->loads, s->load_count,
                                   sizeof(*s->loads), compare_ids)
                         : NULL;
}

static void
note_use(struct known_tablet *t, const struct tablet_load *l, uint64_t now_ns)
{
    uint64_t requests = l->reads + l->writes;
    uint64_t ns = now_ns - t->requests_ns;
    if (t->requests_ns != 0 && requests >= t->requests && ns > 0) {
        double rate = (double)(requests - t->requests) * 1e9 / (double)ns;
        /* Half of the old rate stays: a short burst moves nothing. */
        t->use.requests_per_s =
            (t->use.requests_per_s + (uint64_t)(rate + 0.5)) / 2;
    }
    t->requests = requests;
    t->requests_ns = now_ns;
    t->use.bytes = l->bytes;
    t->use.memory_bytes = l->memory_bytes;
}

/* Take the report @l about @t from its server. */
static void
note_load(struct known_tablet *t, const struct tablet_load *l, uint64_t now_ns)
{
    PRE(l->id == t->id);
    if (l->epoch != t->epoch)
        return;
    note_use(t, l, now_ns);
    if (l->phase == TABLET_SERVING && t->stage == STAGE_ORDERED && !t->busy) {
        known_tablet_move(t, STAGE_SERVED);
        t->served_ns = now_ns;
    }
}

void cluster_view_note_loads(struct cluster_view *p,
                             struct known_server *s,
                             struct tablet_load *loads,
                             size_t count,
                             uint64_t asked_ns,
                             uint64_t now_ns)
{
    PRE(s->alive);
    PRE(asked_ns <= now_ns);
    mem_free(s->loads);
    s->loads = loads;
    s->load_count = count;
    s->asked_ns = asked_ns;
    for (size_t i = 0; i < count; i++) {
        INVARIANT(i == 0 || loads[i - 1].id <= loads[i].id); /* find_load() */
        struct known_tablet *t = cluster_view_tablet(p, loads[i].id);
        if (t && t->stage != STAGE_UNASSIGNED && t->server == s->number)
            note_load(t, &loads[i], now_ns);
    }
}

/* Did the server of @t report that it has it? True also if it was asked before
 * it could know. */
static bool is_confirmed(const struct known_tablet *t,
                         const struct known_server *s)
{
    const struct tablet_load *l = find_load(s, t->id);
    return t->served_ns >= s->asked_ns || (l && l->epoch == t->epoch);
}

void cluster_view_check(struct cluster_view *p)
{
    for (size_t i = 0; i < p->tablet_count; i++) {
        struct known_tablet *t = p->tablets[i];
        const struct known_server *s;
        if (t->stage == STAGE_UNASSIGNED || t->busy)
            continue;
        INVARIANT(t->server != 0); /* INV-3 */
        s = cluster_view_server(p, t->server);
        if (!s || !s->alive)
            known_tablet_unassign(t);
        else if (t->stage == STAGE_SERVED && !is_confirmed(t, s))
            known_tablet_move(t, STAGE_ORDERED);
    }
}

/* --- rows ---------------------------------------------------------------- */

/* A decoded row. Large: on the heap. */
struct parsed_row {
    struct tablet_bounds bounds;
    struct tablet_location location;
    struct tablet_state state;
};

static int cluster_view_parse_row(const struct metadata_row *row,
                                  struct parsed_row *p,
                                  struct err *err)
{
    int rc = tablet_bounds_get(row->tablet, &p->bounds, err);
    if (rc == 0)
        rc = tablet_location_get(row->location, &p->location, err);
    if (rc)
        return rc;
    if (row->state.len)
        return tablet_state_get(row->state, &p->state, err);
    p->state.log_count = 0;
    p->state.bytes = 0;
    return 0;
}

static void set_buf(struct buf *b, struct slice s)
{
    buf_clear(b);
    buf_append_slice(b, s);
}

static void cluster_view_insert(struct cluster_view *p, struct known_tablet *t)
{
    size_t at = cluster_view_at(p, buf_slice(&t->key));
    if (p->tablet_count == p->tablet_cap) {
        p->tablet_cap = p->tablet_cap ? 2 * p->tablet_cap : 64;
        p->tablets =
            mem_realloc(p->tablets, p->tablet_cap * sizeof(*p->tablets));
    }
    memmove(p->tablets + at + 1, p->tablets + at,
            (p->tablet_count - at) * sizeof(*p->tablets));
    p->tablets[at] = t;
    p->tablet_count++;
    POST(at == 0 || slice_cmp(buf_slice(&p->tablets[at - 1]->key),
                              buf_slice(&t->key)) < 0); /* INV-1 */
    hash_map_put(&p->by_id, hash_key_u64(&t->id), NULL)->pointer = t;
}

void cluster_view_remove(struct cluster_view *p, struct known_tablet *t)
{
    size_t at = cluster_view_at(p, buf_slice(&t->key));
    PRE(!t->busy); /* INV-2 */
    INVARIANT(at < p->tablet_count);
    INVARIANT(p->tablets[at] == t); /* INV-1 */
    memmove(p->tablets + at, p->tablets + at + 1,
            (p->tablet_count - at - 1) * sizeof(*p->tablets));
    p->tablet_count--;
    hash_map_remove(&p->by_id, hash_key_u64(&t->id), NULL);
    free_tablet(t);
}

static struct known_tablet *tablet_of_key(struct cluster_view *p,
                                          struct slice key)
{
    size_t at = cluster_view_at(p, key);
    INVARIANT(at == 0 || slice_cmp(buf_slice(&p->tablets[at - 1]->key), key) <
                             0); /* INV-1 */
    return at < p->tablet_count &&
                   slice_eq(buf_slice(&p->tablets[at]->key), key)
               ? p->tablets[at]
               : NULL;
}

static void set_logs(struct known_tablet *t, const struct tablet_state *s)
{
    t->logs = mem_realloc(t->logs, (s->log_count + 1) * sizeof(*t->logs));
    if (s->log_count)
        memcpy(t->logs, s->logs, s->log_count * sizeof(*t->logs));
    t->log_count = s->log_count;
}

/* Set the place and stage of @t from its row and the report of its server. */
static void set_stage(struct cluster_view *p,
                      struct known_tablet *t,
                      const struct tablet_location *l,
                      uint64_t now_ns)
{
    const struct known_server *s = cluster_view_server(p, l->server);
    const struct tablet_load *load;
    bool same = t->stage != STAGE_UNASSIGNED && t->server == l->server &&
                t->epoch == l->epoch;
    t->server = l->server;
    t->epoch = l->epoch;
    if (!s || !s->alive) {
        t->stage = STAGE_UNASSIGNED;
        t->is_fresh = true;
        return;
    }
    INVARIANT(s->number == l->server);
    INVARIANT(l->server != 0); /* INV-3 */
    t->is_fresh = false;
    if (same)
        return;
    load = find_load(s, t->id);
    t->stage = load && load->phase == TABLET_SERVING && load->epoch == t->epoch
                   ? STAGE_SERVED
                   : STAGE_ORDERED;
    t->served_ns = now_ns;
    known_tablet_check(t);
}

static void known_tablet_fill(struct cluster_view *p,
                              struct known_tablet *t,
                              const struct metadata_row *row,
                              const struct parsed_row *r,
                              uint64_t now_ns)
{
    PRE(r->bounds.id == t->id);
    if (!slice_eq(buf_slice(&t->start), r->bounds.start))
        t->known_ns = now_ns;
    set_buf(&t->start, r->bounds.start);
    set_buf(&t->end, r->bounds.end);
    set_buf(&t->location, row->location);
    t->table = r->bounds.table;
    t->has_split = row->split.len > 0;
    set_logs(t, &r->state);
    if (t->requests_ns == 0)
        t->use.bytes = r->state.bytes;
    set_stage(p, t, &r->location, now_ns);
    POST(!t->is_fresh || t->stage == STAGE_UNASSIGNED); /* INV-6 */
}

int cluster_view_note_row(struct cluster_view *p,
                          const struct metadata_row *row,
                          uint64_t now_ns,
                          struct err *err)
{
    struct parsed_row *r = mem_alloc(sizeof(*r));
    int rc = cluster_view_parse_row(row, r, err);
    struct known_tablet *t = tablet_of_key(p, row->key);

    if (rc) {
        mem_free(r);
        return rc;
    }
    /* Another tablet has the row now, after a split or a merge. */
    if (t && t->id != r->bounds.id && !t->busy) {
        cluster_view_remove(p, t);
        t = NULL;
    }
    if (!t) {
        t = mem_zalloc(1, sizeof(*t));
        t->id = r->bounds.id;
        t->known_ns = now_ns;
        set_buf(&t->key, row->key);
        cluster_view_insert(p, t);
    }
    POST(tablet_of_key(p, row->key) == t); /* INV-1 */
    t->reading = p->reading;
    /* A row with a lower epoch was read before we changed it: INV-5. */
    if (!t->busy && r->location.epoch >= t->epoch)
        known_tablet_fill(p, t, row, r, now_ns);
    mem_free(r);
    return 0;
}

int cluster_view_refresh(struct cluster_view *p,
                         struct known_tablet *t,
                         const struct metadata_row *row,
                         uint64_t now_ns,
                         struct err *err)
{
    struct parsed_row *r = mem_alloc(sizeof(*r));
    int rc = cluster_view_parse_row(row, r, err);
    PRE(t->busy);
    if (rc == 0 && r->bounds.id != t->id)
        rc = err_set(err, ERR_NOTFOUND, "tablet %llu is no more",
                     (unsigned long long)t->id);
    if (rc == 0)
        known_tablet_fill(p, t, row, r, now_ns);
    mem_free(r);
    return rc;
}

void cluster_view_forget_unmet(struct cluster_view *p,
                               struct slice start,
                               struct slice end,
                               uint64_t reading)
{
    size_t i = cluster_view_at(p, start);

    PRE(reading <= p->reading);
    while (i < p->tablet_count) {
        struct known_tablet *t = p->tablets[i];
        if (end.len && slice_cmp(buf_slice(&t->key), end) >= 0)
            break;
        if (t->reading < reading && !t->busy &&
            cluster_view_level(t) != LEVEL_ROOT)
            cluster_view_remove(p, t);
        else
            i++;
    }
}

/* --- sums ---------------------------------------------------------------- */

struct weight_scale cluster_view_sum(struct cluster_view *p)
{
    struct weight_totals totals = {.tablets = p->tablet_count};
    struct weight_scale scale;

    for (size_t i = 0; i < p->server_count; i++) {
        struct known_server *s = p->servers[i];
        s->load = 0;
        s->tablets = 0;
        s->use = (struct tablet_use){0};
        totals.servers += s->alive;
        totals.memory_max += s->alive ? s->memory_max : 0;
    }
    for (size_t i = 0; i < p->tablet_count; i++) {
        const struct tablet_use *u = &p->tablets[i]->use;
        totals.use.bytes += u->bytes;
        totals.use.memory_bytes += u->memory_bytes;
        totals.use.requests_per_s += u->requests_per_s;
    }
    scale = weight_scale_of(&totals);
    for (size_t i = 0; i < p->tablet_count; i++) {
        const struct known_tablet *t = p->tablets[i];
        struct known_server *s = t->stage == STAGE_UNASSIGNED
                                     ? NULL
                                     : cluster_view_server(p, t->server);
        INVARIANT(t->stage == STAGE_UNASSIGNED || t->server != 0); /* INV-3 */
        if (!s)
            continue;
        s->load += weight_of(&scale, &t->use);
        s->tablets++;
        s->use.bytes += t->use.bytes;
        s->use.memory_bytes += t->use.memory_bytes;
        s->use.requests_per_s += t->use.requests_per_s;
    }
    return scale;
}

uint64_t cluster_view_count(const struct cluster_view *p,
                            enum tablet_stage stage)
{
    uint64_t n = 0;
    for (size_t i = 0; i < p->tablet_count; i++)
        n += p->tablets[i]->stage == stage;
    return n;
}
