/* Reading all of an SSTable again, and comparing it with what it says of
 * itself: the order of its entries, its filters and its properties. Reads trust
 * these, so a mistake in them loses entries although every checksum is right.
 */
#include "bigtable/sstable/verify.h"

#include <inttypes.h>

#include "base/core/buf.h"
#include "base/core/hash.h"
#include "base/core/panic.h"
#include "bigtable/row/cell_key.h"
#include "bigtable/sstable/properties.h"
#include "bigtable/sstable/reader_parts.h"
#include "bigtable/sstable/sstable_reader.h"

struct check {
    struct sstable_reader *reader;
    struct sstable_properties seen; /* Counted again, entry by entry. */
    struct buf scratch;
};

static int
table_verify_wrong(const struct check *c, struct err *err, const char *what)
{
    return err_set(err, ERR_CORRUPT, "table %s: entry %" PRIu64 ": %s",
                   c->reader->path, c->seen.entry_count, what);
}

/* Would a read of @prefix look into this table? */
static int check_filter(struct check *c,
                        struct slice prefix,
                        struct slice row,
                        struct err *err)
{
    struct sstable_probe probe = {.prefix = prefix,
                                  .row_hash = hash64_slice(row),
                                  .hash = hash64_slice(prefix)};
    bool maybe;
    PRE(slice_starts_with(prefix, row));
    int rc = sstable_reader_probe(c->reader, &probe, &maybe, err);

    if (!rc && !maybe)
        rc = table_verify_wrong(c, err, "the filter does not know it");
    return rc;
}

static int check_entry(struct check *c,
                       struct slice key,
                       struct slice value,
                       struct err *err)
{
    struct slice last = buf_slice(&c->seen.last_key);
    struct cell_key k;
    bool scope;
    int rc;

    if (!cell_key_decode(key, &k, &c->scratch))
        return table_verify_wrong(c, err, "malformed key");
    if (c->seen.entry_count > 0 && slice_cmp(last, key) >= 0)
        return table_verify_wrong(c, err, "keys out of order");
    scope = k.kind == ENTRY_DELETE_ROW || k.kind == ENTRY_DELETE_FAMILY;
    sstable_properties_count(&c->seen, key, value.len, k.family, !scope);
    if (c->seen.entry_count == 1)
        buf_append_slice(&c->seen.first_key, key);
    buf_clear(&c->seen.last_key);
    buf_append_slice(&c->seen.last_key, key);
    rc = check_filter(c, slice_sub(key, 0, cell_key_row_length(key)),
                      slice_sub(key, 0, cell_key_row_length(key)), err);
    if (!rc)
        rc = check_filter(c, slice_sub(key, 0, cell_key_column_length(key)),
                          slice_sub(key, 0, cell_key_row_length(key)), err);
    return rc;
}

static int check_properties(const struct check *c, struct err *err)
{
    const struct sstable_properties *a = &c->seen;
    const struct sstable_properties *b = &c->reader->properties;
    bool same =
        a->entry_count == b->entry_count &&
        a->tombstone_count == b->tombstone_count &&
        a->scope_count == b->scope_count && a->key_bytes == b->key_bytes &&
        a->value_bytes == b->value_bytes &&
        a->sequence_min == b->sequence_min &&
        a->sequence_max == b->sequence_max &&
        a->time_min_us == b->time_min_us && a->time_max_us == b->time_max_us &&
        a->family_count == b->family_count &&
        slice_eq(buf_slice(&a->first_key), buf_slice(&b->first_key)) &&
        slice_eq(buf_slice(&a->last_key), buf_slice(&b->last_key));

    return same ? 0
                : table_verify_wrong(
                      c, err, "the properties do not describe the entries");
}

static int check_all(struct check *c, struct err *err)
{
    struct sstable_iter it;
    int rc;
    PRE(c->seen.entry_count == 0);

    sstable_iter_init(&it);
    sstable_iter_open(&it, c->reader, SSTABLE_READ_ONCE);
    rc = sstable_iter_seek(&it, SLICE_EMPTY, err);
    while (!rc && sstable_iter_valid(&it)) {
        rc =
            check_entry(c, sstable_iter_key(&it), sstable_iter_value(&it), err);
        if (!rc)
            rc = sstable_iter_next(&it, err);
    }
    sstable_iter_close(&it);
    return rc ? rc : check_properties(c, err);
}

int sstable_verify(struct sstable_reader *reader,
                   uint64_t *entry_count,
                   struct err *err)
{
    struct check c = {.reader = reader, .scratch = BUF_INIT};
    int rc;

    PRE(reader);
    sstable_properties_init(&c.seen);
    rc = check_all(&c, err);
    *entry_count = c.seen.entry_count;
    sstable_properties_close(&c.seen);
    buf_close(&c.scratch);
    return rc;
}
