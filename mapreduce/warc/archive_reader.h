/* Records of web archives: WARC 0.17 to 1.1 and ARC 1 and 2, from a stream of
 * bytes in any compression: gzip with a member per record, one member for all
 * or members cut anywhere, zstd with and without a dictionary frame, lz4
 * frames, or none. The compression and the format are told by the bytes, never
 * by a name.
 *
 *     struct warc_reader *r = warc_reader_new(&options);
 *     while ((code = warc_reader_next(r, &rec, &err)) == 0 && rec)
 *         use(rec->uri, rec->block);
 *     warc_reader_free(r);
 *
 * Damage (a corrupt member, a wrong Content-Length, a cut file) is told to the
 * caller's on_damage with the place in the file as it lies on the disk; the
 * reader then continues with the next member or record that makes sense. A
 * damaged record costs no other: its length as declared is believed unless its
 * digest or the bytes behind it say that it is wrong. The work is linear in the
 * input whatever it holds, and every byte is either part of a record, a
 * separator, or reported.
 *
 * Records come whole while their block is at most block_bytes_max; of a longer
 * one the first part is there, and the rest can be pulled with
 * warc_reader_read() or is skipped by the next call of warc_reader_next().
 *
 * warc/ knows bytes and base/core only. For input/, ingest/ and jobs/.
 *
 * Threads: one reader, one thread. Waits only where options.read does.
 */
#ifndef MAPREDUCE_WARC_ARCHIVE_READER_H
#define MAPREDUCE_WARC_ARCHIVE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct arena;
struct warc_reader;

enum warc_type {
    WARC_OTHER, /* A type that the standard does not define: may be ignored (ISO
                   28500, 6.1). */
    WARC_INFO,  /* warcinfo; of an ARC: its version block. */
    WARC_RESPONSE,
    WARC_RESOURCE,
    WARC_REQUEST,
    WARC_METADATA,
    WARC_REVISIT,
    WARC_CONVERSION,
    WARC_CONTINUATION,
};

struct warc_header {
    struct slice name;  /* As written, without blanks around it. */
    struct slice value; /* Unfolded and trimmed. */
};

struct warc_record {
    enum warc_type type;
    bool is_arc;
    struct slice version;      /* "1.0"; for ARC "arc/1" or "arc/2". */
    struct slice type_name;    /* WARC-Type as written. */
    struct slice uri;          /* WARC-Target-URI without <>, or "". */
    struct slice date;         /* WARC-Date as written. */
    int64_t time_us;           /* That date; INT64_MIN: invalid. */
    struct slice id;           /* WARC-Record-ID without <>, or "". */
    struct slice content_type; /* Of the block. */
    struct slice ip;
    struct slice block_digest;
    struct slice payload_digest;
    struct slice truncated; /* WARC-Truncated: the reason the crawler cut it. */
    struct slice profile;   /* Revisits. */
    struct slice refers_to;
    struct slice refers_to_uri;
    struct slice refers_to_date;
    struct slice segment_origin; /* Continuations. */
    uint64_t segment_number;     /* 0: not segmented. */
    uint64_t segment_total;      /* 0: unknown. */

    const struct warc_header *headers; /* All of them, in order. */
    size_t header_count;

    uint64_t content_length; /* Bytes of the block, as far as known: a wrong
                                Content-Length has been corrected. */
    struct slice block;      /* All of it, or its first part. */
    bool whole;              /* block is all of it. */
    bool cut;                /* The file ends inside the block. */

    uint64_t offset; /* Where the record starts in the file: its gzip member or
                        frame, or its first byte when not compressed. */
    uint64_t length; /* Bytes it takes there, separators included; 0 when it
                        shares a member or is not whole. */
};

/* Called for a place of damage. @reason is borrowed for the call. @lost is
 * false when everything could be read in spite of it, or when the records lost
 * with it are reported one by one. */
typedef void (*warc_damage_cb)(void *ctx,
                               uint64_t offset,
                               const char *reason,
                               bool lost);

struct warc_reader_options {
    /* Read up to @len bytes into @dst; *@got is 0 only at the end. An error
     * ends the reading. May park. */
    int (*read)(void *ctx, void *dst, size_t len, size_t *got, struct err *err);
    void *ctx;                /* Of read and on_damage. */
    warc_damage_cb on_damage; /* May be NULL. */
    uint64_t size_bytes;      /* Of the whole input, if known; else 0. */
    uint64_t block_bytes_max; /* Whole records; 0: 64 MiB. */
    bool verify; /* Skip, and report as lost, records whose block is whole and
                    differs from its WARC-Block-Digest. */
};

/* A reader of one input. Owned: warc_reader_free(). @opts is copied, what it
 * points to is borrowed until the reader is freed. */
struct warc_reader *warc_reader_new(const struct warc_reader_options *opts);
void warc_reader_free(struct warc_reader *r); /* NULL is allowed. */

/* Start on another input, keeping the buffers. Slices of the last record become
 * invalid. */
void warc_reader_reset(struct warc_reader *r,
                       const struct warc_reader_options *opts);

/* The next record, borrowed until the next call; *@rec is NULL at the end.
 * Parks where options.read does.
 *
 * Errors: those of options.read; ERR_CORRUPT when the first bytes are those of
 * another kind of file, or nothing in the whole input is a record; ERR_NOMEM.
 */
MUST_CHECK int warc_reader_next(struct warc_reader *r,
                                const struct warc_record **rec,
                                struct err *err);

/* More of a block that is not whole: up to @len bytes after those given out so
 * far. *@got is 0 at its end. Parks. */
MUST_CHECK int warc_reader_read(struct warc_reader *r,
                                void *dst,
                                size_t len,
                                size_t *got,
                                struct err *err);

/* The value of the first header of that name, in any case; false: absent. */
bool warc_record_header(const struct warc_record *rec,
                        const char *name,
                        struct slice *value);

/* Copy @rec with all its texts but the block, which is empty in @out, into
 * @arena. */
void warc_record_copy(const struct warc_record *rec,
                      struct arena *arena,
                      struct warc_record *out);

/* Bytes read from the input so far, and how many they are decompressed. */
uint64_t warc_reader_bytes_in(const struct warc_reader *r);
uint64_t warc_reader_bytes_out(const struct warc_reader *r);

#endif /* MAPREDUCE_WARC_ARCHIVE_READER_H */
