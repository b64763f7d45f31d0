/* TLS 1.3 over a stream, with certificates on both sides.
 *
 * A wrapped stream is used like any other (stream.h) and closes the one below
 * it. OpenSSL works in memory only; all waiting happens in stream.h.
 *
 * Threads: a context is immutable and shared by all; a stream is its loop's.
 */
#ifndef BASE_RUNTIME_TLS_H
#define BASE_RUNTIME_TLS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/core/err.h"
#include "base/core/slice.h"

struct stream;
struct tls_context;

/* PEM texts: our certificate with its chain, its key, the authority that signed
 * the peers' certificates. *@out is owned. Errors: ERR_INVALID, which says
 * which of them is wrong. */
MUST_CHECK int tls_context_new(struct slice certificate,
                               struct slice key,
                               struct slice authority,
                               struct tls_context **out,
                               struct err *err);
/* The same for servers of a public protocol: clients need no certificate if
 * @authority is empty or @optional is set. @protocol (a literal, such as
 * "h2") must be among the protocols that the client offers by ALPN, if it
 * offers any. For tls_accept() alone. */
MUST_CHECK int tls_public_context_new(struct slice certificate,
                                      struct slice key,
                                      struct slice authority,
                                      bool optional,
                                      const char *protocol,
                                      struct tls_context **out,
                                      struct err *err);
/* The same for clients of others' servers: our certificate and its key are
 * both empty where the server wants none. @protocol (a literal) is offered by
 * ALPN. For tls_connect() alone. */
MUST_CHECK int tls_client_context_new(struct slice certificate,
                                      struct slice key,
                                      struct slice authority,
                                      const char *protocol,
                                      struct tls_context **out,
                                      struct err *err);
void tls_context_free(struct tls_context *c); /* NULL is allowed. */

/* The first DNS name of our certificate, or its common name. Borrowed. */
const char *tls_context_name(const struct tls_context *c);

/* When our certificate ends, in seconds since the epoch; 0: it does not say. */
int64_t tls_context_end_s(const struct tls_context *c);

/* Perform the handshake over *@s as client or server and replace it by the
 * encrypted stream; on failure *@s is closed and NULL. Both sides must show
 * a certificate that the authority signed, that is for this side and in date
 * by the world's clock. A server's must also be for @host, the name or the
 * IP address that was called, or for @group, a name that all servers of a
 * cluster share: by its subjectAltName, or by its common name if that has no
 * DNS names. Parks. Errors: ERR_DENIED, with the reason; those of the
 * stream. */
MUST_CHECK int tls_connect(const struct tls_context *c,
                           const char *host,
                           const char *group,
                           struct stream **s,
                           struct err *err);
MUST_CHECK int
tls_accept(const struct tls_context *c, struct stream **s, struct err *err);

/* The first DNS name of the peer's certificate, or its common name; cut to
 * @bytes; "" for a client of a public protocol that showed none. PRE: @s is
 * such a stream. */
void tls_peer_name(const struct stream *s, char *out, size_t bytes);

#endif /* BASE_RUNTIME_TLS_H */
