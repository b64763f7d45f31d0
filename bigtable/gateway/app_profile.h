/* The rights of a data call's app profile. Profiles are kept in the registry;
 * recently used ones are cached for some seconds, so that a call costs no read.
 *
 * Threads: any.
 */
#ifndef BIGTABLE_GATEWAY_APP_PROFILE_H
#define BIGTABLE_GATEWAY_APP_PROFILE_H

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct app_profile_cache;
struct gateway;

/* The kind of a call. */
enum app_profile_use {
    APP_PROFILE_READ,
    APP_PROFILE_WRITE,
    APP_PROFILE_TRANSACTION, /* It reads the row that it writes. */
};

struct app_profile_cache *app_profile_cache_new(void);
void app_profile_cache_free(struct app_profile_cache *c); /* NULL allowed. */
/* Invalidate the cache after a change made here. Never parks. */
void app_profile_cache_forget(struct app_profile_cache *c);

/* May a call that names @profile (empty: the default, which may do all) for
 * @resource ("projects/…/instances/I…") do this? What another gateway changed
 * counts here within ten seconds. Parks.
 *
 * Errors: ERR_NOTFOUND, no such profile; ERR_DENIED, it does not allow that;
 * ERR_INVALID, @resource is no name. */
MUST_CHECK int app_profile_check(struct gateway *g,
                                 struct slice resource,
                                 struct slice profile,
                                 enum app_profile_use use,
                                 struct err *err);

#endif /* BIGTABLE_GATEWAY_APP_PROFILE_H */
