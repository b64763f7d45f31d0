/* The first bytes of a connection, before any frame: version, cluster, and the
 * proof that security.h requires. Private to base/rpc. docs/protocols.md has
 * the grammar.
 *
 *     none, tls   client: hello                     server: welcome
 *     key         client: hello    server: challenge
 *                 client: proof                     server: welcome
 *
 * With a key the server sends only a random challenge before the client is
 * authenticated, and closes without an answer if it fails.
 */
#ifndef BASE_RPC_HANDSHAKE_H
#define BASE_RPC_HANDSHAKE_H

#include <stdbool.h>

#include "base/core/err.h"
#include "base/core/slice.h"
#include "base/rpc/security.h"

struct shared_ring;
struct stream;

/* Versions of the protocol: from 2 on requests may have FRAME_TRACE. A server
 * chooses the highest that both sides know. */
#define PROTOCOL_VERSION_MIN 1
#define PROTOCOL_VERSION_MAX 2

#define HANDSHAKE_HELLO_BYTES     44
#define HANDSHAKE_NONCE_BYTES     32
#define HANDSHAKE_PROOF_BYTES     32
#define HANDSHAKE_CHALLENGE_BYTES 40
#define HANDSHAKE_WELCOME_BYTES   40

/* Why a client is refused. */
#define HANDSHAKE_REFUSALS(X)                                                  \
    X(PROTOCOL, "protocol") /* It speaks another protocol. */                  \
    X(VERSION, "version")                                                      \
    X(CLUSTER, "cluster")                                                      \
    X(KIND, "kind")     /* Of security. */                                     \
    X(PROOF, "proof")   /* Wrong key, or a certificate that is not ours. */    \
    X(SILENT, "silent") /* It went away or took too long. */                   \
    X(NAME, "name")     /* Its principal cannot be printed. */

enum handshake_refusal {
#define X(name, text) HANDSHAKE_##name,
    HANDSHAKE_REFUSALS(X)
#undef X
    HANDSHAKE_REFUSAL_COUNT
};

/* "protocol", "version" and so on: the end of a counter's name. */
const char *handshake_refusal_name(enum handshake_refusal r);

/* The agreement of both sides. */
struct sharing {
    unsigned version;         /* Of the protocol. */
    struct shared_ring *ring; /* Owned; NULL: attachments travel with their
                                 frames. */
    struct err refused;       /* Why this side could not; code 0: it could. */
};

/* A hello, decoded. */
struct hello {
    unsigned version_min;
    unsigned version_max;
    unsigned kind;
    bool shares;          /* Attachments may go through shared memory. */
    struct slice cluster; /* Both borrowed from the bytes decoded. */
    struct slice principal;
};

/* Decode the fixed part of a hello: *@more is how many bytes follow it.
 * ERR_CORRUPT. Pure; for fuzzing too. */
MUST_CHECK int hello_decode(const char fixed[HANDSHAKE_HELLO_BYTES],
                            struct hello *h,
                            size_t *more,
                            struct err *err);

/* Authenticate this side over the new connection *@s, which may be replaced
 * by an encrypted one over it. @sec may be NULL. Failing to share memory is
 * not an error. On failure *@s is closed, and it and the ring are NULL.
 * Parks, until the fiber's deadline. Errors: ERR_DENIED (with the server's
 * reason, or it could not authenticate itself), ERR_UNAVAILABLE (it hung
 * up), ERR_UNSUPPORTED (version), those of the stream. */
MUST_CHECK int handshake_connect(const struct rpc_security *sec,
                                 const char *address,
                                 struct stream **s,
                                 struct sharing *sharing,
                                 struct err *err);

/* Authenticate the client at *@s and set @principal. As above; *@why is set
 * on failure. */
MUST_CHECK int handshake_accept(const struct rpc_security *sec,
                                struct stream **s,
                                char principal[RPC_NAME_BYTES_MAX + 1],
                                struct sharing *sharing,
                                enum handshake_refusal *why,
                                struct err *err);

#endif /* BASE_RPC_HANDSHAKE_H */
