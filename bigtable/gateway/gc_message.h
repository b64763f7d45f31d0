/* Garbage-collection rules between the API's message GcRule and the store's
 * text. Pure. */
#ifndef BIGTABLE_GATEWAY_GC_MESSAGE_H
#define BIGTABLE_GATEWAY_GC_MESSAGE_H

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

/* Append the store's text for the GcRule in @bytes; nothing for an empty one.
 * Errors: ERR_INVALID. */
MUST_CHECK int
gc_message_to_text(struct slice bytes, struct buf *out, struct err *err);
/* Append the message for the store's @text; nothing for "". Errors:
 * ERR_INVALID, as gc_rule_parse(). */
MUST_CHECK int
gc_message_from_text(struct slice text, struct buf *out, struct err *err);

#endif /* BIGTABLE_GATEWAY_GC_MESSAGE_H */
