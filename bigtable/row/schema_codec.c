/* The binary form of a schema, as the manifest and snapshots keep it.
 *
 *     schema = version:varint next_family:varint next_group:varint
 *              group_count:varint group… family_count:varint family…
 *              and, from version 2 on, replication:varint of each group
 *              and, from version 3 on, cache:u8 of each group
 *              and, from version 4 on, changes_us:varint changes_bytes:varint
 *              and, from version 5 on, aggregate:u8 of each family
 *              and, from version 6 on, set (of indexes: index_set.c)
 *              and, from version 7 on, references:u8 of each group
 *     group  = name:lslice id:varint compression:u8 level:zigzag dictionary:u8
 *              block_bytes:varint bloom:u8 bloom_bits:varint in_memory:u8
 *              memtable_bytes:varint
 *     family = name:lslice id:varint group:varint rule
 */
#include <string.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/panic.h"
#include "bigtable/row/gc_rule.h"
#include "bigtable/row/hidden.h"
#include "bigtable/row/index_set.h"
#include "bigtable/row/schema.h"

/* Written with the lowest version that has what it says. */
#define SCHEMA_VERSION      7
#define VERSION_INDEXES     6
#define VERSION_AGGREGATES  5
#define VERSION_CHANGES     4
#define VERSION_CACHE       3
#define VERSION_REPLICATION 2
#define VERSION_PLAIN       1
#define GROUP_ENCODED_MIN   10 /* Bytes of the smallest group, */
#define FAMILY_ENCODED_MIN  4  /* and of the smallest family. */

static void encode_group(const struct locality_group *g, struct buf *out)
{
    const struct group_options *o = &g->options;
    buf_put_lslice(out, slice_str(g->name));
    buf_put_varint(out, g->id);
    buf_put_u8(out, (uint8_t)o->compression);
    buf_put_zigzag(out, o->level);
    buf_put_u8(out, o->dictionary);
    buf_put_varint(out, o->block_bytes);
    buf_put_u8(out, (uint8_t)o->bloom);
    buf_put_varint(out, o->bloom_bits);
    buf_put_u8(out, o->in_memory);
    buf_put_varint(out, o->memtable_bytes);
}

static bool has_replication(const struct schema *s)
{
    for (size_t i = 0; i < s->group_count; i++)
        if (s->groups[i].options.replication)
            return true;
    return false;
}

static bool has_cache(const struct schema *s)
{
    for (size_t i = 0; i < s->group_count; i++)
        if (s->groups[i].options.cache != CACHE_AUTO)
            return true;
    return false;
}

static bool has_references(const struct schema *s)
{
    for (size_t i = 0; i < s->group_count; i++)
        if (s->groups[i].options.references)
            return true;
    return false;
}

static uint64_t schema_version(const struct schema *s)
{
    if (has_references(s))
        return SCHEMA_VERSION;
    if (s->indexes)
        return VERSION_INDEXES;
    if (schema_has_aggregates(s))
        return VERSION_AGGREGATES;
    if (s->changes_us)
        return VERSION_CHANGES;
    if (has_cache(s))
        return VERSION_CACHE;
    return has_replication(s) ? VERSION_REPLICATION : VERSION_PLAIN;
}

/* A set of none where the schema has none. */
static void encode_indexes(const struct schema *s, struct buf *out)
{
    static const struct index_set none;
    index_set_encode(s->indexes ? s->indexes : &none, out);
}

void schema_encode(const struct schema *s, struct buf *out)
{
    uint64_t version = schema_version(s);
    buf_put_varint(out, version);
    buf_put_varint(out, s->next_family);
    buf_put_varint(out, s->next_group);
    buf_put_varint(out, s->group_count);
    for (size_t i = 0; i < s->group_count; i++)
        encode_group(&s->groups[i], out);
    buf_put_varint(out, s->family_count);
    for (size_t i = 0; i < s->family_count; i++) {
        const struct family *f = &s->families[i];
        buf_put_lslice(out, slice_str(f->name));
        buf_put_varint(out, f->id);
        buf_put_varint(out, f->group);
        gc_rule_encode(f->gc, out);
    }
    for (size_t i = 0; version > VERSION_PLAIN && i < s->group_count; i++)
        buf_put_varint(out, s->groups[i].options.replication);
    for (size_t i = 0; version >= VERSION_CACHE && i < s->group_count; i++)
        buf_put_u8(out, (uint8_t)s->groups[i].options.cache);
    if (version < VERSION_CHANGES)
        return;
    buf_put_varint(out, s->changes_us);
    buf_put_varint(out, s->changes_bytes);
    for (size_t i = 0; version >= VERSION_AGGREGATES && i < s->family_count;
         i++)
        buf_put_u8(out, (uint8_t)s->families[i].aggregate);
    if (version >= VERSION_INDEXES)
        encode_indexes(s, out);
    for (size_t i = 0; version >= SCHEMA_VERSION && i < s->group_count; i++)
        buf_put_u8(out, s->groups[i].options.references);
}

/* A number of at most @max; anything else is bad. */
static uint64_t read_number(struct cursor *c, uint64_t max)
{
    uint64_t v = cursor_varint(c);
    if (v > max) {
        c->bad = true;
        return 0;
    }
    return v;
}

static void read_name(struct cursor *c, char name[FAMILY_NAME_BYTES_MAX + 1])
{
    struct slice s = cursor_lslice(c);
    if (c->bad || schema_check_name("", s, NULL) != 0) {
        c->bad = true;
        return;
    }
    memcpy(name, s.data, s.len);
    name[s.len] = '\0';
}

static void decode_group(struct cursor *c, struct locality_group *g)
{
    struct group_options *o = &g->options;
    int64_t level;
    uint8_t flag;
    read_name(c, g->name);
    g->id = (uint32_t)read_number(c, UINT32_MAX);
    flag = cursor_u8(c);
    c->bad |= flag >= COMPRESSION_COUNT;
    o->compression = c->bad ? COMPRESSION_NONE : (enum compression)flag;
    level = cursor_zigzag(c);
    c->bad |= level < -5 || level > 19;
    o->level = (int)level;
    o->dictionary = cursor_u8(c) != 0;
    o->block_bytes = (uint32_t)read_number(c, UINT32_MAX);
    flag = cursor_u8(c);
    c->bad |= flag > BLOOM_ROW_COLUMN;
    o->bloom = (enum bloom_kind)(flag <= BLOOM_ROW_COLUMN ? flag : 0);
    o->bloom_bits = (uint32_t)read_number(c, 64);
    o->in_memory = cursor_u8(c) != 0;
    o->memtable_bytes = cursor_varint(c);
}

static void decode_groups(struct cursor *c, struct schema *s)
{
    size_t count = cursor_count(c, GROUP_ENCODED_MIN);
    if (count == 0 || count > GROUP_COUNT_MAX) {
        c->bad = true;
        return;
    }
    s->groups = mem_zalloc(count, sizeof(*s->groups));
    while (s->group_count < count && !c->bad) {
        struct locality_group *g = &s->groups[s->group_count++];
        decode_group(c, g);
        c->bad |= g->id >= s->next_group;
        if (s->group_count > 1)
            c->bad |= g->id <= g[-1].id;
    }
}

static void decode_families(struct cursor *c, struct schema *s)
{
    size_t count = cursor_count(c, FAMILY_ENCODED_MIN);
    if (count > FAMILY_COUNT_MAX)
        c->bad = true;
    if (c->bad || count == 0)
        return;
    s->families = mem_zalloc(count, sizeof(*s->families));
    while (s->family_count < count && !c->bad) {
        struct family *f = &s->families[s->family_count++];
        read_name(c, f->name);
        f->hidden = hidden_is_name(slice_str(f->name));
        s->hidden_count += f->hidden;
        s->txn_count += hidden_is_txn(slice_str(f->name));
        f->id = (family_id)read_number(c, UINT16_MAX);
        f->group = (uint32_t)read_number(c, UINT32_MAX);
        gc_rule_decode(c, &f->gc);
        c->bad |= f->id >= s->next_family || !schema_group_by_id(s, f->group);
        if (s->family_count > 1)
            c->bad |= f->id <= f[-1].id;
    }
}

int schema_decode(struct slice bytes, struct schema **out, struct err *err)
{
    struct cursor c = cursor_make(bytes);
    struct schema *s;
    uint64_t version = cursor_varint(&c);
    *out = NULL;
    if (!c.bad && version > SCHEMA_VERSION) {
        err_set(err, ERR_UNSUPPORTED,
                "schema format %llu is newer than this program's (%d)",
                (unsigned long long)version, SCHEMA_VERSION);
        err_hint(err, "use a newer quarry");
        return ERR_UNSUPPORTED;
    }
    s = mem_zalloc(1, sizeof(*s));
    s->next_family = (family_id)read_number(&c, UINT16_MAX);
    s->next_group = (uint32_t)read_number(&c, UINT32_MAX);
    decode_groups(&c, s);
    if (!c.bad)
        decode_families(&c, s);
    for (size_t i = 0; version > VERSION_PLAIN && i < s->group_count; i++)
        s->groups[i].options.replication =
            (uint32_t)read_number(&c, REPLICATION_MAX);
    for (size_t i = 0; version >= VERSION_CACHE && i < s->group_count; i++)
        s->groups[i].options.cache =
            (enum cache_option)read_number(&c, CACHE_OPTION_COUNT - 1);
    if (version >= VERSION_CHANGES) {
        s->changes_us = read_number(&c, CHANGES_US_MAX);
        s->changes_bytes = cursor_varint(&c);
        c.bad |= s->changes_us == 0 && version == VERSION_CHANGES;
    }
    for (size_t i = 0; version >= VERSION_AGGREGATES && i < s->family_count;
         i++)
        s->families[i].aggregate =
            (enum aggregate_kind)read_number(&c, AGGREGATE_KIND_COUNT - 1);
    if (version >= VERSION_INDEXES)
        index_set_decode(&c, &s->indexes);
    if (s->indexes && s->indexes->count == 0 && s->indexes->version == 0) {
        index_set_unref(s->indexes);
        s->indexes = NULL;
    }
    for (size_t i = 0; version >= SCHEMA_VERSION && i < s->group_count; i++)
        s->groups[i].options.references = read_number(&c, 1) == 1;
    if (c.bad || c.p != c.end) {
        schema_free(s);
        return err_set(err, ERR_CORRUPT, "malformed schema");
    }
    *out = s;
    return 0;
}
