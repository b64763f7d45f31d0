/* What an exported record says beyond WARC, so that importing it gives the
 * cells it was made of: fields named Quarry-…, which other readers pass over as
 * the standard tells them to.
 *
 *     Quarry-Record: 1             the fields below tell; absent ones are none
 *     Quarry-Source: FILE:OFFSET   meta:source
 *     Quarry-Type: revisit         meta:type, where the record is of another
 *     Quarry-Payload-Digest: …     meta:digest; WARC's own is of this file's
 *     Quarry-Coding: cut short     meta:coding
 *     Quarry-Revisit-Of: …         meta:revisit-of
 *     Quarry-Made-Id: 1            the record id is the exporter's
 *     Quarry-Head: masked          the HTTP head is not as it came, see below
 *
 * Bodies lie in tables without their codings. A head that speaks of codings, or
 * of another length, would be a lie before such a body: those lines are masked
 * ("X-Quarry-Content-Encoding: gzip"), and a true Content-Length stands last.
 *
 * Inside mapreduce/ingest only. Pure.
 */
#ifndef MAPREDUCE_INGEST_EXPORTED_H
#define MAPREDUCE_INGEST_EXPORTED_H

#include <stdbool.h>

#include "base/core/buf.h"
#include "mapreduce/warc/reader.h"

struct exported {
    bool is_one; /* The record is of an export. */
    bool made_id;
    bool masked;
    struct slice source;
    struct slice type;
    struct slice digest;
    struct slice coding;
    struct slice revisit_of;
};

/* Read the fields of @rec; borrowed from it. */
void exported_read(const struct warc_record *rec, struct exported *out);

/* Append a field, unless @value is empty or holds what no field can. */
void exported_put(struct buf *out, const char *name, struct slice value);

/* Can @head stand before a body of @body_bytes as it is? */
bool exported_head_fits(struct slice head, size_t body_bytes);
/* Append @head masked for such a body, and the reverse. Heads end in a line
 * end and have no blank line. */
void exported_head_mask(struct slice head, size_t body_bytes, struct buf *out);
void exported_head_unmask(struct slice head, struct buf *out);

#endif /* MAPREDUCE_INGEST_EXPORTED_H */
