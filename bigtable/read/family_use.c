/* Bytes of families. Files and memtables have the families of a whole locality
 * group, so their bytes are divided in proportion: for a file by what its
 * properties count before compression, for a memtable by a walk over its
 * entries. In a group with files that a split left, each file counts as half.
 */
#include "bigtable/read/family_use.h"

#include "base/core/panic.h"
#include "bigtable/lsm/memtable.h"
#include "bigtable/lsm/version.h"
#include "bigtable/row/cell_key.h"
#include "bigtable/row/schema.h"
#include "bigtable/sstable/properties.h"
#include "bigtable/sstable/sstable_reader.h"
#include "bigtable/tablet/tablet.h"

#define NO_FAMILY SIZE_MAX

/* One group of a tablet, and what is found of its families. */
struct group_use {
    const struct tablet_group *group;
    const struct schema *schema;
    bool in_memory;
    uint64_t *part; /* For each family: of a whole that is yet to be divided. */
    struct family_use *uses;
};

/* Of an entry; 0: of a whole row, or none. */
static family_id family_of(struct slice key)
{
    size_t at = cell_key_row_length(key);
    if (at == 0 || at + 2 > key.len)
        return 0;
    ASSERT_SLOW(at < key.len);
    return (family_id)((unsigned char)key.data[at] << 8 |
                       (unsigned char)key.data[at + 1]);
}

static size_t index_of(const struct schema *s, family_id id)
{
    PRE(s->families || s->family_count == 0);
    for (size_t i = 0; i < s->family_count; i++)
        if (s->families[i].id == id)
            return i;
    return NO_FAMILY;
}

/* Give each family its part of @bytes, and have none left. */
static void
family_use_divide(struct group_use *g, uint64_t bytes, bool stored, bool memory)
{
    uint64_t whole = 0;
    for (size_t i = 0; i < g->schema->family_count; i++)
        whole += g->part[i];
    for (size_t i = 0; i < g->schema->family_count && whole; i++) {
        uint64_t n =
            (uint64_t)((double)bytes * (double)g->part[i] / (double)whole);
        g->uses[i].stored_bytes += stored ? n : 0;
        g->uses[i].memory_bytes += memory ? n : 0;
        g->part[i] = 0;
    }
}

static void add_file(struct group_use *g, const struct sstable_file *f)
{
    PRE(f->reader);

    const struct sstable_properties *p = sstable_reader_properties(f->reader);
    bool crossing = atomic_load(&g->group->crossing_count) > 0;
    for (size_t i = 0; i < p->family_count; i++) {
        size_t k = index_of(g->schema, p->families[i].id);
        if (k != NO_FAMILY)
            g->part[k] += p->families[i].bytes;
    }
    family_use_divide(g, crossing ? f->info.bytes / 2 : f->info.bytes, true,
                      g->in_memory);
}

/* The group's only family; NO_FAMILY when there are others. */
static size_t only_family(const struct group_use *g)
{
    size_t found = NO_FAMILY;
    for (size_t i = 0; i < g->schema->family_count; i++) {
        if (g->schema->families[i].group != g->group->id)
            continue;
        if (found != NO_FAMILY)
            return NO_FAMILY;
        found = i;
    }
    POST(found == NO_FAMILY || found < g->schema->family_count);
    return found;
}

static void add_memtable(struct group_use *g, const struct memtable *m)
{
    size_t only = only_family(g);
    const struct skip_node *n;
    PRE(g->part && g->uses);
    if (only != NO_FAMILY) {
        g->uses[only].memory_bytes += memtable_bytes(m);
        return;
    }
    for (n = skip_list_seek(&m->list, SLICE_EMPTY); n; n = skip_node_next(n)) {
        struct slice key = skip_node_key(n);
        size_t k = index_of(g->schema, family_of(key));
        if (k != NO_FAMILY)
            g->part[k] += key.len + n->value_len;
    }
    family_use_divide(g, memtable_bytes(m), false, true);
}

static bool is_in_memory(const struct tablet_group *g, const struct schema *s)
{
    for (size_t i = 0; i < s->group_count; i++)
        if (s->groups[i].id == g->id)
            return s->groups[i].options.in_memory;
    return false;
}

void family_use_add(const struct tablet *t,
                    const struct schema *schema,
                    bool memtables,
                    struct family_use *uses)
{
    uint64_t *part = mem_zalloc(schema->family_count + 1, sizeof(*part));
    PRE(uses || schema->family_count == 0);
    for (size_t i = 0; i < atomic_load(&t->group_count); i++) {
        struct group_use g = {.group = t->groups[i],
                              .schema = schema,
                              .in_memory = is_in_memory(t->groups[i], schema),
                              .part = part,
                              .uses = uses};
        struct lsm_snapshot *s = lsm_snapshot_new(t->groups[i]->lsm);
        for (size_t k = 0; k < s->version->table_count; k++)
            add_file(&g, s->version->tables[k]);
        for (size_t k = 0; k < s->mem_count && memtables; k++)
            add_memtable(&g, s->mems[k]);
        lsm_snapshot_free(s);
    }
    mem_free(part);
}

uint64_t tablet_memory_bytes(const struct tablet *t,
                             const struct schema *schema)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < atomic_load(&t->group_count); i++) {
        struct lsm_stats stats;
        lsm_stats(t->groups[i]->lsm, &stats);
        bytes += stats.memtable_bytes;
        if (is_in_memory(t->groups[i], schema))
            bytes += stats.table_bytes;
    }
    return bytes;
}
