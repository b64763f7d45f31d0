/* Rates of principals at one server. Rates are replaced as a whole; a principal
 * that keeps one keeps its buckets, so that a change of rates neither forgives
 * debts nor gives a full bucket. */
#include "bigtable/tablet_server/principal_buckets.h"

#include "base/core/hash_map.h"
#include "base/core/panic.h"
#include "base/metrics/metrics.h"
#include "bigtable/tablet_server/token_bucket.h"
#include "bigtable/wire/policy.h"
#include "bigtable/wire/principal_rates.h"

/* A server always grants a little: the master learns where a principal asks
 * only from calls that were served. */
#define SHARE_MIN 0.01

struct bounded {
    uint64_t ops_limit; /* Of the whole cluster. */
    uint64_t bytes_limit;
    struct token_bucket ops;
    struct token_bucket bytes;
    uint64_t refusals; /* Since it has a rate. */
};

struct principal_buckets {
    struct hash_map bounded; /* By principal: struct bounded. */
};

static void free_all(struct hash_map *m)
{
    struct hash_slot *slot;
    size_t at = 0;
    while ((slot = hash_map_next(m, &at)) != NULL)
        mem_free(slot->value.pointer);
    hash_map_close(m);
}

struct principal_buckets *principal_buckets_new(void)
{
    struct principal_buckets *b = mem_zalloc(1, sizeof(*b));
    hash_map_init(&b->bounded, HASH_KEYS_COPIED);
    return b;
}

void principal_buckets_free(struct principal_buckets *b)
{
    if (!b)
        return;
    free_all(&b->bounded);
    mem_free(b);
}

bool principal_buckets_any(const struct principal_buckets *b)
{
    return b->bounded.count > 0;
}

/* The bucket of r->name in @from, removed from it; or a new, full one. */
static struct bounded *take_or_make(struct hash_map *from,
                                    const struct principal_rate *r,
                                    double share,
                                    uint64_t now)
{
    union hash_value old;
    struct bounded *x;
    if (hash_map_remove(from, r->name, &old))
        return old.pointer;
    PRE(r->name.len > 0);
    x = mem_zalloc(1, sizeof(*x));
    token_bucket_init(&x->ops, (double)r->ops * share, now);
    token_bucket_init(&x->bytes, (double)r->bytes * share, now);
    return x;
}

void principal_buckets_set(struct principal_buckets *b,
                           struct slice rates,
                           double share,
                           uint64_t now_ns)
{
    struct hash_map before = b->bounded;
    struct principal_rate r;
    share = MAX_OF(share, SHARE_MIN);
    PRE(share <= 1); /* INV-2 */
    hash_map_init(&b->bounded, HASH_KEYS_COPIED);
    while (principal_rate_get(&rates, &r)) {
        struct bounded *x = take_or_make(&before, &r, share, now_ns);
        x->ops_limit = r.ops;
        x->bytes_limit = r.bytes;
        token_bucket_set_rate(&x->ops, (double)r.ops * share, now_ns);
        token_bucket_set_rate(&x->bytes, (double)r.bytes * share, now_ns);
        hash_map_put(&b->bounded, r.name, NULL)->pointer = x;
        INVARIANT(x->ops.rate >= 0);
        INVARIANT(x->bytes.rate >= 0);
    }
    free_all(&before);
}

static struct bounded *principal_buckets_find(struct principal_buckets *b,
                                              struct slice principal)
{
    union hash_value *v;
    if (LIKELY(b->bounded.count == 0))
        return NULL;
    v = hash_map_get(&b->bounded, principal);
    return v ? v->pointer : NULL;
}

int principal_buckets_may(struct principal_buckets *b,
                          struct slice principal,
                          uint64_t now_ns,
                          struct err *err)
{
    struct bounded *x = principal_buckets_find(b, principal);
    uint64_t again_us;
    bool has_ops;
    if (LIKELY(!x))
        return 0;
    has_ops = token_bucket_may(&x->ops, now_ns, &again_us);
    if (has_ops && token_bucket_may(&x->bytes, now_ns, &again_us))
        return 0;
    x->refusals++;
    INVARIANT(again_us > 0);
    return principal_refuse(principal, has_ops ? "bytes" : "ops",
                            has_ops ? x->bytes_limit : x->ops_limit, again_us,
                            err);
}

void principal_buckets_pay(struct principal_buckets *b,
                           struct slice principal,
                           uint64_t rows,
                           uint64_t bytes,
                           uint64_t now_ns)
{
    struct bounded *x = principal_buckets_find(b, principal);
    if (LIKELY(!x))
        return;
    token_bucket_pay(&x->ops, rows, now_ns);
    token_bucket_pay(&x->bytes, bytes, now_ns);
}

void principal_buckets_gather(const struct principal_buckets *b,
                              struct metric_set *out)
{
    const struct hash_slot *slot;
    size_t at = 0;
    while ((slot = hash_map_next(&b->bounded, &at)) != NULL) {
        const struct bounded *x = slot->value.pointer;
        char *name = mem_strndup(slot->key.data, slot->key.len);
        INVARIANT(x->ops.rate >= 0);
        INVARIANT(x->bytes.rate >= 0);
        metric_put(out, METRIC_tablet_principal_refusals, METRIC_LABELS(name),
                   (double)x->refusals);
        mem_free(name);
    }
}
