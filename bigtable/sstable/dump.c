/* Describing and checking a table through its reader. */
#include "bigtable/sstable/dump.h"

#include <inttypes.h>

#include "base/core/hash.h"
#include "base/core/panic.h"
#include "bigtable/sstable/block_cache.h"
#include "bigtable/sstable/reader_parts.h"

/* What the reader of one file may keep. */
#define DUMP_CACHE_BYTES ((size_t)4 << 20)
/* Bytes of a key or value that are shown. */
#define SHOWN_BYTES_MAX 80

static void show_bytes(struct buf *out, struct slice s)
{
    buf_append_byte(out, '"');
    for (size_t i = 0; i < s.len && i < SHOWN_BYTES_MAX; i++) {
        unsigned char c = (unsigned char)s.data[i];
        if (c == '"' || c == '\\')
            buf_printf(out, "\\%c", c);
        else if (c >= ' ' && c < 0x7f)
            buf_append_byte(out, (char)c);
        else
            buf_printf(out, "\\x%02x", c);
    }
    buf_append_byte(out, '"');
    if (s.len > SHOWN_BYTES_MAX)
        buf_printf(out, "…(%zu bytes)", s.len);
}

static const char *kind_name(enum entry_kind kind)
{
    switch (kind) {
    case ENTRY_PUT: return "put";
    case ENTRY_DELETE_CELL: return "delete-cell";
    case ENTRY_DELETE_COLUMN: return "delete-column";
    case ENTRY_DELETE_RANGE: return "delete-range";
    case ENTRY_DELETE_FAMILY: return "delete-family";
    case ENTRY_DELETE_ROW: return "delete-row";
    }
    return "unknown";
}

static void show_entry(struct buf *out,
                       struct slice key,
                       struct slice value,
                       struct buf *scratch)
{
    struct cell_key k;

    buf_append_str(out, "  ");
    if (!cell_key_decode(key, &k, scratch)) {
        buf_append_str(out, "malformed key ");
        show_bytes(out, key);
        buf_append_byte(out, '\n');
        return;
    }
    show_bytes(out, k.row);
    buf_printf(out, " family %u ", k.family);
    if (k.kind != ENTRY_DELETE_ROW && k.kind != ENTRY_DELETE_FAMILY) {
        show_bytes(out, k.qualifier);
        buf_printf(out, " @%" PRId64, k.timestamp_us);
    }
    buf_printf(out, " #%" PRIu64 " %s", k.sequence, kind_name(k.kind));
    if (value.len > 0) {
        buf_printf(out, " %zu bytes ", value.len);
        show_bytes(out, value);
    }
    buf_append_byte(out, '\n');
}

static void show_properties(struct buf *out, const struct table_reader *r)
{
    const struct table_properties *p = &r->properties;
    static const char *const blooms[] = {"none", "row", "row+column"};

    buf_printf(out, "table %s: format %u, %" PRIu64 " bytes\n", r->path,
               r->sealing ? TABLE_VERSION_SEALED : TABLE_VERSION,
               r->file_bytes);
    if (r->sealing)
        buf_printf(out, "encrypted with data key %016" PRIx64 "\n",
                   table_sealing_key_id(r->sealing));
    buf_printf(out,
               "entries %" PRIu64 " (deletions %" PRIu64
               ", of rows or families %" PRIu64 ")\n",
               p->entry_count, p->tombstone_count, p->scope_count);
    buf_printf(out,
               "uncompressed: keys %" PRIu64 ", values %" PRIu64
               " bytes; data blocks %" PRIu64 "\n",
               p->key_bytes, p->value_bytes, p->block_count);
    buf_printf(out, "sequence %" PRIu64 "..%" PRIu64 "\n", p->sequence_min,
               p->sequence_max);
    if (p->time_min_us <= p->time_max_us)
        buf_printf(out, "time %" PRId64 "..%" PRId64 "\n", p->time_min_us,
                   p->time_max_us);
    buf_printf(out, "dictionary %u bytes%s, filter %s\n",
               r->footer.dictionary.stored_bytes,
               p->dictionary_tried && !r->dictionary ? " (tried, did not pay)"
                                                     : "",
               p->bloom < 3 ? blooms[p->bloom] : "unknown");
    for (size_t i = 0; i < p->family_count; i++)
        buf_printf(out, "family %u: %" PRIu64 " bytes\n", p->families[i].id,
                   p->families[i].bytes);
    buf_append_str(out, "first key ");
    show_bytes(out, buf_slice(&p->first_key));
    buf_append_str(out, "\nlast key ");
    show_bytes(out, buf_slice(&p->last_key));
    buf_append_byte(out, '\n');
}

static void
show_block(void *arg, struct slice separator, const struct block_handle *h)
{
    struct buf *out = arg;

    buf_printf(out, "block at %" PRIu64 ": stored %u, decoded %u, before ",
               h->offset, h->stored_bytes, h->raw_bytes);
    show_bytes(out, separator);
    buf_append_byte(out, '\n');
}

static void show_partitions(struct buf *out, const struct table_reader *r)
{
    for (uint32_t i = 0; i < r->partition_count; i++) {
        const struct partition_entry *e = &r->partitions[i].entry;
        buf_printf(out,
                   "partition %u: %u blocks, index at %" PRIu64
                   " (%u bytes), filter at %" PRIu64 " (%u bytes), up to ",
                   i, e->block_count, e->index.offset, e->index.stored_bytes,
                   e->filter.offset, e->filter.stored_bytes);
        show_bytes(out, r->partitions[i].last_key);
        buf_append_byte(out, '\n');
    }
}

static int
show_entries(struct buf *out, struct table_reader *r, struct err *err)
{
    struct buf scratch = BUF_INIT;
    struct table_iter it;
    int rc;

    table_iter_init(&it);
    table_iter_open(&it, r, TABLE_READ_SCAN);
    rc = table_iter_seek(&it, SLICE_EMPTY, err);
    while (!rc && table_iter_valid(&it)) {
        show_entry(out, table_iter_key(&it), table_iter_value(&it), &scratch);
        rc = table_iter_next(&it, err);
    }
    table_iter_close(&it);
    buf_close(&scratch);
    return rc;
}

int sstable_dump(struct fs *fs,
                 const char *path,
                 bool entries,
                 struct buf *out,
                 struct err *err)
{
    struct block_cache *cache = block_cache_new(DUMP_CACHE_BYTES);
    struct table_reader_options opts = {.cache = cache};
    struct table_reader *r;
    int rc = table_reader_open(fs, path, &opts, &r, err);

    if (!rc) {
        show_properties(out, r);
        show_partitions(out, r);
        rc = table_reader_each_block(r, show_block, out, err);
        if (!rc && entries)
            rc = show_entries(out, r, err);
        table_reader_unref(r);
    }
    block_cache_free(cache);
    return rc;
}

/* --- checking ----------------------------------------------------------- */

struct check {
    struct table_reader *reader;
    struct table_properties seen; /* Counted again, entry by entry. */
    struct buf scratch;
};

static int wrong(const struct check *c, struct err *err, const char *what)
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
    struct table_probe probe = {.prefix = prefix,
                                .row_hash = hash64_slice(row),
                                .hash = hash64_slice(prefix)};
    bool maybe;
    int rc = table_reader_probe(c->reader, &probe, &maybe, err);

    if (!rc && !maybe)
        rc = wrong(c, err, "the filter does not know it");
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
        return wrong(c, err, "malformed key");
    if (c->seen.entry_count > 0 && slice_cmp(last, key) >= 0)
        return wrong(c, err, "keys out of order");
    scope = k.kind == ENTRY_DELETE_ROW || k.kind == ENTRY_DELETE_FAMILY;
    table_properties_count(&c->seen, key, value.len, k.family, !scope);
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
    const struct table_properties *a = &c->seen;
    const struct table_properties *b = &c->reader->properties;
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
                : wrong(c, err, "the properties do not describe the entries");
}

static int check_all(struct check *c, struct err *err)
{
    struct table_iter it;
    int rc;

    table_iter_init(&it);
    table_iter_open(&it, c->reader, TABLE_READ_SCAN);
    rc = table_iter_seek(&it, SLICE_EMPTY, err);
    while (!rc && table_iter_valid(&it)) {
        rc = check_entry(c, table_iter_key(&it), table_iter_value(&it), err);
        if (!rc)
            rc = table_iter_next(&it, err);
    }
    table_iter_close(&it);
    return rc ? rc : check_properties(c, err);
}

int sstable_verify(struct fs *fs,
                   const char *path,
                   struct sstable_report *report,
                   struct err *err)
{
    struct block_cache *cache = block_cache_new(DUMP_CACHE_BYTES);
    struct table_reader_options opts = {.cache = cache};
    struct check c = {.scratch = BUF_INIT};
    int rc = table_reader_open(fs, path, &opts, &c.reader, err);

    *report = (struct sstable_report){0};
    table_properties_init(&c.seen);
    if (!rc) {
        rc = check_all(&c, err);
        *report = (struct sstable_report){c.reader->file_bytes,
                                          c.reader->properties.block_count,
                                          c.seen.entry_count};
        table_reader_unref(c.reader);
    }
    table_properties_close(&c.seen);
    buf_close(&c.scratch);
    block_cache_free(cache);
    return rc;
}
