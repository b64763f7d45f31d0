/* App profiles of data calls: a cache of what recent profiles allow, by hash,
 * in which a collision costs a read and nothing else. An entry is valid for ten
 * seconds, and only while no profile was changed here since it was read.
 */
#include "bigtable/gateway/app_profile.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/core/hash.h"
#include "base/core/panic.h"
#include "base/core/pb.h"
#include "base/runtime/sync.h"
#include "base/runtime/world.h"
#include "bigtable/gateway/admin_resource.h"
#include "bigtable/gateway/api_fields.h"

/* Entries of the cache; a deployment uses a few profiles at once. */
#define ENTRY_COUNT 64
#define FRESH_NS    UINT64_C(10000000000)
#define KEY_BYTES   (INSTANCE_ID_BYTES_MAX * 2 + 2)

struct entry {
    char key[KEY_BYTES]; /* "INSTANCE/PROFILE"; empty: none. */
    uint64_t read_ns;    /* When it was read. */
    uint64_t generation; /* Of the cache at that time. */
    bool is_read_only;
    bool has_transactions;
};

struct app_profile_cache {
    struct mutex lock; /* Guards the entries; never held while parked. */
    struct entry entries[ENTRY_COUNT];
    _Atomic(uint64_t) generation; /* The number of changes made here. */
};

struct app_profile_cache *app_profile_cache_new(void)
{
    struct app_profile_cache *c = mem_zalloc(1, sizeof(*c));
    mutex_init(&c->lock);
    return c;
}

void app_profile_cache_free(struct app_profile_cache *c)
{
    if (!c)
        return;
    mutex_close(&c->lock);
    mem_free(c);
}

void app_profile_cache_forget(struct app_profile_cache *c)
{
    atomic_fetch_add(&c->generation, 1);
}

static struct entry *entry_of(struct app_profile_cache *c, const char *key)
{
    return &c->entries[hash64_slice(slice_str(key)) % ENTRY_COUNT];
}

static bool app_profile_recall(struct gateway *g,
                               const char *key,
                               uint64_t generation,
                               struct entry *e)
{
    struct app_profile_cache *c = g->profiles;
    bool good;
    mutex_lock(&c->lock);
    *e = *entry_of(c, key);
    mutex_unlock(&c->lock);
    good = strcmp(e->key, key) == 0 && e->generation == generation;
    return good && world_mono_ns(g->world) - e->read_ns < FRESH_NS;
}

static void app_profile_remember(struct app_profile_cache *c,
                                 const struct entry *e)
{
    mutex_lock(&c->lock);
    *entry_of(c, e->key) = *e;
    mutex_unlock(&c->lock);
}

/* Fill in what @message, an AppProfile, allows. */
static void read_profile(struct slice message, struct entry *e)
{
    e->is_read_only =
        pb_has_field(message, PB_AppProfile_data_boost_isolation_read_only);
    e->has_transactions =
        pb_find_integer(pb_find(message, PB_AppProfile_single_cluster_routing),
                        PB_SingleClusterRouting_allow_transactional_writes) !=
        0;
}

static int app_profile_load(struct gateway *g,
                            const struct resource_name *name,
                            struct entry *e,
                            struct err *err)
{
    struct buf message = BUF_INIT;
    int rc;
    e->generation = atomic_load(&g->profiles->generation);
    e->read_ns = world_mono_ns(g->world);
    rc = resource_get(g, &app_profile_kind, name, &message, err);
    if (rc == 0) {
        read_profile(buf_slice(&message), e);
        app_profile_remember(g->profiles, e);
    }
    buf_close(&message);
    return rc;
}

static int
check_use(const struct entry *e, enum app_profile_use use, struct err *err)
{
    if (use != APP_PROFILE_READ && e->is_read_only)
        return err_set(err, ERR_DENIED,
                       "app profile %s allows reads only "
                       "(data_boost_isolation_read_only)",
                       e->key);
    if (use == APP_PROFILE_TRANSACTION && !e->has_transactions)
        return err_set(err, ERR_DENIED,
                       "app profile %s allows no single-row transactions "
                       "(single_cluster_routing.allow_transactional_writes)",
                       e->key);
    return 0;
}

int app_profile_check(struct gateway *g,
                      struct slice resource,
                      struct slice profile,
                      enum app_profile_use use,
                      struct err *err)
{
    struct resource_name name;
    struct entry e;
    char key[KEY_BYTES];
    int rc;
    if (profile.len == 0 || slice_eq_str(profile, APP_PROFILE_DEFAULT))
        return 0;
    rc = resource_name_parse(resource, &name, err);
    if (rc)
        return rc;
    name.kind = SLICE_LIT("appProfiles");
    name.id = profile;
    if (instance_id_check(name.instance, NULL) ||
        instance_id_check(profile, NULL))
        return err_set(err, ERR_NOTFOUND, "AppProfile not found: \"%.*s\"",
                       SLICE_ARG(slice_sub(profile, 0, 100)));
    snprintf(key, sizeof(key), "%.*s/%.*s", SLICE_ARG(name.instance),
             SLICE_ARG(profile));
    if (!app_profile_recall(g, key, atomic_load(&g->profiles->generation),
                            &e)) {
        memset(&e, 0, sizeof(e));
        memcpy(e.key, key, sizeof(key));
        rc = app_profile_load(g, &name, &e, err);
    }
    return rc ? rc : check_use(&e, use, err);
}
