/* Counters in a map. A value never moves after it was made, so that callers
 * keep its address and count without the map's lock. */
#include "base/rpc/vars.h"

#include <stdlib.h>

#include "base/core/buf.h"
#include "base/core/hash_map.h"
#include "base/core/panic.h"
#include "base/runtime/sync.h"

struct vars {
    struct mutex mutex;  /* Guards the map; not the values. */
    struct hash_map map; /* Name to struct var. */
};

struct vars *vars_new(void)
{
    struct vars *v = mem_zalloc(1, sizeof(*v));
    mutex_init(&v->mutex);
    hash_map_init(&v->map, HASH_KEYS_COPIED);
    return v;
}

void vars_free(struct vars *v)
{
    size_t at = 0;
    struct hash_slot *s;
    if (!v)
        return;
    while ((s = hash_map_next(&v->map, &at)))
        mem_free(s->value.pointer);
    hash_map_close(&v->map);
    mutex_close(&v->mutex);
    mem_free(v);
}

struct var *vars_get(struct vars *v, const char *name)
{
    union hash_value *value;
    bool added;
    struct var *var;
    mutex_lock(&v->mutex);
    value = hash_map_put(&v->map, slice_str(name), &added);
    if (added)
        value->pointer = mem_zalloc(1, sizeof(struct var));
    var = value->pointer;
    mutex_unlock(&v->mutex);
    return var;
}

static int compare_slots(const void *a, const void *b)
{
    return slice_cmp((*(struct hash_slot *const *)a)->key,
                     (*(struct hash_slot *const *)b)->key);
}

void vars_print(struct vars *v, struct buf *out)
{
    struct hash_slot **slots;
    size_t at = 0;
    size_t count;
    mutex_lock(&v->mutex);
    count = v->map.count;
    slots = mem_zalloc(count, sizeof(*slots));
    for (size_t i = 0; i < count; i++)
        slots[i] = hash_map_next(&v->map, &at);
    qsort(slots, count, sizeof(*slots), compare_slots);
    for (size_t i = 0; i < count; i++)
        buf_printf(out, "%.*s %llu\n", SLICE_ARG(slots[i]->key),
                   (unsigned long long)var_read(slots[i]->value.pointer));
    mutex_unlock(&v->mutex);
    mem_free(slots);
}
