/* A linked list: jobs have a handful of counters, and hot ones are held by
 * pointer, which a list never moves. Sums wrap, as unsigned arithmetic: a
 * counter is never worth failing a job for. */
#include "mapreduce/task/task_counters.h"

#include <string.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/panic.h"

void counters_init(struct counters *c)
{
    *c = (struct counters){NULL, NULL, 0};
}

void counters_close(struct counters *c)
{
    while (c->first) {
        struct counter *next = c->first->next;
        mem_free(c->first);
        c->first = next;
    }
    counters_init(c);
    POST(c->count == 0);
}

static struct counter *counter_new(struct counters *c, struct slice name)
{
    struct counter *n = mem_zalloc(1, sizeof(*n) + name.len + 1);
    memcpy(n->name, name.data, name.len);
    if (c->last)
        c->last->next = n;
    else
        c->first = n;
    c->last = n;
    c->count++;
    INVARIANT(c->count <= COUNTERS_MAX + 1); /* INV-2 */
    return n;
}

static int64_t *counters_get_slice(struct counters *c, struct slice name)
{
    name = slice_sub(name, 0, COUNTER_NAME_BYTES_MAX);
    for (struct counter *n = c->first; n; n = n->next)
        if (slice_eq_str(name, n->name))
            return &n->value;
    if (c->count >= COUNTERS_MAX && !slice_eq_str(name, "other"))
        return counters_get_slice(c, SLICE_LIT("other"));
    return &counter_new(c, name)->value;
}

int64_t *counters_get(struct counters *c, const char *name)
{
    PRE(name[0] != '\0');
    return counters_get_slice(c, slice_str(name));
}

static void counters_add(int64_t *counter, int64_t by)
{
    *counter = (int64_t)((uint64_t)*counter + (uint64_t)by);
}

void counters_merge_some(struct counters *into,
                         const struct counters *from,
                         const char *prefix)
{
    for (const struct counter *c = from->first; c; c = c->next)
        if (strncmp(c->name, prefix, strlen(prefix)) == 0)
            counters_add(counters_get(into, c->name), c->value);
}

void counters_merge(struct counters *into, const struct counters *from)
{
    counters_merge_some(into, from, "");
}

int64_t counters_value(const struct counters *c, const char *name)
{
    for (const struct counter *k = c->first; k; k = k->next)
        if (strcmp(k->name, name) == 0)
            return k->value;
    return 0;
}

void counters_encode(const struct counters *c, struct buf *out)
{
    buf_put_varint(out, c->count);
    for (const struct counter *n = c->first; n; n = n->next) {
        buf_put_lslice(out, slice_str(n->name));
        buf_put_zigzag(out, n->value);
    }
}

void counters_decode(struct counters *c, struct cursor *in)
{
    size_t count = cursor_count(in, 2);
    for (size_t i = 0; i < count && !in->bad; i++) {
        struct slice name = cursor_lslice(in);
        int64_t value = cursor_zigzag(in);
        if (!in->bad && memchr(name.data, 0, name.len) == NULL)
            counters_add(counters_get_slice(c, name), value);
    }
}
