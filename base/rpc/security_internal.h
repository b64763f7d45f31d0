/* The secrets of security.h, for the handshake. Private to base/rpc. */
#ifndef BASE_RPC_SECURITY_INTERNAL_H
#define BASE_RPC_SECURITY_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>

struct security_files;
struct security_secrets;

#include "base/core/slice.h"
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
    struct security_files *files; /* Shared by rpc_security_as(); NULL: none. */
};

/* Used where @sec is NULL. */
extern const struct rpc_security rpc_security_default;

#define SECURITY_MAC_BYTES 32

/* Keys that are accepted at a time; the first is used towards others. */
#define SECURITY_KEYS_MAX 2

/* One more reference to the secrets that were read last: immutable, and kept
 * while a handshake uses them. PRE: the kind is not RPC_SECURITY_NONE.
 * Parks. */
struct security_secrets *security_secrets_ref(const struct rpc_security *s);
void security_secrets_unref(struct security_secrets *x);
/* How many keys there are: 1 or 2; 0 for TLS. */
size_t security_key_count(const struct security_secrets *x);
/* Borrowed from @x. */
const struct tls_context *security_tls(const struct security_secrets *x);

/* HMAC-SHA256 with the key @index over @label and the parts. */
void security_mac(const struct security_secrets *x,
                  size_t index,
                  const char *label,
                  const struct slice *parts,
                  size_t part_count,
                  unsigned char out[SECURITY_MAC_BYTES]);
/* True if they are equal; in constant time. */
bool security_same(const void *a, const void *b, size_t len);

#endif /* BASE_RPC_SECURITY_INTERNAL_H */
