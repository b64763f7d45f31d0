/* Checking an SSTable that somebody else wrote, before a table takes it: reads
 * go by its properties and its filters, so a wrong one would lose rows without
 * an error. Every entry is read once and compared with what the file says of
 * itself and with the schema.
 */
#include <inttypes.h>

#include "base/core/buf.h"
#include "base/core/hash.h"
#include "base/core/panic.h"
#include "bigtable/row/cell_key.h"
#include "bigtable/row/schema.h"
#include "bigtable/sstable/block_cache.h"
#include "bigtable/sstable/properties.h"
#include "bigtable/sstable/sstable_reader.h"
#include "bigtable/store/add_files.h"
#include "gfs-lite/fs.h"

/* The reader's own blocks. */
#define CACHE_BYTES ((uint64_t)16 << 20)

struct check {
    const struct new_file *file;
    const struct schema *schema;
    struct buf last;
    struct buf scratch;
    uint64_t count;
};

static int
new_file_damaged(const struct check *c, const char *what, struct err *err)
{
    PRE(what);
    return err_set(err, ERR_CORRUPT, "%s: entry %" PRIu64 ": %s", c->file->path,
                   c->count, what);
}

/* Did a store write it, which numbers its entries? */
static bool new_file_is_numbered(const struct new_file *f)
{
    return f->sequence_max > 0;
}

/* Entries of a file that was loaded are numbered 0, whatever it counts for. */
static bool is_in_bounds(const struct check *c,
                         const struct cell_key *k,
                         struct slice value)
{
    if (k->kind == ENTRY_DELETE_RANGE && value.len != 16)
        return false;
    return k->sequence == 0 || (k->sequence >= c->file->sequence_min &&
                                k->sequence <= c->file->sequence_max);
}

static bool entry_kind_is_of_aggregate(enum entry_kind kind)
{
    return kind == ENTRY_PUT || entry_kind_is_operand(kind);
}

static int new_file_take(struct check *c, struct slice key)
{
    buf_clear(&c->last);
    buf_append_slice(&c->last, key);
    c->count++;
    POST(c->count > 0);
    return 0;
}

static int check_entry(struct check *c,
                       struct slice key,
                       struct slice value,
                       struct err *err)
{
    const struct family *f;
    struct cell_key k;
    if (!cell_key_decode(key, &k, &c->scratch))
        return new_file_damaged(c, "malformed key", err);
    if (c->count > 0 && slice_cmp(buf_slice(&c->last), key) >= 0)
        return new_file_damaged(c, "out of order", err);
    if (!new_file_is_numbered(c->file) &&
        (k.kind != ENTRY_PUT || k.sequence != 0))
        return new_file_damaged(c, "not a cell of a load", err);
    if (new_file_is_numbered(c->file) && !is_in_bounds(c, &k, value))
        return new_file_damaged(c, "not an entry of such a file", err);
    f = schema_family_by_id(c->schema, k.family);
    if (!f && new_file_is_numbered(c->file))
        return new_file_take(c, key);
    if (!f)
        return err_set(err, ERR_ABORTED,
                       "%s: entry %" PRIu64 ": its family is no more",
                       c->file->path, c->count);
    if (f->group != c->file->group)
        return new_file_damaged(c, "family of another locality group", err);
    if (f->aggregate ? entry_kind_is_of_aggregate(k.kind) &&
                           !aggregate_takes(f->aggregate, k.kind, value)
                     : entry_kind_is_operand(k.kind))
        return new_file_damaged(c, "not a state of its aggregate", err);
    return new_file_take(c, key);
}

/* Does the filter know @key? A read would not look for it otherwise. */
static int check_filter(struct check *c,
                        struct sstable_reader *r,
                        struct slice key,
                        struct err *err)
{
    struct slice row = slice_sub(key, 0, cell_key_row_length(key));
    struct slice column = slice_sub(key, 0, cell_key_column_length(key));
    struct sstable_probe probe = {.prefix = row, .row_hash = hash64_slice(row)};
    bool maybe = true;
    int rc;
    PRE(key.len > 0);
    probe.hash = probe.row_hash;
    rc = sstable_reader_probe(r, &probe, &maybe, err);
    if (rc == 0 && maybe) {
        probe.prefix = column;
        probe.hash = hash64_slice(column);
        rc = sstable_reader_probe(r, &probe, &maybe, err);
    }
    if (rc == 0 && !maybe)
        rc = new_file_damaged(c, "its filter does not know it", err);
    return rc;
}

static int
check_entries(struct check *c, struct sstable_reader *r, struct err *err)
{
    struct sstable_iter it;
    int rc;
    PRE(c->count == 0);
    sstable_iter_init(&it);
    sstable_iter_open(&it, r, SSTABLE_READ_ONCE);
    rc = sstable_iter_seek(&it, SLICE_EMPTY, err);
    while (rc == 0 && sstable_iter_valid(&it)) {
        rc =
            check_entry(c, sstable_iter_key(&it), sstable_iter_value(&it), err);
        if (rc == 0)
            rc = check_filter(c, r, sstable_iter_key(&it), err);
        if (rc == 0)
            rc = sstable_iter_next(&it, err);
    }
    sstable_iter_close(&it);
    POST(rc || !sstable_iter_valid(&it));
    return rc;
}

static int check_identity(const struct check *c,
                          const struct sstable_reader *r,
                          struct err *err)
{
    const struct sstable_properties *p = sstable_reader_properties(r);
    const struct new_file *f = c->file;
    if (f->bytes != sstable_reader_file_bytes(r) ||
        f->entries != p->entry_count ||
        p->sequence_max > (new_file_is_numbered(f) ? f->sequence_max : 0) ||
        !slice_eq(f->first_key, buf_slice(&p->first_key)) ||
        !slice_eq(f->last_key, buf_slice(&p->last_key)))
        return err_set(err, ERR_CORRUPT,
                       "%s: properties: not the file that was listed", f->path);
    return 0;
}

/* Its properties are what searches go by. */
static int check_ends(const struct check *c, struct err *err)
{
    PRE(c->last.len > 0 || c->count == 0);
    if (c->count != c->file->entries ||
        !slice_eq(buf_slice(&c->last), c->file->last_key))
        return err_set(err, ERR_CORRUPT,
                       "%s: %" PRIu64
                       " entries, where its properties say %" PRIu64
                       ", or another last key",
                       c->file->path, c->count, c->file->entries);
    return 0;
}

/* Where what is stored is encrypted, all of it is. */
static int check_sealing(struct fs *fs,
                         const struct new_file *f,
                         const struct sstable_reader *r,
                         struct err *err)
{
    if (!fs_keyring(fs) || sstable_reader_is_sealed(r))
        return 0;
    err_set(err, ERR_DENIED, "%s: it is not encrypted, and the table is",
            f->path);
    err_hint(err, "begin the load again: keys were made after it had begun");
    return ERR_DENIED;
}

int check_new_file(struct fs *fs,
                   const struct new_file *f,
                   const struct schema *schema,
                   struct err *err)
{
    struct check c = {.file = f, .schema = schema};
    struct block_cache *cache = block_cache_new(CACHE_BYTES);
    const struct sstable_reader_options opts = {.cache = cache};
    struct sstable_reader *r = NULL;
    int rc = schema_group_by_id(schema, f->group)
                 ? sstable_reader_open(fs, f->path, &opts, &r, err)
                 : err_set(err, ERR_CORRUPT, "%s: no locality group %u",
                           f->path, f->group);
    PRE(f->path);
    PRE(f->first_key.len > 0);
    if (rc == 0)
        rc = check_sealing(fs, f, r, err);
    if (rc == 0)
        rc = check_identity(&c, r, err);
    if (rc == 0)
        rc = check_entries(&c, r, err);
    if (rc == 0)
        rc = check_ends(&c, err);
    sstable_reader_unref(r);
    block_cache_free(cache);
    buf_close(&c.last);
    buf_close(&c.scratch);
    return rc;
}
