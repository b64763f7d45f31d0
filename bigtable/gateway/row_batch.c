/* Batches, and a stack of idle ones. The operations of a batch's rows lie one
 * after the other in large rooms, so that a bulk write allocates a few times
 * and not once a row; an idle batch keeps its newest room for the next request.
 */
#include "bigtable/gateway/row_batch.h"

#include "base/core/macros.h"
#include "base/core/panic.h"
#include "base/runtime/sync.h"
#include "bigtable/row/mutation.h"

/* A room has at least this many bytes. */
#define ROOM_BYTES_MIN ((size_t)128 << 10)
/* An idle batch keeps a room of at most this many bytes, */
#define IDLE_ROOM_BYTES_MAX ((size_t)512 << 10)
/* and an array of at most this many rows. */
#define IDLE_ROWS_MAX ((size_t)4096)
/* Idle batches kept: enough for a few dozen concurrent bulk writes. */
#define IDLE_MAX ((size_t)64)

struct room {
    struct room *next;
    size_t cap;
    char bytes[];
};

/* INV-1. count <= cap, and list[i] is &rows[i] for every i < cap.
 * INV-2. used <= rooms->cap while there is a room. */
struct row_batch {
    struct row_batch *next;        /* In the pool's stack of idle batches. */
    struct quarry_mutation *rows;  /* Owned; the first `count` are complete. */
    struct quarry_mutation **list; /* Owned: their addresses. */
    size_t cap;                    /* Of both. */
    size_t count;
    struct room *rooms; /* Owned; the first is being filled, */
    size_t used;        /* up to here. */
};

struct row_batch_pool {
    struct mutex mutex; /* Guards all below. */
    struct row_batch *idle;
    size_t idle_count;
};

/* --- the pool ------------------------------------------------------------ */

struct row_batch_pool *row_batch_pool_new(void)
{
    struct row_batch_pool *p = mem_zalloc(1, sizeof(*p));
    mutex_init(&p->mutex);
    return p;
}

static void free_rooms(struct room *r)
{
    while (r) {
        struct room *next = r->next;
        mem_free(r);
        r = next;
    }
}

static void free_batch(struct row_batch *b)
{
    free_rooms(b->rooms);
    mem_free(b->rows);
    mem_free(b->list);
    mem_free(b);
}

void row_batch_pool_free(struct row_batch_pool *p)
{
    if (!p)
        return;
    while (p->idle) {
        struct row_batch *b = p->idle;
        p->idle = b->next;
        free_batch(b);
    }
    mutex_close(&p->mutex);
    mem_free(p);
}

static void reserve_rows(struct row_batch *b, size_t count)
{
    if (count <= b->cap)
        return;
    mem_free(b->rows);
    mem_free(b->list);
    b->rows = mem_alloc(count * sizeof(*b->rows));
    b->list = mem_alloc(count * sizeof(struct quarry_mutation *));
    b->cap = count;
    for (size_t i = 0; i < count; i++)
        b->list[i] = &b->rows[i];
}

struct row_batch *row_batch_take(struct row_batch_pool *p, size_t row_count)
{
    struct row_batch *b;
    PRE(row_count > 0);
    mutex_lock(&p->mutex);
    b = p->idle;
    if (b) {
        p->idle = b->next;
        p->idle_count--;
    }
    mutex_unlock(&p->mutex);
    if (!b)
        b = mem_zalloc(1, sizeof(*b));
    POST(b->count == 0);
    reserve_rows(b, row_count);
    return b;
}

/* Empty @b; keep its newest room, which is the largest. */
static void row_batch_reset(struct row_batch *b)
{
    for (size_t i = 0; i < b->count; i++)
        mutation_end(&b->rows[i]);
    b->count = 0;
    b->used = 0;
    if (b->rooms) {
        free_rooms(b->rooms->next);
        b->rooms->next = NULL;
    }
}

static bool worth_keeping(const struct row_batch *b)
{
    return b->cap <= IDLE_ROWS_MAX &&
           (!b->rooms || b->rooms->cap <= IDLE_ROOM_BYTES_MAX);
}

void row_batch_give(struct row_batch_pool *p, struct row_batch *b)
{
    row_batch_reset(b);
    if (worth_keeping(b)) {
        mutex_lock(&p->mutex);
        if (p->idle_count < IDLE_MAX) {
            b->next = p->idle;
            p->idle = b;
            p->idle_count++;
            b = NULL;
        }
        mutex_unlock(&p->mutex);
    }
    if (b)
        free_batch(b);
}

/* --- rows ---------------------------------------------------------------- */

static void add_room(struct row_batch *b, size_t bytes)
{
    size_t cap = MAX_OF(bytes, ROOM_BYTES_MIN);
    struct room *r = mem_alloc(sizeof(*r) + cap);
    r->next = b->rooms;
    r->cap = cap;
    b->rooms = r;
    b->used = 0;
}

struct quarry_mutation *row_batch_begin(struct row_batch *b,
                                        struct slice row,
                                        size_t count,
                                        size_t bytes)
{
    struct quarry_mutation *m = &b->rows[b->count];
    PRE(b->count < b->cap);
    bytes += count * MUTATION_OP_BYTES;
    if (!b->rooms || b->rooms->cap - b->used < bytes)
        add_room(b, bytes);
    mutation_begin(m, row, b->rooms->bytes + b->used, bytes);
    return m;
}

void row_batch_end(struct row_batch *b, bool good)
{
    struct quarry_mutation *m = &b->rows[b->count];
    if (!good) {
        mutation_end(m);
        return;
    }
    if (m->ops.data == b->rooms->bytes + b->used)
        b->used += m->ops.len;           /* Otherwise they outgrew the room. */
    INVARIANT(b->used <= b->rooms->cap); /* INV-2. */
    b->count++;
    INVARIANT(b->count <= b->cap); /* INV-1. */
}

struct quarry_mutation *const *row_batch_rows(const struct row_batch *b)
{
    return b->list;
}

size_t row_batch_count(const struct row_batch *b)
{
    return b->count;
}
