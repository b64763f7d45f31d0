/* Names with numbers from 0, in order of their first use: each is kept once.
 *
 * One thread. Nothing parks.
 */
#ifndef JOBS_GRAPH_NAMES_H
#define JOBS_GRAPH_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/slice.h"

struct graph_names {
    struct buf bytes; /* All names, one after the other. */
    uint64_t *ends;   /* In `bytes`; owned, as the next two. */
    uint32_t *hashes; /* Of each name. */
    uint32_t *slots;  /* Number + 1 by hash; 0: free. */
    uint32_t slot_mask;
    uint32_t count;
    uint32_t cap; /* Of ends and hashes. */
};

/* As zeroed memory. The number of @name, which is copied when it is new. */
uint32_t graph_names_add(struct graph_names *n, struct slice name);
struct slice graph_names_at(const struct graph_names *n, uint32_t number);
/* Memory taken. */
size_t graph_names_bytes(const struct graph_names *n);
void graph_names_clear(struct graph_names *n);
void graph_names_close(struct graph_names *n);

#endif /* JOBS_GRAPH_NAMES_H */
