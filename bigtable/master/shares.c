/* Shares of rates: a tenth by tablets, the rest by use.
 *
 * The tenth is what a server without requests keeps, so that the first ones it
 * gets are not refused until the next choice. Where no server has requests, all
 * is shared by tablets. Changes below a twentieth are not worth a write. */
#include "bigtable/master/shares.h"

#include "base/core/buf.h"
#include "base/core/macros.h"
#include "base/core/panic.h"
#include "bigtable/wire/policy.h"

/* The part of the whole that is shared by tablets. */
#define ALIKE 0.1
/* Smaller changes of a share are not worth a write. */
#define STEP (SHARE_WHOLE / 20)

static double part_of(uint64_t some, uint64_t all)
{
    return all ? (double)some / (double)all : 0;
}

void shares_choose(const struct share_server *servers,
                   size_t count,
                   struct buf *out)
{
    uint64_t tablets = 0;
    uint64_t requests = 0;
    for (size_t i = 0; i < count; i++) {
        tablets += servers[i].tablets;
        requests += servers[i].requests_per_s;
    }
    for (size_t i = 0; i < count; i++) {
        double alike = part_of(servers[i].tablets, tablets);
        double used =
            requests ? part_of(servers[i].requests_per_s, requests) : alike;
        INVARIANT(alike <= 1);
        INVARIANT(used <= 1);
        table_share_put(
            servers[i].number,
            (uint32_t)((ALIKE * alike + (1 - ALIKE) * used) * SHARE_WHOLE),
            out);
    }
}

bool shares_differ(struct slice a, struct slice b)
{
    uint64_t mine, other;
    uint32_t part, was;
    if (a.len != b.len)
        return true;
    while (table_share_get(&a, &mine, &part) &&
           table_share_get(&b, &other, &was))
        if (mine != other || MAX_OF(part, was) - MIN_OF(part, was) > STEP)
            return true;
    return false;
}
