/* The console's users: a file of tokens.
 *
 *     # NAME RIGHT TOKEN
 *     alice operate sha256:9f86d081…
 *     wall  view    eeb2c3f0a1…
 *
 * RIGHT is `view`, or `operate`, which includes it. The third word is the
 * token, or `sha256:` and the SHA-256 of it in hex (`quarry token new --console
 * RIGHT` adds such a line). Only the owner may read the file.
 *
 * Tokens are kept and compared by their hashes, all of them every time, so that
 * the time it takes tells nothing about them.
 *
 * Threads: one.
 */
#ifndef CLI_CONSOLE_TOKEN_FILE_H
#define CLI_CONSOLE_TOKEN_FILE_H

#include <stdbool.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "bigtable/gateway/api_auth.h"

struct world;

/* Lines of a file, and the shortest token. */
#define CONSOLE_TOKENS_MAX      1024
#define CONSOLE_TOKEN_BYTES_MIN 16

enum console_right {
    CONSOLE_NONE,
    CONSOLE_VIEW,
    CONSOLE_OPERATE,
};

struct console_token {
    char name[API_PRINCIPAL_BYTES];
    enum console_right right;
    unsigned char hash[API_TOKEN_HASH_BYTES];
};

struct console_tokens {
    struct console_token *at; /* Owned. */
    size_t count;
};

/* Read the file @path. @out is empty on error. Parks. Errors: ERR_DENIED
 * (others may read it), ERR_INVALID (says the line), ERR_TOOBIG, those of
 * reading. */
MUST_CHECK int console_tokens_read(struct world *w,
                                   const char *path,
                                   struct console_tokens *out,
                                   struct err *err);
/* Parse such a text; @path is for messages. As above. */
MUST_CHECK int console_tokens_parse(struct slice text,
                                    const char *path,
                                    struct console_tokens *out,
                                    struct err *err);
void console_tokens_close(struct console_tokens *t);

/* The line of @token; NULL: there is none. Borrowed. */
const struct console_token *console_tokens_find(const struct console_tokens *t,
                                                struct slice token);
/* Are the @len bytes at @a and @b equal? The time does not depend on them. */
bool console_bytes_equal(const void *a, const void *b, size_t len);

/* "view" or "operate"; false: another word. */
bool console_right_parse(struct slice word, enum console_right *out);

#endif /* CLI_CONSOLE_TOKEN_FILE_H */
