/* The rules of cache_policy.h, in their order: the first that applies
 * decides. They are a function of figures alone, so that a test can state
 * each of them. */
#include "bigtable/lsm/cache_policy.h"

#include "base/core/panic.h"

bool cache_policy_keeps(const struct group_options *options,
                        uint64_t store_bytes,
                        uint64_t output_bytes,
                        const struct world_memory *memory)
{
    uint64_t available = memory->available_bytes;

    PRE(options->cache < CACHE_OPTION_COUNT);
    if (options->cache != CACHE_AUTO)
        return options->cache == CACHE_ON;
    if (options->in_memory || memory->total_bytes == 0)
        return false; /* Its blocks are kept decoded; nothing is known. */
    if (output_bytes <= available / CACHE_OUTPUT_PARTS)
        return true;
    return store_bytes <= available / CACHE_STORE_PARTS &&
           output_bytes <= available / CACHE_STORE_PARTS - store_bytes;
}
