/* Counters of a process, by name, for people and scrapers. `/vars` and
 * `/metrics` of the console list all of them.
 *
 * A counter is registered once, by its first vars_get(), and then added to
 * without a lock. Names are like "rpc.calls".
 *
 * Threads: any.
 */
#ifndef BASE_RPC_VARS_H
#define BASE_RPC_VARS_H

#include <stdatomic.h>
#include <stdint.h>

struct buf;
struct vars;

struct var {
    atomic_uint_least64_t value;
};

struct vars *vars_new(void); /* Owned. */
void vars_free(struct vars *v);

/* The counter @name (copied), which starts at 0. Borrowed until vars_free(). */
struct var *vars_get(struct vars *v, const char *name);

static inline void var_add(struct var *v, uint64_t by)
{
    atomic_fetch_add_explicit(&v->value, by, memory_order_relaxed);
}

static inline uint64_t var_read(const struct var *v)
{
    return atomic_load_explicit(&v->value, memory_order_relaxed);
}

/* Append "name value" lines in the names' order. */
void vars_print(struct vars *v, struct buf *out);

#endif /* BASE_RPC_VARS_H */
