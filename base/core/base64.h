/* Base64 (RFC 4648), with padding, in one line. Pure. */
#ifndef BASE_CORE_BASE64_H
#define BASE_CORE_BASE64_H

#include <stdbool.h>

#include "base/core/slice.h"

struct buf;

/* The mark before base64 in fields of CSV that can also be text. */
#define CSV_BASE64_MARK "base64:"

/* Append @s in base64. */
void base64_put(struct buf *out, struct slice s);
/* Append what base64 @text stands for; false when it is none. */
bool base64_decode(struct slice text, struct buf *out);

#endif /* BASE_CORE_BASE64_H */
