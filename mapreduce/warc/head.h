/* Heads of records: the header block of a WARC record (ISO 28500, section 4),
 * the line of an ARC record.
 *
 * Only archive_reader.c and the head_*.c files include this. Nothing waits.
 */
#ifndef MAPREDUCE_WARC_HEAD_H
#define MAPREDUCE_WARC_HEAD_H

#include "base/core/arena.h"
#include "mapreduce/warc/archive_reader.h"

/* A longer head is damage. */
#define HEAD_BYTES_MAX ((size_t)1 << 20)
/* Longest line that is taken for the head of an ARC record. */
#define HEAD_ARC_LINE_BYTES_MAX ((size_t)64 << 10)
#define HEAD_HEADER_COUNT_MAX   1024

struct head {
    struct warc_record record; /* Slices into the text or the arena. */
    struct warc_header headers[HEAD_HEADER_COUNT_MAX];
    bool has_length;
    bool bad_length; /* Content-Length is present, but not a number. */
};

/* Bytes of the WARC head at the start of @s with its blank line; 0: not all of
 * it is in @s. *@bad is set when a line shows that this is not a head, as when
 * another record starts inside. @at_end: nothing follows @s, so the blank line
 * may be missing. */
size_t head_warc_length(struct slice s, bool at_end, bool *bad);

/* Parse the @s that head_warc_length() delimited. Unfolded values live in
 * @arena. False when it is not a head. */
bool head_warc_parse(struct slice s, struct head *h, struct arena *arena);

/* Parse an ARC line, without its line end: five fields or ten, counted from the
 * right because URLs contain blanks. False: it is not one. @strict: every field
 * is well-formed, to tell a record's start from text. */
bool head_arc_parse(struct slice line, bool strict, struct head *h);

enum warc_type head_type(struct slice name);

/* Does a WARC head start here? More than "WARC/": a version, a line end and the
 * start of a header name that WARC heads start with. */
bool head_warc_starts(struct slice s);

#endif /* MAPREDUCE_WARC_HEAD_H */
