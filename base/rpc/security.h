/* Authentication of connections: what must be proved before the first call.
 *
 * Three kinds:
 *     none  nothing is proved. Only over loopback, Unix sockets and in the
 *           simulated world: rpc_listen() and channels refuse anything else.
 *     key both sides prove that they know the cluster's key, by HMAC-SHA256
 *     over fresh challenges. The peer's name is its own claim; the traffic is
 *     not encrypted. TLS TLS 1.3 with certificates on both sides, signed by the
 *     cluster's
 *           authority; the certificate names the peer (its first DNS name in
 *           subjectAltName, or else its common name). A server's must be for
 *           the host that was called, name or address, or for the cluster.
 *
 * In all three both sides also compare the version of the protocol and the name
 * of the cluster. A peer that fails gets nothing but a closed connection; the
 * log gets a line.
 *
 * rpc_security_reload() reads the files again, so that keys and certificates
 * are replaced without a stop. A key file has one or two keys, a line each:
 * both are accepted, and the first is used towards others.
 *
 * Threads: any.
 */
#ifndef BASE_RPC_SECURITY_H
#define BASE_RPC_SECURITY_H

#include <stdint.h>

#include "base/core/err.h"

struct rpc_security;
struct world;

/* Longest name of a cluster or principal. */
#define RPC_NAME_BYTES_MAX 128
/* Shortest key. */
#define RPC_KEY_BYTES_MIN 16

/* @cluster and @principal (this side's name, as the peer will see it; "" is
 * "anonymous") are copied. All are owned: rpc_security_free(). */
struct rpc_security *rpc_security_none(const char *cluster,
                                       const char *principal);

/* The keys are the lines of @key_path without white space at their ends. Parks.
 * Errors: ERR_DENIED (others than the owner may read the file), ERR_INVALID
 * (too short, too many), those of opening it. */
MUST_CHECK int rpc_security_key(struct world *w,
                                const char *cluster,
                                const char *principal,
                                const char *key_path,
                                struct rpc_security **out,
                                struct err *err);

/* PEM files: this side's certificate (with its chain), its key, and the
 * authority that signed the peers'. Parks. Errors: ERR_DENIED (others may read
 * the key), ERR_INVALID (says which file and why), those of opening them. */
MUST_CHECK int rpc_security_tls(struct world *w,
                                const char *cluster,
                                const char *cert_path,
                                const char *key_path,
                                const char *authority_path,
                                struct rpc_security **out,
                                struct err *err);

/* Read the files again: new connections use, and must prove, their new
 * contents. On error nothing changes. Does nothing without files. Applies to
 * copies by rpc_security_as() as well. Parks. Errors: as above; ERR_INVALID
 * also for a certificate of another name.
 */
MUST_CHECK int
rpc_security_reload(struct rpc_security *s, struct world *w, struct err *err);

/* The same proof for another name. PRE: not TLS, where the certificate has
 * the name. Owned. */
struct rpc_security *rpc_security_as(const struct rpc_security *s,
                                     const char *principal);

/* When this side's certificate ends, in seconds since the epoch; 0: there is
 * none. Parks. */
int64_t rpc_security_end_s(const struct rpc_security *s);

/* PRE: no listener or channel uses it. NULL is allowed. */
void rpc_security_free(struct rpc_security *s);

/* The name of the cluster. Borrowed. */
const char *rpc_security_cluster(const struct rpc_security *s);
/* This side's name. Borrowed. */
const char *rpc_security_principal(const struct rpc_security *s);
/* "none", "key" or "tls". */
const char *rpc_security_kind_name(const struct rpc_security *s);

#endif /* BASE_RPC_SECURITY_H */
