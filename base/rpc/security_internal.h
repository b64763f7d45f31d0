/* What the handshake knows of security.h's secrets. Private to base/rpc. */
#ifndef BASE_RPC_SECURITY_INTERNAL_H
#define BASE_RPC_SECURITY_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/core/buf.h"
#include "base/rpc/security.h"

struct tls_context;

/* On the wire: never renumber. */
enum rpc_security_kind {
    RPC_SECURITY_NONE = 0,
    RPC_SECURITY_KEY = 1,
    RPC_SECURITY_TLS = 2,
};

struct rpc_security {
    enum rpc_security_kind kind;
    char cluster[RPC_NAME_BYTES_MAX + 1];
    char principal[RPC_NAME_BYTES_MAX + 1];
    struct buf key;          /* RPC_SECURITY_KEY. Owned. */
    struct tls_context *tls; /* RPC_SECURITY_TLS. Owned. */
};

/* What NULL stands for. */
extern const struct rpc_security rpc_security_default;

#define SECURITY_MAC_BYTES 32

/* HMAC-SHA256 with the key over @label and the parts. PRE: it has a key. */
void security_mac(const struct rpc_security *s,
                  const char *label,
                  const struct slice *parts,
                  size_t part_count,
                  unsigned char out[SECURITY_MAC_BYTES]);
/* In a time that does not depend on where they differ. */
bool security_same(const void *a, const void *b, size_t len);

#endif /* BASE_RPC_SECURITY_INTERNAL_H */
