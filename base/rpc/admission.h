/* Admission of connections: places for unauthenticated peers and for
 * authenticated ones.
 *
 * The two are counted separately, so that no number of unauthenticated peers
 * takes places from authenticated ones. Each address may have a few
 * unauthenticated connections; when all places are taken, the oldest is
 * evicted, because a client authenticates faster than a flood can fill all
 * places. Of the places for authenticated peers some are reserved for members
 * of the cluster and for clients of this machine, and every other address may
 * have only a part. Holders, peers whose loss would cost the cluster something
 * (clients of the lock service that hold a lock), get up to half of the
 * reserved places, a few for each address, when no other places are left.
 *
 * Pure: no clock, no I/O. Threads: none of its own.
 *
 * Invariants
 *     INV-1. A guest is in the list of unauthenticated connections exactly
 *            while its state is ADMISSION_UNAUTHENTICATED, the oldest first.
 *     INV-2. unauthenticated_count <= unauthenticated_max, peer_count <=
 *            peers_max, and peers without privilege are at most
 *            peers_max - peers_reserved.
 *     INV-3. holder_count <= peers_reserved / 2, which leaves members the rest.
 */
#ifndef BASE_RPC_ADMISSION_H
#define BASE_RPC_ADMISSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct admission_limits {
    size_t unauthenticated_max;
    size_t unauthenticated_per_address_max;
    size_t peers_max;
    size_t peers_per_address_max;
    size_t peers_reserved; /* Of peers_max. */
};

enum admission_state {
    ADMISSION_OUTSIDE,
    ADMISSION_UNAUTHENTICATED,
    ADMISSION_PEER,
};

/* In a connection; only admission.c changes it after admission_guest_init(). */
struct admission_guest {
    struct admission_guest
        *next; /* Among unauthenticated peers, or among peers. */
    struct admission_guest *prev;
    uint64_t address; /* Hashed; equal addresses are counted together. */
    enum admission_state state;
    bool is_nearby;     /* Over a socket of this machine alone. */
    bool is_privileged; /* A member of the cluster, or nearby, or a holder, */
    bool is_holder;     /* which has one of the reserved places. */
};

struct admission {
    struct admission_limits limits;
    struct admission_guest *oldest; /* Unauthenticated peers. */
    struct admission_guest *newest;
    struct admission_guest *peers;
    size_t unauthenticated_count;
    size_t peer_count;
    size_t plain_count;  /* Those of peer_count without privilege, */
    size_t holder_count; /* and holders. */
};

enum admission_verdict {
    ADMISSION_GRANTED,
    ADMISSION_ADDRESS_FULL, /* Its address has too many. */
    ADMISSION_FULL,         /* All addresses together have too many. */
};

/* "too many connections of its address" and so on. */
const char *admission_verdict_text(enum admission_verdict v);

/* @limits with its zeros replaced by defaults, for a process of which
 * connections may have @descriptors (descriptors.h). */
struct admission_limits
admission_limits_default(const struct admission_limits *limits,
                         size_t descriptors);
/* No connections yet. @limits is copied. */
void admission_init(struct admission *a, const struct admission_limits *limits);

/* The guest of a connection from @peer ("10.0.0.7:4711", "[::1]:99", "unix:"):
 * an IPv6 network of 64 bits counts as one address. */
void admission_guest_init(struct admission_guest *g,
                          const char *peer,
                          bool is_nearby);

/* Admit an unauthenticated connection. If it takes the place of another,
 * *@evicted is that one (else NULL), outside from now on: end its connection.
 */
enum admission_verdict admission_enter(struct admission *a,
                                       struct admission_guest *g,
                                       struct admission_guest **evicted);
/* The peer has authenticated; @is_member: as a part of the cluster. Unless
 * granted, it is outside afterwards. PRE: an unauthenticated peer.
 */
enum admission_verdict
admission_prove(struct admission *a, struct admission_guest *g, bool is_member);
/* Try again for a peer that turned out to be a holder. PRE: outside, because
 * admission_prove() refused it. */
enum admission_verdict admission_readmit(struct admission *a,
                                         struct admission_guest *g);
/* Release its place when its connection ends. Does nothing when it is
 * outside. */
void admission_leave(struct admission *a, struct admission_guest *g);

#endif /* BASE_RPC_ADMISSION_H */
