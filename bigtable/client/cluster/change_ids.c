/* Numbers of changes. Blocks of numbers are listed in the order they were given
 * out, so the oldest open block is the floor below which every change is known
 * to have an answer, and servers may forget their records of those.
 */
#include "bigtable/client/cluster/change_ids.h"

#include "base/core/panic.h"
#include "base/runtime/world.h"

void change_ids_init(struct change_ids *ids, struct world *world)
{
    *ids = (struct change_ids){.session = world_random(world) | 1, .next = 1};
}

void change_ids_open(struct change_ids *ids,
                     struct change_block *b,
                     size_t count)
{
    *b = (struct change_block){.before = ids->newest, .first = ids->next};
    ids->next += count;
    if (ids->newest)
        ids->newest->behind = b;
    else
        ids->oldest = b;
    ids->newest = b;
}

void change_ids_close(struct change_ids *ids, struct change_block *b)
{
    if (b->before)
        b->before->behind = b->behind;
    else
        ids->oldest = b->behind;
    if (b->behind)
        b->behind->before = b->before;
    else
        ids->newest = b->before;
    INVARIANT(!ids->oldest || !ids->oldest->before);
    INVARIANT(!ids->newest || !ids->newest->behind);
    INVARIANT((ids->oldest == NULL) == (ids->newest == NULL));
}

struct change_origin change_ids_origin(const struct change_ids *ids)
{
    return (struct change_origin){.session = ids->session,
                                  .floor = ids->oldest ? ids->oldest->first
                                                       : ids->next};
}
