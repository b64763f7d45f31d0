/* Small pieces of memory on free lists by size, for nghttp2, which allocates
 * and frees a few for each stream.
 */
#include "bigtable/gateway/session_memory.h"

#include <stdalign.h>
#include <stdint.h>
#include <string.h>

#include "base/core/macros.h"
#include "base/core/panic.h"
#include "bigtable/gateway/grpc_budget.h"

/* Kept at most: what a few hundred calls at once have. Nothing where the
 * allocator is to notice what is used after it was given back. */
#if BUILT_WITH_ASAN
#define IDLE_BYTES_MAX ((size_t)0)
#else
#define IDLE_BYTES_MAX ((size_t)512 << 10)
#endif

/* In front of what the session gets. */
struct session_piece {
    union {
        struct session_piece *next; /* While it is idle. */
        size_t bytes;               /* Of it all. */
    };

    alignas(max_align_t) char data[];
};

static struct session_piece *piece_of(void *data)
{
    return CONTAINER_OF(data, struct session_piece, data);
}

static struct session_piece *charge_and_alloc(struct session_memory *m,
                                              size_t bytes)
{
    struct session_piece *p;
    if (m->budget && !grpc_budget_charge(m->budget, bytes))
        return NULL;
    p = mem_try_alloc(bytes);
    if (!p && m->budget)
        grpc_budget_refund(m->budget, bytes);
    return p;
}

static void
free_and_refund(struct session_memory *m, struct session_piece *p, size_t bytes)
{
    mem_free(p);
    if (m->budget)
        grpc_budget_refund(m->budget, bytes);
}

/* Its list, or 0 for a large one. */
static size_t class_of(size_t bytes)
{
    size_t steps = bytes / SESSION_MEMORY_STEP;
    return steps <= SESSION_MEMORY_CLASSES ? steps : 0;
}

static void *session_memory_take(size_t size, void *user)
{
    struct session_memory *m = user;
    struct session_piece *p;
    size_t bytes;
    size_t class;
    if (size > SIZE_MAX / 2)
        return NULL;
    bytes = (sizeof(*p) + size + SESSION_MEMORY_STEP - 1) /
            SESSION_MEMORY_STEP * SESSION_MEMORY_STEP;
    class = class_of(bytes);
    p = m->idle[class];
    if (p) {
        m->idle[class] = p->next;
        m->idle_bytes -= bytes;
    } else {
        p = charge_and_alloc(m, bytes);
        if (!p)
            return NULL;
    }
    p->bytes = bytes;
    return p->data;
}

static void session_memory_give(void *data, void *user)
{
    struct session_memory *m = user;
    struct session_piece *p;
    size_t class;
    if (!data)
        return;
    p = piece_of(data);
    class = class_of(p->bytes);
    if (class == 0 || m->idle_bytes + p->bytes > IDLE_BYTES_MAX) {
        free_and_refund(m, p, p->bytes);
        return;
    }
    m->idle_bytes += p->bytes;
    p->next = m->idle[class];
    m->idle[class] = p;
}

static void *take_zeros(size_t count, size_t size, void *user)
{
    void *data;
    if (size && count > SIZE_MAX / size)
        return NULL;
    data = session_memory_take(count * size, user);
    if (data)
        memset(data, 0, count * size);
    return data;
}

static void *session_memory_resize(void *data, size_t size, void *user)
{
    size_t room =
        data ? piece_of(data)->bytes - sizeof(struct session_piece) : 0;
    void *grown;
    if (data && size <= room)
        return data;
    grown = session_memory_take(size, user);
    if (grown && data) {
        memcpy(grown, data, room);
        session_memory_give(data, user);
    }
    return grown;
}

nghttp2_mem session_memory_of(struct session_memory *m)
{
    return (nghttp2_mem){.mem_user_data = m,
                         .malloc = session_memory_take,
                         .free = session_memory_give,
                         .calloc = take_zeros,
                         .realloc = session_memory_resize};
}

void session_memory_close(struct session_memory *m)
{
    for (size_t i = 0; i <= SESSION_MEMORY_CLASSES; i++)
        while (m->idle[i]) {
            struct session_piece *p = m->idle[i];
            m->idle[i] = p->next;
            free_and_refund(m, p, i * SESSION_MEMORY_STEP);
        }
    m->idle_bytes = 0;
}
