/* Which table of a run may hold a prefix, by its Bloom filter.
 *
 * All keys with a prefix begin in the first table whose last key is not below
 * it, and that table's filter has the prefix. A deletion of the row or of a
 * family has a prefix of its own; so a column is probed for these as well, in
 * runs that have any.
 */
#include "bigtable/lsm/probe.h"

#include <string.h>

#include "base/core/buf.h"
#include "base/core/hash.h"
#include "base/core/panic.h"
#include "bigtable/row/explain.h"
#include "bigtable/sstable/sstable_reader.h"

/* Behind the row part: family id and marker, see row/cell_key.h. */
#define FAMILY_PART_BYTES 3

void run_probe_init(struct run_probe *p,
                    struct slice row,
                    struct slice column,
                    uint64_t column_hash)
{
    PRE(column.len == 0 || column.len > row.len);
    *p = (struct run_probe){.row = row, .column = column};
    p->row_hash = hash64_slice(row);
    p->column_hash = column.len ? column_hash : p->row_hash;
}

/* The filter of a table that has the key in its range ruled it out. */
static void explain_probe(struct explain_tablet *explain,
                          const struct lsm_table *t,
                          struct slice prefix)
{
    PRE(slice_cmp(t->last_key, prefix) >= 0);
    if (slice_cmp(t->first_key, prefix) <= 0 ||
        slice_starts_with(t->first_key, prefix))
        explain_file_met(explain, t->number, EXPLAIN_FILE_BLOOM_FILTER);
}

static int test_prefix(const struct run *r,
                       const struct sstable_probe *probe,
                       struct explain_tablet *explain,
                       bool *maybe,
                       struct err *err)
{
    uint32_t i = run_find(r, probe->prefix);
    struct sstable_probe one = *probe;
    int rc;

    PRE(probe->prefix.len > 0);
    if (i == r->table_count) {
        *maybe = false;
        return 0;
    }
    if (UNLIKELY(explain))
        one.explain = explain_file_met(explain, r->tables[i]->info.number,
                                       EXPLAIN_FILE_KEY_RANGE);
    rc = sstable_reader_probe(r->tables[i]->reader, &one, maybe, err);
    if (UNLIKELY(explain) && rc == 0 && !*maybe)
        explain_probe(explain, &r->tables[i]->info, probe->prefix);
    return rc;
}

/* *@maybe: there may be a deletion of the row or of the column's family. */
static int test_scopes(const struct run_probe *p,
                       const struct run *r,
                       bool *maybe,
                       struct err *err)
{
    struct buf key = BUF_INIT;
    struct sstable_probe probe = {.row_hash = p->row_hash};
    int rc;

    PRE(p->column.len >= p->row.len + FAMILY_PART_BYTES);
    buf_append_slice(&key, p->row);
    buf_append_fill(&key, '\0', FAMILY_PART_BYTES); /* Family 0: the row. */
    probe.prefix = buf_slice(&key);
    probe.hash = hash64_slice(probe.prefix);
    rc = test_prefix(r, &probe, p->explain, maybe, err);
    if (!rc && !*maybe) {
        memcpy(key.data + p->row.len, p->column.data + p->row.len,
               FAMILY_PART_BYTES - 1); /* The column's family, as a whole. */
        probe.hash = hash64_slice(probe.prefix);
        rc = test_prefix(r, &probe, p->explain, maybe, err);
    }
    buf_close(&key);
    return rc;
}

int run_probe_test(const struct run_probe *p,
                   const struct run *r,
                   bool *maybe,
                   struct err *err)
{
    struct sstable_probe probe = {
        .prefix = p->column.len ? p->column : p->row,
        .row_hash = p->row_hash,
        .hash = p->column_hash,
    };
    int rc = test_prefix(r, &probe, p->explain, maybe, err);
    PRE(p->row.len > 0 || p->column.len == 0);

    if (rc || *maybe || p->column.len < p->row.len + FAMILY_PART_BYTES ||
        !r->has_scope_deletions)
        return rc;
    return test_scopes(p, r, maybe, err);
}
