/* Errors inside of messages.
 *
 * An error is [text, hint], followed by [detail, retry_us, subject] if it has a
 * detail. Readers skip unknown fields and treat an unknown detail as none, so
 * that programs of different versions understand each other's codes and
 * sentences.
 *
 * Threads: none of its own; one thread a reader.
 */
#ifndef BASE_RPC_ERROR_REPLY_H
#define BASE_RPC_ERROR_REPLY_H

#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/slice.h"

struct codec_reader;

/* Replace @out by the body of a response whose status is @code; @e has the
 * text, if any. */
void error_reply_put(const struct err *e, int code, struct buf *out);

/* Fill @err from @status, not 0, and @body. Returns the status, or ERR_CORRUPT
 * when either is malformed. */
MUST_CHECK int error_reply_get(struct slice body, int status, struct err *err);

/* How many fields error_fields_put() appends for @e. */
uint32_t error_fields_count(const struct err *e);
void error_fields_put(const struct err *e, struct buf *out);
/* Fill @err (may be NULL) with @code and the next of @count fields. Returns
 * how many it read; on failure r->bad is set. */
uint32_t error_fields_get(struct codec_reader *r,
                          uint32_t count,
                          int code,
                          struct err *err);

#endif /* BASE_RPC_ERROR_REPLY_H */
