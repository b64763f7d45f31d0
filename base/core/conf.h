/* Configuration files:
 *
 *     # a comment; blank lines do not count
 *     data = /var/lib/quarry        # keys before the first section: section ""
 *     [server]
 *     listen = "0.0.0.0:7000"       # quotes allow #, spaces and C escapes
 *
 * Errors name the file, the line and the expected form. Getters leave *out
 * alone when the key is absent, so that it keeps the default. A key is known
 * once a getter was called for it; conf_check_known() refuses the others, with
 * a suggestion.
 *
 * One thread.
 */
#ifndef BASE_CORE_CONF_H
#define BASE_CORE_CONF_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/slice.h"

struct conf;

/* Longest text accepted: far more than anybody writes. */
#define CONF_BYTES_MAX ((size_t)1 << 20)

/* Parse @text; @name (copied) is for messages. *@out is owned.
 * Errors: ERR_INVALID, ERR_TOOBIG; *@out is NULL then. */
MUST_CHECK int conf_parse(struct slice text,
                          const char *name,
                          struct conf **out,
                          struct err *err);
void conf_free(struct conf *c); /* NULL is allowed. */

/* The value, or NULL when it is absent. Borrowed from @c. */
const char *conf_get(struct conf *c, const char *section, const char *key);

/* The value of a key in one of four forms (those of text.h). Errors:
 * ERR_INVALID, with file and line. */
MUST_CHECK int conf_get_u64(struct conf *c,
                            const char *section,
                            const char *key,
                            uint64_t *out,
                            struct err *err);
MUST_CHECK int conf_get_bytes(struct conf *c,
                              const char *section,
                              const char *key,
                              uint64_t *out,
                              struct err *err);
MUST_CHECK int conf_get_duration(struct conf *c,
                                 const char *section,
                                 const char *key,
                                 uint64_t *us,
                                 struct err *err);
MUST_CHECK int conf_get_bool(struct conf *c,
                             const char *section,
                             const char *key,
                             bool *out,
                             struct err *err);

/* A key that a getter was called for. Texts are borrowed from the conf. */
struct conf_setting {
    const char *section;
    const char *key;
    const char *value; /* In the file; NULL: it is not there. */
    unsigned line;     /* There, from 1; else 0. */
};

/* Call fn(ctx, setting) for each known key, in the order in which they were
 * first asked for. */
void conf_each(const struct conf *c,
               void (*fn)(void *ctx, const struct conf_setting *s),
               void *ctx);

/* ERR_INVALID when the file, or @section of it, sets a key that no getter
 * was called for. */
MUST_CHECK int conf_check_known(struct conf *c, struct err *err);
MUST_CHECK int
conf_check_section(struct conf *c, const char *section, struct err *err);

#endif /* BASE_CORE_CONF_H */
