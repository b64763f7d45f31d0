/* Between the files of the reader: reader.c hands out records, record_start.c
 * finds where they start, record_layout.c where they end, with record_judge.c
 * to tell whether a block is whole.
 *
 * A record is first laid out over the bytes at hand (struct layout: offsets
 * from its first byte), because having more of them moves the buffer; slices
 * are made last. Only these files include this.
 */
#ifndef MAPREDUCE_WARC_READER_INTERNAL_H
#define MAPREDUCE_WARC_READER_INTERNAL_H

#include "mapreduce/warc/digest.h"
#include "mapreduce/warc/head.h"
#include "mapreduce/warc/http.h"
#include "mapreduce/warc/unpack.h"

/* Bytes of a record's start that tell it from text. */
#define START_BYTES ((size_t)128)

/* CR LF CR LF behind each block. */
#define RECORD_SEPARATOR_BYTES 4

enum format {
    FORMAT_UNKNOWN,
    FORMAT_WARC,
    FORMAT_ARC
};

struct warc_reader {
    struct unpack u;
    struct head head;  /* Its text is in the arena, for one record. */
    struct head probe; /* Scratch: of lines that may be heads. */
    struct arena arena;
    enum format format;
    uint64_t record_count;
    bool looked_at;     /* The first bytes, for what is no archive. */
    size_t hold;        /* Bytes of the record handed out, still unconsumed. */
    uint64_t left;      /* Of its block, not handed out yet. */
    bool starts_member; /* It started where a member starts. */
    uint64_t offset;    /* In the file, of the record being read. */
    uint64_t bytes_out;
    uint64_t told_until;   /* What is lost before this position was reported. */
    uint64_t judged_bytes; /* Hashed so far to find lengths. */
    struct http_message message; /* Scratch of record_judge.c. */
};

struct layout {
    size_t head;    /* Bytes of the head. */
    uint64_t block; /* Of the block, as declared or put right. */
    size_t end;     /* Where block and separators end. */
    bool cut;
    bool drop;
};

/* --- record_start.c ------------------------------------------------------ */

/* Bytes from the record's start that join: up to a gap or to the end of what is
 * at hand. *@gap: it is a gap. */
size_t reader__joined(const struct warc_reader *r, bool *gap);
/* Does a member start @at bytes behind the position? */
bool reader__is_member_start(const struct warc_reader *r, size_t at);
/* Do the bytes at hand end where a member ends? */
bool reader__ends_member(const struct warc_reader *r);

static inline bool reader__is_separator(char c)
{
    return c == '\r' || c == '\n' || c == '\0';
}

/* Does an ARC record start at the start of @s? */
bool reader__arc_starts(struct warc_reader *r, struct slice s);
/* Index in [from, all.len) of a place where a record starts: behind a line end
 * or NUL, or at a member's start. all.len: none. @blank: an empty line must be
 * before it, as there is at the end of every block. */
size_t reader__find_start(struct warc_reader *r,
                          struct slice all,
                          size_t from,
                          bool blank);
/* A record of the member at the position is reported as lost: what else is
 * unreadable of it is not reported again. */
void reader__told(struct warc_reader *r);
/* Nothing at the position starts a record: skip bytes until something does, and
 * report what was lost. */
MUST_CHECK int
reader__resync(struct warc_reader *r, const char *why, struct err *err);

/* --- record_judge.c ------------------------------------------------------ */

/* Does the record whose head is in r->head have a digest? */
bool reader__has_digest(const struct warc_reader *r);
/* Is @block its block? UNKNOWN: nothing says so or otherwise. */
enum digest_answer reader__judge(struct warc_reader *r, struct slice block);

/* --- record_layout.c ----------------------------------------------------- */

/* Have the block of the record whose head is in r->head, and find where it
 * really ends. PRE: head and block of @l are what the head says. */
MUST_CHECK int
reader__lay_out(struct warc_reader *r, struct layout *l, struct err *err);
/* The record's URI for messages, cut. Returns @out. */
const char *reader__uri_text(const struct warc_reader *r, char *out, size_t n);

#endif /* MAPREDUCE_WARC_READER_INTERNAL_H */
