/* JSON web tokens, verified with a public key by libjwt. Private to api_auth.
 */
#ifndef BIGTABLE_GATEWAY_API_JWT_H
#define BIGTABLE_GATEWAY_API_JWT_H

#include <stdint.h>

#include "bigtable/gateway/api_auth.h"

struct api_jwt_rules {
    struct slice key;     /* PEM. */
    const char *issuer;   /* NULL: anything. */
    const char *audience; /* NULL: anything. */
    uint64_t now_s;       /* Since 1970. */
};

/* Does @key begin as a public key in PEM? Whether it verifies anything shows
 * with the first token. ERR_INVALID; ERR_UNSUPPORTED: built without libjwt. */
MUST_CHECK int api_jwt_check_key(struct slice key, struct err *err);
/* The subject (`sub`) of @token. ERR_DENIED says why not. */
MUST_CHECK int api_jwt_check(const struct api_jwt_rules *rules,
                             struct slice token,
                             char principal[API_PRINCIPAL_BYTES],
                             struct err *err);

#endif /* BIGTABLE_GATEWAY_API_JWT_H */
