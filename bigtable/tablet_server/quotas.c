/* Quotas of tables and rates of principals, as each call meets them.
 *
 * A rate is shared by the servers of the table: the master writes each server's
 * share into the policy; before it has, a server takes the part of the tablets
 * that it serves. Calls pay after they have run, when their cost is known
 * (token_bucket.h). Sizes are the master's to add up; here its verdict is
 * enforced, and the family that has most is named. */
#include <string.h>

#include "base/core/panic.h"
#include "base/metrics/metrics.h"
#include "base/runtime/world.h"
#include "bigtable/read/family_use.h"
#include "bigtable/row/schema.h"
#include "bigtable/tablet/table_part.h"
#include "bigtable/tablet/tablet.h"
#include "bigtable/tablet_server/principal_buckets.h"
#include "bigtable/tablet_server/rules.h"
#include "bigtable/tablet_server/rules_state.h"
#include "bigtable/tablet_server/tablet_server_state.h"

/* How long a share, or the largest family, is used before it is determined
 * again. */
#define COUNTED_NS UINT64_C(1000000000)

#define STORED 0
#define MEMORY 1

/* The table's tablets that are here, referenced. The list is owned. */
static struct served **
tablets_of(struct tablet_server *s, uint64_t table, size_t *count)
{
    size_t all;
    struct served **list = served_list(&s->served, &all);
    *count = 0;
    for (size_t i = 0; i < all; i++) {
        if (list[i]->table && list[i]->table_id == table) {
            INVARIANT(list[i]->table->id == table);
            list[(*count)++] = list[i];
        } else {
            served_unref(list[i]);
        }
    }
    return list;
}

static void free_tablets(struct served **list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        served_unref(list[i]);
    mem_free(list);
}

/* This server's part of the table's rates: the master's figure, by use; before
 * there is one, its part of the tablets. */
static double share_of(struct tablet_server *s, const struct table_rules *r)
{
    double all = (double)r->policy.use.tablets;
    uint32_t part;
    struct served **list;
    size_t here;
    if (table_policy_share(&r->policy, s->number, &part))
        return (double)part / SHARE_WHOLE;
    list = tablets_of(s, r->table, &here);
    free_tablets(list, here);
    return all > (double)here && here > 0 ? (double)here / all : 1;
}

static void
set_rates(struct tablet_server *s, struct table_rules *r, uint64_t now)
{
    double share;

    PRE(r->book);
    if (r->counted_ns && now - r->counted_ns < COUNTED_NS)
        return;
    share = share_of(s, r);
    INVARIANT(share >= 0);
    for (size_t i = RATE_READS; i <= RATE_BYTES; i++)
        token_bucket_set_rate(&r->buckets[i],
                              (double)*quota_field(&r->policy.quota, i) * share,
                              now);
    r->counted_ns = now;
}

static int
take_turn(struct table_rules *r, size_t i, uint64_t now, struct err *err)
{
    uint64_t again_us;
    PRE(i >= RATE_READS);
    PRE(i <= RATE_BYTES);
    if (token_bucket_may(&r->buckets[i], now, &again_us))
        return 0;
    INVARIANT(again_us > 0);
    return rate_refuse(slice_str(r->name), i, *quota_field(&r->policy.quota, i),
                       again_us, err);
}

static bool has_rates(const struct served *t)
{
    return t->rules && !t->rules->none &&
           quota_has_rate(&t->rules->policy.quota);
}

/* METADATA has no rules: calls to it serve all principals. */
static bool principals_are_bound(struct tablet_server *s,
                                 const struct served *t)
{
    PRE(t->rules || t->table_id == METADATA_TABLE_ID); /* rules_refresh() */
    return t->rules && principal_buckets_any(rule_book_principals(s->rules));
}

int rules_may_go(struct tablet_server *s,
                 struct served *t,
                 struct slice principal,
                 enum rate rate,
                 struct err *err)
{
    uint64_t now;
    int rc = 0;
    PRE(rate == RATE_READS || rate == RATE_WRITES);
    if (principals_are_bound(s, t))
        rc = principal_buckets_may(rule_book_principals(s->rules), principal,
                                   world_mono_ns(s->world), err);
    if (rc || LIKELY(!has_rates(t)))
        return rc;
    now = world_mono_ns(s->world);
    set_rates(s, t->rules, now);
    rc = take_turn(t->rules, rate, now, err);
    return rc ? rc : take_turn(t->rules, RATE_BYTES, now, err);
}

void rules_pay(struct tablet_server *s,
               struct served *t,
               struct slice principal,
               enum rate rate,
               uint64_t rows,
               uint64_t bytes)
{
    uint64_t now;
    PRE(rate == RATE_READS || rate == RATE_WRITES);
    metric_add(t->meters.row_bytes, bytes);
    if (principals_are_bound(s, t))
        principal_buckets_pay(rule_book_principals(s->rules), principal, rows,
                              bytes, world_mono_ns(s->world));
    if (LIKELY(!has_rates(t)))
        return;
    now = world_mono_ns(s->world);
    token_bucket_pay(&t->rules->buckets[rate], rows, now);
    token_bucket_pay(&t->rules->buckets[RATE_BYTES], bytes, now);
}

/* Note the family with the most bytes in the tablets that are here. */
static void find_largest(struct tablet_server *s,
                         struct table_rules *r,
                         const struct schema *schema,
                         bool of_memory)
{
    struct family_use *sum = mem_zalloc(schema->family_count + 1, sizeof(*sum));
    size_t count;
    struct served **list = tablets_of(s, r->table, &count);
    uint64_t most = 0;
    r->largest[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        INVARIANT(list[i]->table);
        struct table_part_view *v = table_part_get_view(list[i]->table);
        if (v)
            family_use_add(v->tablets[0], schema, false, sum);
        table_part_view_unref(v);
    }
    for (size_t i = 0; i < schema->family_count; i++) {
        uint64_t n = of_memory ? sum[i].memory_bytes : sum[i].stored_bytes;
        if (n > most)
            memcpy(r->largest, schema->families[i].name, sizeof(r->largest));
        most = MAX_OF(most, n);
    }
    free_tablets(list, count);
    mem_free(sum);
}

bool rules_is_full(const struct served *t)
{
    const struct table_rules *r = t->rules;
    return r && !r->none &&
           (r->policy.stored_is_over || r->policy.memory_is_over);
}

int rules_may_grow(struct tablet_server *s,
                   struct served *t,
                   const struct schema *schema,
                   struct err *err)
{
    struct table_rules *r = t->rules;
    uint64_t now;
    size_t i;
    if (!rules_is_full(t))
        return 0;
    i = r->policy.stored_is_over ? STORED : MEMORY;
    now = world_mono_ns(s->world);
    if (r->largest_ns == 0 || now - r->largest_ns > COUNTED_NS) {
        find_largest(s, r, schema, i == MEMORY);
        r->largest_ns = now;
    }
    return size_refuse(slice_str(r->name), i, *quota_field(&r->policy.quota, i),
                       i == STORED ? r->policy.use.stored_bytes
                                   : r->policy.use.memory_bytes,
                       slice_str(r->largest), err);
}

/* --- metrics ------------------------------------------------------------- */

void rules__gather_limits(const struct table_rules *r, struct metric_set *out)
{
    struct quarry_quota quota = r->policy.quota;
    PRE(r->name);
    for (size_t i = 0; i < QUOTA_COUNT; i++)
        if (*quota_field(&quota, i))
            metric_put(out, METRIC_tablet_quota_limit,
                       METRIC_LABELS(r->name, quota_name(i)),
                       (double)*quota_field(&quota, i));
}

void rules_gather_use(const struct served *t, struct metric_set *out)
{
    const struct table_rules *r = t->rules;
    struct table_part_view *v;
    if (!r || r->none ||
        !(r->policy.quota.stored_bytes || r->policy.quota.memory_bytes))
        return;
    v = table_part_get_view(t->table);
    if (v && r->policy.quota.stored_bytes)
        metric_put(out, METRIC_tablet_quota_used,
                   METRIC_LABELS(r->name, quota_name(STORED)),
                   (double)tablet_table_bytes(v->tablets[0]));
    if (v && r->policy.quota.memory_bytes)
        metric_put(out, METRIC_tablet_quota_used,
                   METRIC_LABELS(r->name, quota_name(MEMORY)),
                   (double)tablet_memory_bytes(v->tablets[0], v->schema));
    table_part_view_unref(v);
}
