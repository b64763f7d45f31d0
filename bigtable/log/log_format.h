/* Headers of segments and records of the commit log, for writer and reader. */
#ifndef BIGTABLE_LOG_LOG_FORMAT_H
#define BIGTABLE_LOG_LOG_FORMAT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "bigtable/log/commit_log.h"

#define LOG_FORMAT_VERSION 1
#define LOG_FORMAT_SEALED  2 /* Payloads are encrypted: log_seal.h. */
#define LOG_PATH_BYTES     1024
/* A file named with a higher number, or with 0, is not one of a log, and a
 * header with a higher base is damaged: what is counted from them on does not
 * overflow. */
#define LOG_NUMBER_MAX   (UINT64_C(1) << 62)
#define LOG_POSITION_MAX (UINT64_C(1) << 62)

struct log_segment_header {
    uint64_t number;
    uint64_t base;
    bool is_sealed;
};

struct log_record_header {
    uint32_t length; /* Of the payload. */
    uint32_t count;
    uint64_t sequence;
    uint64_t synced;
};

void log_segment_path(char path[LOG_PATH_BYTES],
                      const char *dir,
                      uint64_t number);
/* The number in a file name of a segment; false when it is not one's. */
bool log_segment_number(const char *name, uint64_t *number);
/* Likewise of a spare: the number it had. */
bool log_spare_number(const char *name, uint64_t *number);

void log_put_segment_header(char p[LOG_SEGMENT_HEADER_BYTES],
                            const struct log_segment_header *h);
/* *@whole is false, and @h unset, when @bytes do not begin with one. Errors:
 * ERR_UNSUPPORTED. */
MUST_CHECK int log_get_segment_header(struct slice bytes,
                                      struct log_segment_header *h,
                                      bool *whole,
                                      struct err *err);

/* The header of a record whose payload lies in @parts. */
void log_put_record_header(char p[LOG_RECORD_HEADER_BYTES],
                           uint64_t segment,
                           const struct log_record_header *h,
                           const struct slice *parts,
                           size_t part_count);
/* The header, and a copy of the payload behind it, which has @h->length. */
void log_put_record(char *p,
                    uint64_t segment,
                    const struct log_record_header *h,
                    const struct slice *parts,
                    size_t part_count);
/* The record at the beginning of @bytes of segment @segment, if it is whole. */
bool log_get_record(struct slice bytes,
                    uint64_t segment,
                    struct log_record_header *h,
                    struct slice *payload);
/* Could a whole record begin here? Looks at its length, its count and its zero
 * field, and not at the checksum: cheap. */
bool log_may_be_record(struct slice bytes);

#endif /* BIGTABLE_LOG_LOG_FORMAT_H */
