/* Cells as records of a record file, as `quarry export` writes them.
 *
 *     first record   key "", value "quarry cells 1\n" and the table's schema
 *                    (table_schema.h)
 *     others         key: the row; value: family_bytes:varint family
 *                    qualifier_bytes:varint qualifier timestamp_us:i64 (little
 *                    endian) value
 *
 * Documented in docs/formats.md, "Record files". Pure. Public header of
 * mapreduce/ingest.
 */
#ifndef MAPREDUCE_INGEST_CELL_RECORD_H
#define MAPREDUCE_INGEST_CELL_RECORD_H

#include <stdbool.h>

#include "base/core/slice.h"
#include "bigtable/client/bulk_load.h" /* struct quarry_bulk_cell */

struct buf;

#define CELL_RECORD_MARK "quarry cells 1\n"

/* The first record's value of a table whose schema is @schema. */
void cell_record_put_head(struct buf *out, struct slice schema);
/* Is the first record that of cells? Then *@schema is borrowed from @value. */
bool cell_record_head(struct slice key,
                      struct slice value,
                      struct slice *schema);

/* Append the value of @cell's record. */
void cell_record_put(struct buf *out, const struct quarry_bulk_cell *cell);

#define CELL_RECORD_FAMILY_BYTES 128

/* The cell of a record; all of it is borrowed from @key and @value but its
 * family, which is in @family. False: it is none. */
bool cell_record_get(struct slice key,
                     struct slice value,
                     char family[CELL_RECORD_FAMILY_BYTES],
                     struct quarry_bulk_cell *out);

#endif /* MAPREDUCE_INGEST_CELL_RECORD_H */
