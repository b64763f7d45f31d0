/* XXH3 in one place. libxxhash is inlined here, so that the rest of the tree
 * does not compile its header, and so that all values come from one version
 * of it: they are on disk. */
#include "base/core/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t hash64(const void *data, size_t len, uint64_t seed)
{
    return XXH3_64bits_withSeed(data, len, seed);
}
