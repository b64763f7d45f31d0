/* The limit, as one time for each address: every failure moves it by
 * ATTEMPT_EVERY_S into the future, and an address whose time is ATTEMPTS_MAX
 * failures away must wait. */
#include "cli/console/attempt_limit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "base/core/hash.h"
#include "base/core/macros.h"

#define FULL_S (ATTEMPTS_MAX * ATTEMPT_EVERY_S)

static uint64_t hash_peer(struct slice peer)
{
    char text[64] = "";
    struct in6_addr a;
    struct slice host = peer;
    size_t at;
    if (peer.len && peer.data[0] == '[') {
        host = slice_sub(peer, 1, slice_find_byte(peer, ']'));
    } else {
        at = slice_find_byte(peer, ':');
        if (slice_find_byte(slice_sub(peer, at + 1, peer.len), ':') + at + 1 >=
            peer.len)
            host = slice_sub(peer, 0, at);
    }
    if (host.len < sizeof(text))
        memcpy(text, host.data, host.len);
    if (inet_pton(AF_INET6, text, &a) == 1)
        return hash64(&a, 8, 6);
    return hash64(host.data, host.len, 4);
}

uint64_t attempt_limit_wait_s(const struct attempt_limit *l,
                              struct slice peer,
                              uint64_t now_s)
{
    uint64_t hash = hash_peer(peer);
    for (size_t i = 0; i < ATTEMPT_ADDRESSES_MAX; i++) {
        const struct attempt_address *a = &l->at[i];
        if (a->hash == hash && a->clear_s > now_s + FULL_S - ATTEMPT_EVERY_S)
            return a->clear_s - (now_s + FULL_S - ATTEMPT_EVERY_S);
    }
    return 0;
}

void attempt_limit_fail(struct attempt_limit *l,
                        struct slice peer,
                        uint64_t now_s)
{
    uint64_t hash = hash_peer(peer);
    struct attempt_address *a = &l->at[0]; /* Its own, or the oldest. INV-1 */
    for (size_t i = 0; i < ATTEMPT_ADDRESSES_MAX && a->hash != hash; i++)
        if (l->at[i].hash == hash || l->at[i].clear_s < a->clear_s)
            a = &l->at[i];
    if (a->hash != hash)
        *a = (struct attempt_address){.hash = hash};
    a->clear_s = MAX_OF(a->clear_s, now_s) + ATTEMPT_EVERY_S;
}
