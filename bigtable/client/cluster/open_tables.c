/* Open tables by name, and a list of those without users, the oldest first: it
 * is closed when too many are kept.
 */
#include "bigtable/client/cluster/open_tables.h"

#include "base/core/panic.h"
#include "bigtable/client/cluster/cluster_client.h"

void open_tables_init(struct open_tables *s)
{
    *s = (struct open_tables){.oldest = NULL};
    hash_map_init(&s->by_name, HASH_KEYS_BORROWED);
}

void open_tables_close(struct open_tables *s)
{
    PRE(s->by_name.count == 0);
    hash_map_close(&s->by_name);
}

static void unlink_idle(struct open_tables *s, struct cluster_table *t)
{
    PRE(s->idle_count > 0); /* INV-2. */
    if (t->older)
        t->older->newer = t->newer;
    else
        s->oldest = t->newer;
    if (t->newer)
        t->newer->older = t->older;
    else
        s->newest = t->older;
    t->older = NULL;
    t->newer = NULL;
    s->idle_count--;
    INVARIANT((s->oldest == NULL) == (s->idle_count == 0)); /* INV-2. */
}

struct cluster_table *open_tables_find(struct open_tables *s, const char *name)
{
    union hash_value *v = hash_map_get(&s->by_name, slice_str(name));
    struct cluster_table *t = v ? v->pointer : NULL;
    if (t && t->references++ == 0)
        unlink_idle(s, t);
    return t;
}

void open_tables_add(struct open_tables *s, struct cluster_table *t)
{
    bool added;
    PRE(t->references > 0 && !t->listed);
    hash_map_put(&s->by_name, slice_str(t->name), &added)->pointer = t;
    PRE(added);
    t->listed = true;
}

void open_tables_remove(struct open_tables *s, struct cluster_table *t)
{
    if (!t->listed)
        return;
    if (t->references == 0)
        unlink_idle(s, t);
    (void)hash_map_remove(&s->by_name, slice_str(t->name), NULL);
    t->listed = false;
}

struct cluster_table *open_tables_rest(struct open_tables *s,
                                       struct cluster_table *t)
{
    PRE(t->references == 0 && t->listed);
    t->older = s->newest;
    if (s->newest)
        s->newest->newer = t;
    else
        s->oldest = t;
    s->newest = t;
    s->idle_count++;
    INVARIANT(s->idle_count <= IDLE_TABLES_MAX + 1); /* INV-2. */
    return s->idle_count > IDLE_TABLES_MAX ? open_tables_take_idle(s) : NULL;
}

struct cluster_table *open_tables_take_idle(struct open_tables *s)
{
    struct cluster_table *t = s->oldest;
    if (t)
        open_tables_remove(s, t);
    return t;
}
