/* The value is made once in ten seconds for each instance, and copied into the
 * call. A request is asked for its instance by the first of its fields that
 * begins like the name of a resource: in all requests of the data API these
 * are the names of tables, views and instances alone, up to the first byte that
 * a program chose.
 */
#include "bigtable/gateway/response_params.h"

#include <string.h>

#include "base/core/hash.h"
#include "base/core/panic.h"
#include "base/core/pb.h"
#include "base/runtime/sync.h"
#include "base/runtime/world.h"
#include "bigtable/gateway/admin.h"
#include "bigtable/gateway/api_fields.h"
#include "bigtable/gateway/api_service.h"
#include "bigtable/gateway/grpc_status.h"

#define DATA_API    "/google.bigtable.v2.Bigtable/"
#define NAME_BEGINS "projects/"
#define ENTRY_COUNT 64
#define FRESH_NS    UINT64_C(10000000000)
/* Ids that do not fit leave the header out. */
#define ID_BYTES_MAX 64

struct params_entry {
    char instance[INSTANCE_ID_BYTES_MAX + 1]; /* Empty: none. */
    uint64_t read_ns;
    char value[GRPC_PARAMS_BYTES]; /* "": there is none. */
};

struct response_params_cache {
    struct mutex lock; /* Guards the entries; never held while parked. */
    struct params_entry entries[ENTRY_COUNT];
};

struct response_params_cache *response_params_cache_new(void)
{
    struct response_params_cache *c = mem_zalloc(1, sizeof(*c));
    mutex_init(&c->lock);
    return c;
}

void response_params_cache_free(struct response_params_cache *c)
{
    if (!c)
        return;
    mutex_close(&c->lock);
    mem_free(c);
}

static struct params_entry *params_entry_of(struct response_params_cache *c,
                                            struct slice instance)
{
    return &c->entries[hash64_slice(instance) % ENTRY_COUNT];
}

/* True: @call has the value that is cached. */
static bool
recall_params(struct gateway *g, struct slice instance, struct grpc_call *call)
{
    const uint64_t now_ns = world_mono_ns(g->world);
    struct params_entry *e = params_entry_of(g->params, instance);
    bool good;
    mutex_lock(&g->params->lock);
    good =
        slice_eq_str(instance, e->instance) && now_ns - e->read_ns < FRESH_NS;
    if (good)
        grpc_set_params(call, slice_str(e->value));
    mutex_unlock(&g->params->lock);
    return good;
}

struct first_cluster {
    struct buf message; /* A ResponseParams. */
    bool found;
};

static void take_cluster(void *ctx, struct slice id, struct slice message)
{
    struct first_cluster *f = ctx;
    struct slice location = pb_find(message, PB_Cluster_location);
    size_t at = location.len;
    if (f->found)
        return;
    f->found = true;
    while (at && location.data[at - 1] != '/')
        at--;
    location = slice_sub(location, at, location.len);
    if (id.len > ID_BYTES_MAX || location.len > ID_BYTES_MAX)
        return;
    pb_put_bytes(&f->message, PB_ResponseParams_zone_id, location);
    pb_put_bytes(&f->message, PB_ResponseParams_cluster_id, id);
}

static void
load_params(struct gateway *g, struct slice instance, struct grpc_call *call)
{
    struct params_entry e = {.read_ns = world_mono_ns(g->world)};
    struct first_cluster f = {.found = false};
    struct buf text = BUF_INIT;
    struct err ignored = ERR_INIT;
    PRE(instance.len < sizeof(e.instance));
    if (admin_each_cluster(g, instance, take_cluster, &f, &ignored) == 0) {
        grpc_put_base64(&text, buf_slice(&f.message));
        INVARIANT(text.len < sizeof(e.value));
        memcpy(e.instance, instance.data, instance.len);
        memcpy(e.value, buf_cstr(&text), text.len);
        grpc_set_params(call, buf_slice(&text));
        mutex_lock(&g->params->lock);
        *params_entry_of(g->params, instance) = e;
        mutex_unlock(&g->params->lock);
    }
    buf_close(&text);
    buf_close(&f.message);
}

/* The instance that the request names; false: none. */
static bool find_instance(struct slice request, struct slice *instance)
{
    struct cursor c = cursor_make(request);
    struct resource_name n;
    struct pb_field f;
    while (pb_next(&c, &f))
        if (f.wire == PB_BYTES &&
            slice_starts_with(f.bytes, SLICE_LIT(NAME_BEGINS))) {
            if (resource_name_parse(f.bytes, &n, NULL))
                return false;
            *instance = n.instance;
            return instance_id_check(n.instance, NULL) == 0;
        }
    return false;
}

void response_params_describe(void *ctx, struct grpc_call *call)
{
    struct gateway *g = ctx;
    struct slice instance;
    if (slice_starts_with(slice_str(grpc_path(call)), SLICE_LIT(DATA_API)) &&
        find_instance(grpc_request(call), &instance) &&
        !recall_params(g, instance, call))
        load_params(g, instance, call);
}
