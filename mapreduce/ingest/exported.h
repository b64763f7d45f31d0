/* Fields of an exported record beyond WARC/1.1, so that importing it gives the
 * cells it was made of. They are named Quarry-…; other readers ignore them, as
 * ISO 28500, section 5, requires of unknown fields.
 *
 *     Quarry-Record: 1             the fields below tell; absent ones are none
 *     Quarry-Source: FILE:OFFSET   meta:source
 *     Quarry-Type: revisit         meta:type, where the record is of another
 *     Quarry-Payload-Digest: …     meta:digest; WARC's own is of this file's
 *     Quarry-Coding: cut short     meta:coding
 *     Quarry-Revisit-Of: …         meta:revisit-of
 *     Quarry-Made-Id: 1            the record id is the exporter's
 *     Quarry-Head: masked          the HTTP head was changed, see below
 *     Quarry-Head: apart           it is in a metadata record behind this one
 *     Quarry-Head-Lines: lf        its lines end in LF alone
 *     Quarry-Language: de          language:, where the head would tell it
 *     Quarry-Escaped-NAME: a%01b   field NAME, whose value no line can hold
 *
 * Bodies lie in tables without their codings. A head that speaks of codings, or
 * of another length, would be a lie before such a body: those lines are masked
 * ("X-Quarry-Content-Encoding: gzip"), and a true Content-Length stands last.
 * Lines end in CR LF, by which other readers find the end of the head; one of
 * both kinds of lines is in a metadata record as well, which counts.
 * Other readers take heads up to 32 KB only, and take what a record of type
 * response holds for HTTP: a page without a head, or with a longer one, is a
 * record of type resource, the head in one of metadata behind it.
 *
 * Inside mapreduce/ingest only. Pure.
 */
#ifndef MAPREDUCE_INGEST_EXPORTED_H
#define MAPREDUCE_INGEST_EXPORTED_H

#include <stdbool.h>

#include "base/core/buf.h"
#include "mapreduce/warc/archive_reader.h"

/* The type of a record that contains a separate head. */
#define EXPORTED_HEAD_TYPE "application/x-quarry-http-head"
/* Longer heads are separate; masked and with a length they stay below 32 KB. */
#define EXPORTED_HEAD_BYTES_MAX ((size_t)16 << 10)

struct exported {
    bool is_one; /* The record is of an export. */
    bool made_id;
    bool masked;
    bool bare_lines;
    struct buf text; /* Of values that were escaped; zero before first use. */
    struct slice language;
    struct slice source;
    struct slice type;
    struct slice digest;
    struct slice coding;
    struct slice revisit_of;
};

/* Read the fields of @rec, and put its own values that were escaped in their
 * places; borrowed from it and from @out. */
void exported_read(struct warc_record *rec, struct exported *out);
void exported_close(struct exported *e);

/* Can @value be written on a line of its own and be read again unchanged? */
bool exported_is_plain(struct slice value);
/* Append a field, escaped if need be, unless @value is empty. */
void exported_put(struct buf *out, const char *name, struct slice value);
void exported_put_escaped(struct buf *out,
                          const char *name,
                          struct slice value);

enum exported_lines {
    EXPORTED_LINES_CRLF, /* As they should be. */
    EXPORTED_LINES_LF,   /* All end in LF, and there is no CR. */
    EXPORTED_LINES_MIXED
};

enum exported_lines exported_head_lines(struct slice head);
/* Append @head with CR LF where it has LF; exported_head_lf() is the reverse.
 */
void exported_head_crlf(struct slice head, struct buf *out);
void exported_head_lf(struct slice head, struct buf *out);

/* Can @head precede a body of @body_bytes unchanged? */
bool exported_head_fits(struct slice head, size_t body_bytes);
/* Append @head masked for such a body, and the reverse. Heads end in a line
 * end and have no blank line. */
void exported_head_mask(struct slice head, size_t body_bytes, struct buf *out);
void exported_head_unmask(struct slice head, struct buf *out);

#endif /* MAPREDUCE_INGEST_EXPORTED_H */
