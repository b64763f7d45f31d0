/* The Unix address of a loopback server: an abstract name made from its TCP
 * address, so that clients find it without a file or a directory. */
#include "base/rpc/nearby.h"

#include <stdio.h>

#include "base/core/slice.h"

bool nearby_address(const char *address, char out[NEARBY_BYTES])
{
    struct slice a = slice_str(address);
    int n;
    if (!slice_starts_with(a, SLICE_LIT("127.")) &&
        !slice_starts_with(a, SLICE_LIT("[::1]:")))
        return false;
    n = snprintf(out, NEARBY_BYTES, "unix:@quarry/%s", address);
    return n > 0 && n < NEARBY_BYTES;
}
