/* Shared by the files of the reader: archive_reader.c gives out records,
 * record_start.c finds where they start, record_layout.c where they end, with
 * record_judge.c to tell whether a block is whole.
 *
 * A record is first laid out over the bytes in the buffer (struct layout:
 * offsets from its first byte), because reading more of them moves the buffer;
 * slices are made last.
 *
 * Invariants
 *
 * INV-1. left and hold refer to the record given out last; hold <= bytes in the
 *        buffer (archive_reader.c).
 * INV-2. told_until and the position never go back (archive_reader.c,
 *        record_start.c).
 *
 * Only these files include this.
 */
#ifndef MAPREDUCE_WARC_READER_INTERNAL_H
#define MAPREDUCE_WARC_READER_INTERNAL_H

#include "mapreduce/warc/archived_http.h"
#include "mapreduce/warc/decompress.h"
#include "mapreduce/warc/digest.h"
#include "mapreduce/warc/head.h"

/* Bytes of a record's start that tell it from text. */
#define START_BYTES ((size_t)128)

/* CR LF CR LF after each block. */
#define RECORD_SEPARATOR_BYTES 4

enum format {
    FORMAT_UNKNOWN,
    FORMAT_WARC,
    FORMAT_ARC
};

struct warc_reader {
    struct decompressor u;
    struct head head;  /* Its text is in the arena, for one record. */
    struct head probe; /* Scratch: for lines that may be heads. */
    struct arena arena;
    enum format format;
    uint64_t record_count;
    bool looked_at;     /* The first bytes were checked for other formats. */
    size_t hold;        /* Bytes of the record given out, not consumed yet. */
    uint64_t left;      /* Of its block, not given out yet. */
    bool starts_member; /* It started where a member starts. */
    uint64_t offset;    /* In the file, of the record being read. */
    uint64_t bytes_out;
    uint64_t told_until;   /* Losses before this position were reported. */
    uint64_t judged_bytes; /* Hashed so far to find lengths. */
    struct http_message message; /* Scratch of record_judge.c. */
};

struct layout {
    size_t head;    /* Bytes of the head. */
    uint64_t block; /* Of the block, as declared or corrected. */
    size_t end;     /* Where block and separators end. */
    bool cut;
    bool drop;
};

/* --- record_start.c ------------------------------------------------------ */

/* Contiguous bytes from the record's start: up to a gap or to the end of the
 * buffer. *@gap: it is a gap. */
size_t reader__joined(const struct warc_reader *r, bool *gap);
/* Does a member start @at bytes after the position? */
bool reader__is_member_start(const struct warc_reader *r, size_t at);
/* Does a member end where the bytes in the buffer end? */
bool reader__ends_member(const struct warc_reader *r);

static inline bool reader__is_separator(char c)
{
    return c == '\r' || c == '\n' || c == '\0';
}

/* Does an ARC record start at the start of @s? */
bool reader__arc_starts(struct warc_reader *r, struct slice s);
/* Index in [from, all.len) of a place where a record starts: after a line end
 * or NUL, or at a member's start. all.len: none. @blank: an empty line must be
 * before it, as at the end of every block. */
size_t reader__find_start(struct warc_reader *r,
                          struct slice all,
                          size_t from,
                          bool blank);
/* A record of the member at the position is reported as lost: nothing else of
 * the member is reported again. */
void reader__told(struct warc_reader *r);
/* No record starts at the position: skip bytes until one does, and report the
 * loss. */
MUST_CHECK int
reader__resync(struct warc_reader *r, const char *why, struct err *err);

/* --- record_judge.c ------------------------------------------------------ */

/* Does the record whose head is in r->head have a digest? */
bool reader__has_digest(const struct warc_reader *r);
/* Is @block its block? UNKNOWN: no evidence either way. */
enum digest_answer reader__judge(struct warc_reader *r, struct slice block);

/* --- record_layout.c ----------------------------------------------------- */

/* Read the block of the record whose head is in r->head, and find where it
 * really ends. PRE: head and block of @l are as the head declares. */
MUST_CHECK int
reader__lay_out(struct warc_reader *r, struct layout *l, struct err *err);
/* The record's URI for messages, cut. Returns @out. */
const char *reader__uri_text(const struct warc_reader *r, char *out, size_t n);

#endif /* MAPREDUCE_WARC_READER_INTERNAL_H */
