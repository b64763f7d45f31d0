/* The body of a response whose status is an error: [text, hint]. Private to
 * base/rpc. */
#ifndef BASE_RPC_ERROR_REPLY_H
#define BASE_RPC_ERROR_REPLY_H

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/slice.h"

/* Replace @out by the body for @code; @e has the text, if any. */
void error_reply_put(const struct err *e, int code, struct buf *out);

/* Fill @err from @status, not 0, and @body. Returns the status, or ERR_CORRUPT
 * when either is malformed. */
MUST_CHECK int error_reply_get(struct slice body, int status, struct err *err);

#endif /* BASE_RPC_ERROR_REPLY_H */
