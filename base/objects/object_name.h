/* Names of objects as users write them: s3://BUCKET/KEY, http://HOST/PATH and
 * https://HOST/PATH, and how keys are written in URLs.
 *
 * Pure. Threads: any.
 */
#ifndef BASE_OBJECTS_OBJECT_NAME_H
#define BASE_OBJECTS_OBJECT_NAME_H

#include <stdbool.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct buf;

/* Longest key: S3's own bound. */
#define OBJECT_KEY_BYTES_MAX 1024

/* Longest name of a bucket, or of a host with its port. */
#define OBJECT_PLACE_BYTES_MAX 255

enum object_scheme {
    OBJECT_S3,
    OBJECT_HTTP,
    OBJECT_HTTPS,
};

struct object_name {
    enum object_scheme scheme;
    struct slice place; /* The bucket, or the host with its port. */
    struct slice key;   /* Without the slash before it; may be empty. */
};

/* Does @text begin with one of the schemes? */
bool object_name_is(const char *text);

/* Take @text apart; slices are borrowed from it. Errors: ERR_INVALID (no such
 * scheme, no bucket, letters that none has), ERR_TOOBIG. */
MUST_CHECK int
object_name_parse(const char *text, struct object_name *out, struct err *err);

/* Append @s with all bytes but letters, digits and "-._~" as %XX; slashes stay
 * if @slashes. */
void object_put_encoded(struct buf *out, struct slice s, bool slashes);
/* Append the bytes that @s stands for; a % that no two digits follow is itself.
 */
void object_put_decoded(struct buf *out, struct slice s);

#endif /* BASE_OBJECTS_OBJECT_NAME_H */
