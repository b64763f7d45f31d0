/* Callers of the public API: the name in the client's certificate, a bearer
 * token of a file, or a JWT signed by a key that is trusted.
 *
 * The file of tokens has a line for each, "PRINCIPAL SHA256", the second in
 * hex: the hashes are no secret, and still only the owner may read the file. A
 * token is never kept. `quarry token new` makes them.
 *
 * Invariants
 *     INV-1. Tokens are sorted by their hashes.
 *     INV-2. A principal is a name that rights can be given to: up to
 *            API_PRINCIPAL_BYTES - 1 bytes without spaces, commas and control
 *            characters.
 *
 * Threads: one loop.
 */
#ifndef BIGTABLE_GATEWAY_API_AUTH_H
#define BIGTABLE_GATEWAY_API_AUTH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct api_auth;
struct world;

#define API_PRINCIPAL_BYTES 129
/* Random bytes of a token, and of its hash. */
#define API_TOKEN_BYTES      32
#define API_TOKEN_HASH_BYTES 32

struct api_auth_options {
    const char *tokens;       /* The file; NULL: none. */
    const char *jwt_key;      /* PEM file of a public key; NULL: none. */
    const char *jwt_issuer;   /* Required `iss`; NULL: any. */
    const char *jwt_audience; /* Required `aud`; NULL: any. */
};

/* Read what @opts names; it is copied. Parks. *@out is owned.
 * Errors: ERR_DENIED (others may read the tokens), ERR_INVALID (says file and
 * line), ERR_UNSUPPORTED (built without libjwt), those of reading. */
MUST_CHECK int api_auth_open(struct world *w,
                             const struct api_auth_options *opts,
                             struct api_auth **out,
                             struct err *err);
void api_auth_close(struct api_auth *a); /* NULL is allowed. */
/* Read the tokens again; on error the old ones stay. Parks. */
MUST_CHECK int api_auth_reload(struct api_auth *a, struct err *err);

/* Authenticate a caller: @certificate is the name in the client's ("": it has
 * none), @authorization the header of the call ("": it has none). The header,
 * if there is one, decides alone. Does not park. ERR_DENIED: unknown. */
MUST_CHECK int api_auth_check(const struct api_auth *a,
                              struct slice certificate,
                              struct slice authorization,
                              char principal[API_PRINCIPAL_BYTES],
                              struct err *err);

/* INV-2. */
bool api_principal_is_valid(struct slice name);
/* SHA-256. */
void api_token_hash(struct slice token,
                    unsigned char out[API_TOKEN_HASH_BYTES]);

#endif /* BIGTABLE_GATEWAY_API_AUTH_H */
