/* Numbers for the names of owners. The table is searched for a number without
 * uses only when a new name comes, which is rare; inodes take and give back
 * uses.
 */
#include "gfs-lite/namenode/owners.h"

#include "base/core/panic.h"
#include "gfs-lite/namenode/inode.h"

void owners_init(struct owners *o)
{
    *o = (struct owners){.list = NULL};
    hash_map_init(&o->numbers, HASH_KEYS_BORROWED);
}

void owners_close(struct owners *o)
{
    for (uint16_t i = 0; i < o->count; i++)
        mem_free(o->list[i].name);
    mem_free(o->list);
    hash_map_close(&o->numbers);
}

/* A number that no inode has; 0: all are in use. */
static uint16_t free_number(struct owners *o)
{
    for (uint16_t i = 0; i < o->count; i++) {
        INVARIANT(o->list[i].uses == 0 || o->list[i].name); /* INV-1 */
        if (o->list[i].uses == 0)
            return (uint16_t)(i + 1);
    }
    if (o->count == OWNERS_MAX)
        return 0;
    if ((o->count & (o->count - 1)) == 0)
        o->list = mem_realloc(o->list, (o->count ? 2 * (size_t)o->count : 1) *
                                           sizeof(*o->list));
    o->list[o->count++] = (struct owner){.name = NULL};
    return o->count;
}

int owners_number(struct owners *o,
                  struct slice name,
                  uint16_t *number,
                  struct err *err)
{
    union hash_value *known;
    struct owner *at;
    *number = 0;
    if (name.len == 0)
        return 0;
    known = hash_map_get(&o->numbers, name);
    if (known) {
        *number = (uint16_t)known->number;
        return 0;
    }
    *number = free_number(o);
    if (*number == 0)
        return err_set(err, ERR_EXHAUSTED,
                       "files have %d owners, which is as many as there can be",
                       OWNERS_MAX);
    at = &o->list[*number - 1];
    if (at->name)
        hash_map_remove(&o->numbers, slice_str(at->name), NULL);
    mem_free(at->name);
    at->name = mem_strndup(name.data, name.len);
    hash_map_put(&o->numbers, slice_str(at->name), NULL)->number = *number;
    POST(*number > 0);
    POST(*number <= o->count);
    return 0;
}

struct slice owners_name(const struct owners *o, uint16_t number)
{
    PRE(number <= o->count);
    PRE(number == 0 || o->list[number - 1].name); /* INV-1 */
    return number ? slice_str(o->list[number - 1].name) : SLICE_EMPTY;
}

void owners_give(struct owners *o, struct inode *n, uint16_t number)
{
    PRE(number <= o->count);
    PRE(n->owner <= o->count);
    if (n->owner) {
        PRE(o->list[n->owner - 1].uses > 0);
        o->list[n->owner - 1].uses--;
    }
    INVARIANT(number == 0 || o->list[number - 1].name); /* INV-1 */
    n->owner = number;
    if (number)
        o->list[number - 1].uses++;
}
