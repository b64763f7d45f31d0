/* The checker of histories of lists: what is read is held against what was
 * appended, the order of each list is its longest read, and dependencies are
 * searched for cycles.
 *
 * For snapshots the nodes are doubled: (transaction, came by rw). A step by rw
 * leads to the second copy, which has no further rw, and any other step leads
 * back to the first; so a cycle of the doubled graph is one in which no two rw
 * follow each other.
 */
#include "tests/lib/append_history.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/hash_map.h"
#include "base/core/panic.h"

struct list_read {
    size_t txn;
    uint64_t key;
    uint64_t *values; /* Owned. */
    size_t count;
};

struct list_write {
    size_t txn;
    uint64_t key;
    uint64_t value;
};

struct txn_record {
    int64_t begun;
    int64_t ended;
    enum append_outcome outcome;
    bool counts; /* Committed, or unknown and seen. */
};

struct append_history {
    struct txn_record *txns;
    size_t txn_count;
    struct list_read *reads;
    size_t read_count;
    struct list_write *writes;
    size_t write_count;
};

enum edge_kind {
    EDGE_WW,
    EDGE_WR,
    EDGE_RW,
    EDGE_RT
};

struct edge {
    size_t to;
    enum edge_kind kind;
    uint64_t key;
    size_t next; /* Of the same transaction, plus 1; 0: none. */
};

struct checking {
    const struct append_history *h;
    struct txn_record *txns; /* A copy, in which `counts` is set. */
    struct hash_map writers; /* Index of the write, by value. */
    struct hash_map orders;  /* Index of the longest read, by key. */
    struct edge *edges;
    size_t edge_count;
    size_t *first; /* Of each transaction, plus 1. */
    struct buf *why;
};

struct append_history *append_history_new(void)
{
    return mem_zalloc(1, sizeof(struct append_history));
}

void append_history_free(struct append_history *h)
{
    for (size_t i = 0; i < h->read_count; i++)
        mem_free(h->reads[i].values);
    mem_free(h->txns);
    mem_free(h->reads);
    mem_free(h->writes);
    mem_free(h);
}

size_t append_history_count(const struct append_history *h)
{
    return h->txn_count;
}

/* Room for one more than @count of @size bytes in @array. */
static void *grown(void *array, size_t count, size_t size)
{
    if ((count & (count - 1)) != 0)
        return array;
    return mem_realloc(array, (count ? count * 2 : 1) * size);
}

size_t append_begin(struct append_history *h, int64_t at)
{
    h->txns = grown(h->txns, h->txn_count, sizeof(*h->txns));
    h->txns[h->txn_count] =
        (struct txn_record){.begun = at, .ended = INT64_MAX};
    return h->txn_count++;
}

void append_read(struct append_history *h,
                 size_t txn,
                 uint64_t key,
                 const uint64_t *values,
                 size_t count)
{
    struct list_read *r;
    PRE(txn < h->txn_count);
    h->reads = grown(h->reads, h->read_count, sizeof(*h->reads));
    r = &h->reads[h->read_count++];
    *r = (struct list_read){txn, key, NULL, count};
    r->values = mem_alloc((count + 1) * sizeof(*values));
    if (count)
        memcpy(r->values, values, count * sizeof(*values));
}

void append_write(struct append_history *h,
                  size_t txn,
                  uint64_t key,
                  uint64_t value)
{
    PRE(txn < h->txn_count && value != 0);
    h->writes = grown(h->writes, h->write_count, sizeof(*h->writes));
    h->writes[h->write_count++] = (struct list_write){txn, key, value};
}

void append_end(struct append_history *h,
                size_t txn,
                enum append_outcome outcome,
                int64_t at)
{
    PRE(txn < h->txn_count);
    h->txns[txn].outcome = outcome;
    h->txns[txn].ended = at;
}

/* --- what is read -------------------------------------------------------- */

static const struct list_write *writer_of(const struct checking *c,
                                          uint64_t value)
{
    const union hash_value *v = hash_map_get(&c->writers, hash_key_u64(&value));
    return v ? &c->h->writes[v->number] : NULL;
}

/* A value that was read was appended to this list, once, by a transaction that
 * did not abort. */
static bool check_value(struct checking *c, const struct list_read *r, size_t i)
{
    const struct list_write *w = writer_of(c, r->values[i]);
    unsigned long long value = r->values[i];
    if (!w || w->key != r->key) {
        buf_printf(c->why, "T%zu reads %llu in list %llu: nobody appended it\n",
                   r->txn, value, (unsigned long long)r->key);
        return false;
    }
    if (c->txns[w->txn].outcome == APPEND_ABORTED) {
        buf_printf(c->why, "T%zu reads %llu, which T%zu appended and aborted\n",
                   r->txn, value, w->txn);
        return false;
    }
    for (size_t k = 0; k < i; k++)
        if (r->values[k] == r->values[i]) {
            buf_printf(c->why, "T%zu reads %llu twice\n", r->txn, value);
            return false;
        }
    c->txns[w->txn].counts = true;
    return true;
}

/* A transaction's appends to one list are read all or none. */
static bool check_whole(struct checking *c, const struct list_read *r)
{
    const struct append_history *h = c->h;
    const struct list_write *last =
        r->count ? writer_of(c, r->values[r->count - 1]) : NULL;
    for (size_t i = 0; last && i < h->write_count; i++) {
        const struct list_write *w = &h->writes[i];
        bool seen = false;
        if (w->txn != last->txn || w->key != r->key)
            continue;
        for (size_t k = 0; k < r->count; k++)
            seen |= r->values[k] == w->value;
        if (!seen) {
            buf_printf(c->why, "T%zu reads a part of what T%zu appended\n",
                       r->txn, w->txn);
            return false;
        }
    }
    return true;
}

static bool find_orders(struct checking *c)
{
    const struct append_history *h = c->h;
    for (size_t i = 0; i < h->read_count; i++) {
        const struct list_read *r = &h->reads[i];
        union hash_value *v;
        bool added;
        for (size_t k = 0; k < r->count; k++)
            if (!check_value(c, r, k))
                return false;
        if (!check_whole(c, r))
            return false;
        v = hash_map_put(&c->orders, hash_key_u64(&r->key), &added);
        if (added || r->count > h->reads[v->number].count)
            v->number = i;
    }
    return true;
}

static const struct list_read *order_of(const struct checking *c, uint64_t key)
{
    const union hash_value *v = hash_map_get(&c->orders, hash_key_u64(&key));
    return v ? &c->h->reads[v->number] : NULL;
}

/* All reads of a list are beginnings of the longest. */
static bool check_prefixes(struct checking *c)
{
    for (size_t i = 0; i < c->h->read_count; i++) {
        const struct list_read *r = &c->h->reads[i];
        const struct list_read *o = order_of(c, r->key);
        if (r->count &&
            memcmp(r->values, o->values, r->count * sizeof(*r->values)) != 0) {
            buf_printf(c->why, "T%zu and T%zu read list %llu in two orders\n",
                       r->txn, o->txn, (unsigned long long)r->key);
            return false;
        }
    }
    return true;
}

/* --- dependencies -------------------------------------------------------- */

static void add_edge(struct checking *c,
                     size_t from,
                     size_t to,
                     enum edge_kind kind,
                     uint64_t key)
{
    if (from == to || !c->txns[from].counts || !c->txns[to].counts)
        return;
    c->edges = grown(c->edges, c->edge_count, sizeof(*c->edges));
    c->edges[c->edge_count] = (struct edge){to, kind, key, c->first[from]};
    c->first[from] = ++c->edge_count;
}

static void add_order_edges(struct checking *c, const struct list_read *o)
{
    for (size_t i = 1; i < o->count; i++)
        add_edge(c, writer_of(c, o->values[i - 1])->txn,
                 writer_of(c, o->values[i])->txn, EDGE_WW, o->key);
}

static void add_read_edges(struct checking *c, const struct list_read *r)
{
    const struct append_history *h = c->h;
    const struct list_read *o = order_of(c, r->key);
    if (r->count)
        add_edge(c, writer_of(c, r->values[r->count - 1])->txn, r->txn, EDGE_WR,
                 r->key);
    if (r->count < o->count) {
        add_edge(c, r->txn, writer_of(c, o->values[r->count])->txn, EDGE_RW,
                 r->key);
        return;
    }
    /* Values that nobody has read come after all that were. */
    for (size_t i = 0; i < h->write_count; i++) {
        const struct list_write *w = &h->writes[i];
        bool seen = false;
        if (w->key != r->key)
            continue;
        for (size_t k = 0; k < o->count; k++)
            seen |= o->values[k] == w->value;
        if (!seen)
            add_edge(c, r->txn, w->txn, EDGE_RW, r->key);
    }
}

static void add_edges(struct checking *c)
{
    const struct append_history *h = c->h;
    struct hash_slot *slot;
    size_t at = 0;
    while ((slot = hash_map_next(&c->orders, &at)) != NULL)
        add_order_edges(c, &h->reads[slot->value.number]);
    for (size_t i = 0; i < h->read_count; i++)
        add_read_edges(c, &h->reads[i]);
    for (size_t a = 0; a < h->txn_count; a++)
        for (size_t b = 0; b < h->txn_count; b++)
            if (c->txns[a].outcome == APPEND_COMMITTED &&
                c->txns[a].ended < c->txns[b].begun)
                add_edge(c, a, b, EDGE_RT, 0);
}

/* --- cycles -------------------------------------------------------------- */

/* A depth-first search over (transaction, came by rw), with its own stack. */
struct search {
    const struct checking *c;
    enum append_level level;
    unsigned char *color; /* 0 new, 1 on the stack, 2 done. */
    size_t *stack;        /* Nodes: 2 * transaction + came by rw. */
    size_t *edge;         /* For each: its next edge, plus 1. */
    size_t *by;           /* The edge by which it was reached, plus 1. */
    size_t depth;
};

static void search_push(struct search *s, size_t node, size_t by)
{
    s->color[node] = 1;
    s->stack[s->depth] = node;
    s->edge[s->depth] = s->c->first[node / 2];
    s->by[s->depth++] = by;
}

static void say_cycle(const struct search *s, size_t node, size_t last)
{
    static const char *const names[] = {"ww", "wr", "rw", "rt"};
    const struct edge *edges = s->c->edges;
    size_t i = s->depth;
    while (s->stack[i - 1] != node)
        i--;
    buf_printf(s->c->why, "a cycle: T%zu", node / 2);
    for (; i < s->depth; i++)
        buf_printf(
            s->c->why, " -%s %llu-> T%zu", names[edges[s->by[i] - 1].kind],
            (unsigned long long)edges[s->by[i] - 1].key, s->stack[i] / 2);
    buf_printf(s->c->why, " -%s %llu-> T%zu\n", names[edges[last - 1].kind],
               (unsigned long long)edges[last - 1].key, node / 2);
}

/* Follow one edge of the top; true: it closes a cycle. */
static bool search_step(struct search *s)
{
    size_t top = s->stack[s->depth - 1];
    size_t at = s->edge[s->depth - 1];
    const struct edge *e = &s->c->edges[at - 1];
    bool rw = e->kind == EDGE_RW && s->level == APPEND_SNAPSHOT;
    size_t to = 2 * e->to + rw;
    s->edge[s->depth - 1] = e->next;
    if (rw && top % 2)
        return false;
    if (s->color[to] == 1) {
        say_cycle(s, to, at);
        return true;
    }
    if (s->color[to] == 0)
        search_push(s, to, at);
    return false;
}

static bool find_cycle(struct checking *c, enum append_level level)
{
    size_t nodes = 2 * c->h->txn_count;
    struct search s = {.c = c, .level = level};
    bool found = false;
    s.color = mem_zalloc(nodes + 1, 1);
    s.stack = mem_zalloc(nodes + 1, sizeof(size_t));
    s.edge = mem_zalloc(nodes + 1, sizeof(size_t));
    s.by = mem_zalloc(nodes + 1, sizeof(size_t));
    for (size_t n = 0; n < nodes && !found; n++) {
        if (s.color[n] == 0)
            search_push(&s, n, 0);
        while (s.depth && !found) {
            if (s.edge[s.depth - 1] == 0)
                s.color[s.stack[--s.depth]] = 2;
            else
                found = search_step(&s);
        }
    }
    mem_free(s.color);
    mem_free(s.stack);
    mem_free(s.edge);
    mem_free(s.by);
    return found;
}

bool append_check(const struct append_history *h,
                  enum append_level level,
                  struct buf *why)
{
    struct checking c = {.h = h, .why = why};
    bool good;
    c.txns = mem_alloc((h->txn_count + 1) * sizeof(*c.txns));
    c.first = mem_zalloc(h->txn_count + 1, sizeof(*c.first));
    hash_map_init(&c.writers, HASH_KEYS_COPIED);
    hash_map_init(&c.orders, HASH_KEYS_COPIED);
    for (size_t i = 0; i < h->txn_count; i++) {
        c.txns[i] = h->txns[i];
        c.txns[i].counts = h->txns[i].outcome == APPEND_COMMITTED;
    }
    for (size_t i = 0; i < h->write_count; i++)
        hash_map_put(&c.writers, hash_key_u64(&h->writes[i].value), NULL)
            ->number = i;
    good = find_orders(&c) && check_prefixes(&c);
    if (good) {
        add_edges(&c);
        good = !find_cycle(&c, level);
    }
    hash_map_close(&c.writers);
    hash_map_close(&c.orders);
    mem_free(c.txns);
    mem_free(c.first);
    mem_free(c.edges);
    return good;
}
