/* The bytes of a member's log; docs/formats.md has the reasons.
 *
 *     log/0000000007.seg   segments, numbered without gaps
 *     segment = header { record } zeros
 *     header  = "QRRAFLOG" version:le32 crc:le32 of the rest, number:le64
 *               base:le64 term:le64 vote:le64 index:le64 index-term:le64
 *     record  = crc:le32 of (number:le64 position:le64, rest), length:le32
 *               kind:le32 zero:le32 index:le64 term:le64 synced:le64
 *               payload, zeros up to a multiple of 8
 *     payload of LOG_COMMANDS = { length:le32 command }
 *
 * In a segment of version 3 each payload that has bytes is a sealed unit of
 * them (base/crypt/sealer.h), with number, position, kind, index and term of
 * its record as associated data.
 */
#ifndef BASE_REPLICA_REPLICA_LOG_FORMAT_H
#define BASE_REPLICA_REPLICA_LOG_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/slice.h"
#include "base/crypt/sealer.h"

#define LOG_MAGIC          "QRRAFLOG"
#define LOG_VERSION        2 /* 1 has no LOG_COMMANDS. */
#define LOG_VERSION_SEALED 3 /* Payloads are sealed units. */
#define LOG_HEADER_BYTES   ((size_t)64)
#define LOG_RECORD_BYTES   ((size_t)40) /* Before the payload. */
#define LOG_ALIGN          ((size_t)8)
#define LOG_PAYLOAD_MAX    ((size_t)2 << 20)
/* As stored: a sealed payload has UNIT_BYTES_MORE. */
#define LOG_STORED_MAX    (LOG_PAYLOAD_MAX + UNIT_BYTES_MORE)
#define LOG_SEGMENT_BYTES ((uint64_t)8 << 20)
#define LOG_SEGMENT_MAX   ((uint64_t)64 << 20) /* That is ever read. */
#define LOG_NAME_SUFFIX   ".seg"

enum log_kind {
    LOG_META = 1,    /* term; index is the vote. */
    LOG_RESET = 2,   /* The log is empty and follows (index, term). */
    LOG_MARK = 3,    /* Nothing but its `synced`. */
    LOG_COMMAND = 4, /* An entry, as are the next two. */
    LOG_NOOP = 5,
    LOG_CONFIG = 6,
    LOG_COMMANDS = 7, /* Entries from index on, all of this term. */
};

struct log_header {
    uint64_t number;
    uint64_t base; /* Position of the first record. */
    /* The state that the segments before it leave. */
    uint64_t term;
    uint64_t vote;
    uint64_t index;
    uint64_t index_term;
    uint32_t version; /* Of a header that was read. */
    bool is_sealed;
};

struct log_record {
    uint64_t position; /* Bytes of records before it, over all segments. */
    enum log_kind kind;
    uint64_t index;
    uint64_t term;
    uint64_t synced; /* Position up to which the log was on the disk. */
    struct slice payload;
};

/* Bytes a record with @payload_bytes takes. */
static inline size_t log_record_bytes(size_t payload_bytes)
{
    return LOG_RECORD_BYTES +
           ((payload_bytes + LOG_ALIGN - 1) & ~(LOG_ALIGN - 1));
}

/* A sealer of payloads with a data key of @k. Parks. *@out is owned. Errors:
 * those of unit_sealer_new(). */
MUST_CHECK int replica_log_sealer_new(struct keyring *k,
                                      struct unit_sealer **out,
                                      struct err *err);
/* An opener of sealed payloads. @k may be NULL: then it opens none. Owned. */
struct unit_opener *replica_log_opener_new(struct keyring *k);
/* Seal the payload of @r, of segment @number, into @out, from where @r borrows
 * it afterwards. An empty payload stays. */
void log_record_seal(struct unit_sealer *s,
                     uint64_t number,
                     struct log_record *r,
                     struct buf *out);
/* The reverse. Errors: those of unit_open(), ERR_CORRUPT. */
MUST_CHECK int log_record_open(struct unit_opener *o,
                               uint64_t number,
                               struct log_record *r,
                               struct buf *out,
                               struct err *err);

/* Append the bytes of a header. */
void log_header_put(const struct log_header *h, struct buf *out);
/* Read the header that @bytes begin with. Errors: ERR_CORRUPT, ERR_UNSUPPORTED
 * (a newer version). */
MUST_CHECK int
log_header_get(struct slice bytes, struct log_header *out, struct err *err);

/* Append the bytes of @r, a record of segment @number. */
void log_record_put(uint64_t number,
                    const struct log_record *r,
                    struct buf *out);
/* The record that @bytes begin with, if it is whole: of segment @number, at
 * @position. Its payload is borrowed. */
bool log_record_get(struct slice bytes,
                    uint64_t number,
                    uint64_t position,
                    struct log_record *out);

/* Append @command to the payload @out of LOG_COMMANDS. */
void log_commands_put(struct slice command, struct buf *out);

static inline size_t log_commands_bytes(size_t command_bytes)
{
    return sizeof(uint32_t) + command_bytes;
}

/* Take the next command off @rest, which is not empty; it is borrowed. False:
 * @rest is malformed. */
bool log_commands_next(struct slice *rest, struct slice *command);

#endif /* BASE_REPLICA_REPLICA_LOG_FORMAT_H */
