/* Admission of connections, counted by address. Addresses are compared by
 * hash: a collision lets two addresses share their limit, which is harmless.
 * Lists are short enough to be walked: a flood is bounded by
 * unauthenticated_max. */
#include "base/rpc/admission.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "base/core/hash.h"
#include "base/core/macros.h"
#include "base/core/panic.h"

#define UNAUTHENTICATED_MAX             512
#define UNAUTHENTICATED_PER_ADDRESS_MAX 64
#define PEERS_MAX                       4096
/* Each address may have this part of the places, */
#define ADDRESS_PART 4
/* but at least this many, for tests and small machines. */
#define PEERS_PER_ADDRESS_LEAST 64
/* The part of the places that is reserved. */
#define RESERVED_PART 8
/* Holders of one address: a machine has few processes, each with few
 * connections. */
#define HOLDERS_PER_ADDRESS_MAX 32
#define ADDRESS_BYTES           64

const char *admission_verdict_text(enum admission_verdict v)
{
    switch (v) {
    case ADMISSION_GRANTED: break;
    case ADMISSION_ADDRESS_FULL: return "too many connections of its address";
    case ADMISSION_FULL: return "too many connections";
    }
    return "granted";
}

static void set_default(size_t *value, size_t otherwise)
{
    if (*value == 0)
        *value = MAX_OF(otherwise, (size_t)1);
}

struct admission_limits
admission_limits_default(const struct admission_limits *limits,
                         size_t descriptors)
{
    struct admission_limits l = *limits;
    set_default(&l.peers_max, MIN_OF((size_t)PEERS_MAX, descriptors));
    set_default(&l.unauthenticated_max, MIN_OF((size_t)UNAUTHENTICATED_MAX,
                                               descriptors / ADDRESS_PART));
    set_default(
        &l.unauthenticated_per_address_max,
        MIN_OF((size_t)UNAUTHENTICATED_PER_ADDRESS_MAX, l.unauthenticated_max));
    set_default(
        &l.peers_per_address_max,
        MAX_OF((size_t)PEERS_PER_ADDRESS_LEAST, l.peers_max / ADDRESS_PART));
    if (l.peers_reserved == 0)
        l.peers_reserved = l.peers_max / RESERVED_PART;
    return l;
}

void admission_init(struct admission *a, const struct admission_limits *limits)
{
    PRE(limits->peers_reserved < limits->peers_max);
    *a = (struct admission){.limits = *limits};
}

/* --- addresses ----------------------------------------------------------- */

/* Hash the network of "[2001:db8::1]:99"; false if it is no IPv6 address. */
static bool hash_network(const char *peer, size_t host_bytes, uint64_t *out)
{
    char text[ADDRESS_BYTES];
    struct in6_addr a;
    if (host_bytes < 2 || peer[0] != '[' || host_bytes - 2 >= sizeof(text))
        return false;
    memcpy(text, peer + 1, host_bytes - 2);
    text[host_bytes - 2] = '\0';
    if (inet_pton(AF_INET6, text, &a) != 1)
        return false;
    *out = hash64(&a, sizeof(a) / 2, 6);
    return true;
}

static uint64_t hash_address(const char *peer)
{
    const char *colon = strrchr(peer, ':');
    size_t bytes = colon ? (size_t)(colon - peer) : strlen(peer);
    uint64_t hash;
    return hash_network(peer, bytes, &hash) ? hash : hash64(peer, bytes, 0);
}

void admission_guest_init(struct admission_guest *g,
                          const char *peer,
                          bool is_nearby)
{
    *g = (struct admission_guest){.address = hash_address(peer),
                                  .is_nearby = is_nearby};
}

static size_t count_address(const struct admission_guest *first,
                            uint64_t address)
{
    size_t count = 0;
    for (const struct admission_guest *g = first; g; g = g->next)
        count += g->address == address;
    return count;
}

/* --- unauthenticated peers ----------------------------------------------- */

static void link_unauthenticated(struct admission *a, struct admission_guest *g)
{
    g->next = NULL;
    g->prev = a->newest;
    if (a->newest)
        a->newest->next = g;
    else
        a->oldest = g;
    a->newest = g;
    a->unauthenticated_count++;
    g->state = ADMISSION_UNAUTHENTICATED;
}

static void unlink_unauthenticated(struct admission *a,
                                   struct admission_guest *g)
{
    if (g->prev)
        g->prev->next = g->next;
    else
        a->oldest = g->next;
    if (g->next)
        g->next->prev = g->prev;
    else
        a->newest = g->prev;
    INVARIANT(a->unauthenticated_count > 0);
    a->unauthenticated_count--;
    g->state = ADMISSION_OUTSIDE;
}

/* The oldest connection of the same kind: those of this machine and those of
 * the network do not evict each other while there is another choice. */
static struct admission_guest *choose_victim(const struct admission *a,
                                             bool is_nearby)
{
    struct admission_guest *g = a->oldest;
    while (g && g->is_nearby != is_nearby)
        g = g->next;
    return g ? g : a->oldest;
}

enum admission_verdict admission_enter(struct admission *a,
                                       struct admission_guest *g,
                                       struct admission_guest **evicted)
{
    PRE(g->state == ADMISSION_OUTSIDE);
    *evicted = NULL;
    if (!g->is_nearby && count_address(a->oldest, g->address) >=
                             a->limits.unauthenticated_per_address_max)
        return ADMISSION_ADDRESS_FULL;
    if (a->unauthenticated_count >= a->limits.unauthenticated_max) {
        *evicted = choose_victim(a, g->is_nearby);
        unlink_unauthenticated(a, *evicted);
    }
    link_unauthenticated(a, g);
    INVARIANT(a->unauthenticated_count <=
              a->limits.unauthenticated_max); /* INV-2 */
    return ADMISSION_GRANTED;
}

/* --- peers --------------------------------------------------------------- */

static void link_peer(struct admission *a, struct admission_guest *g)
{
    g->prev = NULL;
    g->next = a->peers;
    if (g->next)
        g->next->prev = g;
    a->peers = g;
    a->peer_count++;
    a->plain_count += !g->is_privileged;
    a->holder_count += g->is_holder;
    g->state = ADMISSION_PEER;
}

static void unlink_peer(struct admission *a, struct admission_guest *g)
{
    if (g->prev)
        g->prev->next = g->next;
    else
        a->peers = g->next;
    if (g->next)
        g->next->prev = g->prev;
    INVARIANT(a->peer_count > 0);
    a->peer_count--;
    a->plain_count -= !g->is_privileged;
    a->holder_count -= g->is_holder;
    g->state = ADMISSION_OUTSIDE;
}

static enum admission_verdict admission_judge(const struct admission *a,
                                              const struct admission_guest *g)
{
    const struct admission_limits *l = &a->limits;
    if (a->peer_count >= l->peers_max)
        return ADMISSION_FULL;
    if (g->is_privileged)
        return ADMISSION_GRANTED;
    if (a->plain_count >= l->peers_max - l->peers_reserved)
        return ADMISSION_FULL;
    return count_address(a->peers, g->address) >= l->peers_per_address_max
               ? ADMISSION_ADDRESS_FULL
               : ADMISSION_GRANTED;
}

enum admission_verdict
admission_prove(struct admission *a, struct admission_guest *g, bool is_member)
{
    enum admission_verdict v;
    PRE(g->state == ADMISSION_UNAUTHENTICATED);
    unlink_unauthenticated(a, g);
    g->is_privileged = is_member || g->is_nearby;
    v = admission_judge(a, g);
    if (v == ADMISSION_GRANTED)
        link_peer(a, g);
    INVARIANT(a->plain_count <=
              a->limits.peers_max - a->limits.peers_reserved); /* INV-2 */
    return v;
}

static size_t count_holders(const struct admission *a, uint64_t address)
{
    size_t count = 0;
    for (const struct admission_guest *g = a->peers; g; g = g->next)
        count += g->is_holder && g->address == address;
    return count;
}

enum admission_verdict admission_readmit(struct admission *a,
                                         struct admission_guest *g)
{
    PRE(g->state == ADMISSION_OUTSIDE && !g->is_privileged);
    if (a->peer_count >= a->limits.peers_max ||
        a->holder_count >= a->limits.peers_reserved / 2)
        return ADMISSION_FULL;
    if (count_holders(a, g->address) >= HOLDERS_PER_ADDRESS_MAX)
        return ADMISSION_ADDRESS_FULL;
    g->is_privileged = g->is_holder = true;
    link_peer(a, g);
    INVARIANT(a->holder_count <= a->limits.peers_reserved / 2); /* INV-3 */
    return ADMISSION_GRANTED;
}

void admission_leave(struct admission *a, struct admission_guest *g)
{
    switch (g->state) {
    case ADMISSION_OUTSIDE: break;
    case ADMISSION_UNAUTHENTICATED: unlink_unauthenticated(a, g); break;
    case ADMISSION_PEER: unlink_peer(a, g); break;
    }
}
