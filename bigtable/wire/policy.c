/* Records and calls of rights and quotas, and the sentences of refusals. A
 * refusal by rate carries the time to wait as a detail, which clients act on.
 */
#include "bigtable/wire/policy.h"

#include <stdio.h>
#include <string.h>

#include "base/core/coding.h"
#include "bigtable/row/access.h"
#include "bigtable/row/schema.h"
#include "bigtable/wire/message.h"
#include "bigtable/wire/principal_rates.h"

#define POLICY_FIELDS        8
#define POLICY_FIELDS_RATES  7 /* Of writers that know no roles. */
#define POLICY_FIELDS_SHARES 6 /* No rates of principals.   \ */
#define POLICY_FIELDS_MIN    5 /* No shares. */
#define QUOTA_FIELDS         QUOTA_COUNT
#define USE_FIELDS           3
#define POLICY_CHANGE_FIELDS 7

#define SHARE_BYTES          16 /* server:be64 part:be64 */
#define RIGHT_BYTES_MAX      16
#define PRINCIPALS_BYTES_MAX ACCESS_BYTES_MAX

/* A refusal by rate ends with this, milliseconds, and their unit. */
#define AGAIN      "; again in "
#define AGAIN_UNIT " ms"
/* The longest wait that is reported. */
#define AGAIN_MS_MAX 60000

void policy_path(uint64_t table, char path[POLICY_PATH_BYTES])
{
    if (table)
        snprintf(path, POLICY_PATH_BYTES, BIGTABLE_LOCK_POLICIES "/%llu",
                 (unsigned long long)table);
    else
        snprintf(path, POLICY_PATH_BYTES,
                 BIGTABLE_LOCK_POLICIES "/" POLICY_CLUSTER);
}

/* --- records ------------------------------------------------------------- */

static void put_quota(const struct quarry_quota *q, struct buf *out)
{
    struct quarry_quota copy = *q;
    codec_put_array(out, QUOTA_FIELDS);
    for (size_t i = 0; i < QUOTA_COUNT; i++)
        codec_put_u64(out, *quota_field(&copy, i));
}

static void get_quota(struct codec_reader *r, struct quarry_quota *q)
{
    message_part(r, QUOTA_FIELDS);
    for (size_t i = 0; i < QUOTA_COUNT; i++)
        *quota_field(q, i) = codec_get_u64(r);
}

void table_policy_put(const struct table_policy *p, struct buf *out)
{
    codec_put_array(out, POLICY_FIELDS);
    message_put_maybe(out, p->has_access, p->access);
    put_quota(&p->quota, out);
    codec_put_array(out, USE_FIELDS);
    codec_put_u64(out, p->use.tablets);
    codec_put_u64(out, p->use.stored_bytes);
    codec_put_u64(out, p->use.memory_bytes);
    codec_put_bool(out, p->stored_is_over);
    codec_put_bool(out, p->memory_is_over);
    codec_put_bin(out, p->shares);
    codec_put_bin(out, p->rates);
    codec_put_bin(out, p->roles);
}

int table_policy_get(struct slice in, struct table_policy *p, struct err *err)
{
    struct message_reader m;
    *p = (struct table_policy){.has_access = false};
    if (in.len == 0)
        return 0;
    m = message_begin(in, POLICY_FIELDS_MIN);
    p->access = message_maybe(&m.r, &p->has_access);
    m.r.bad |= p->access.len > ACCESS_BYTES_MAX;
    get_quota(&m.r, &p->quota);
    message_part(&m.r, USE_FIELDS);
    p->use.tablets = codec_get_u64(&m.r);
    p->use.stored_bytes = codec_get_u64(&m.r);
    p->use.memory_bytes = codec_get_u64(&m.r);
    p->stored_is_over = codec_get_bool(&m.r);
    p->memory_is_over = codec_get_bool(&m.r);
    if (m.count >= POLICY_FIELDS_SHARES) {
        m.known = POLICY_FIELDS_SHARES;
        p->shares = message_bytes(&m.r, (size_t)SHARES_MAX * SHARE_BYTES);
        m.r.bad |= p->shares.len % SHARE_BYTES != 0;
    }
    if (m.count >= POLICY_FIELDS_RATES) {
        m.known = POLICY_FIELDS_RATES;
        p->rates = message_bytes(&m.r, PRINCIPAL_RATES_BYTES_MAX);
        m.r.bad |= principal_rates_check(p->rates, NULL) != 0;
    }
    if (m.count >= POLICY_FIELDS) {
        m.known = POLICY_FIELDS;
        p->roles = message_bytes(&m.r, ACCESS_BYTES_MAX);
    }
    return message_end(&m, "policy of a table", err);
}

void table_share_put(uint64_t server, uint32_t part, struct buf *out)
{
    buf_put_be64(out, server);
    buf_put_be64(out, part);
}

bool table_share_get(struct slice *shares, uint64_t *server, uint32_t *part)
{
    if (shares->len < SHARE_BYTES)
        return false;
    *server = get_be64(shares->data);
    *part = (uint32_t)get_be64(shares->data + 8);
    *shares = slice_sub(*shares, SHARE_BYTES, shares->len);
    return true;
}

bool table_policy_share(const struct table_policy *p,
                        uint64_t server,
                        uint32_t *part)
{
    struct slice rest = p->shares;
    uint64_t whose;
    while (table_share_get(&rest, &whose, part))
        if (whose == server)
            return true;
    return false;
}

/* --- calls --------------------------------------------------------------- */

void policy_change_put(const struct policy_change *c, struct buf *out)
{
    codec_put_array(out, POLICY_CHANGE_FIELDS);
    codec_put_bin(out, c->table);
    codec_put_u64(out, c->kind);
    codec_put_bin(out, c->family);
    codec_put_bin(out, c->right);
    codec_put_bin(out, c->principals);
    codec_put_bin(out, c->access);
    put_quota(&c->quota, out);
}

int policy_change_get(struct slice in, struct policy_change *c, struct err *err)
{
    struct message_reader m = message_begin(in, POLICY_CHANGE_FIELDS);
    uint64_t kind;
    c->table = message_bytes(&m.r, TABLE_NAME_BYTES_MAX);
    kind = codec_get_u64(&m.r);
    m.r.bad |= kind < POLICY_GRANT || kind > POLICY_ROLE;
    c->kind = m.r.bad ? POLICY_GRANT : (enum policy_change_kind)kind;
    c->family = message_bytes(&m.r, FAMILY_NAME_BYTES_MAX);
    c->right = message_bytes(&m.r, RIGHT_BYTES_MAX);
    c->principals = message_bytes(&m.r, PRINCIPALS_BYTES_MAX);
    c->access = message_bytes(&m.r, ACCESS_BYTES_MAX);
    get_quota(&m.r, &c->quota);
    return message_end(&m, "change of a policy", err);
}

/* --- refusals ------------------------------------------------------------ */

static void put_refused(struct slice table,
                        size_t quota,
                        uint64_t limit,
                        uint64_t used,
                        struct slice family,
                        struct buf *out)
{
    buf_printf(out, "table \"%.*s\" is over its quota of %s, ",
               SLICE_ARG(table), quota_name(quota));
    quota_put_value(quota, limit, out);
    if (used) {
        buf_append_str(out, ": it has ");
        quota_put_value(quota, used, out);
    }
    if (family.len)
        buf_printf(out, ", most in family \"%.*s\"", SLICE_ARG(family));
}

int rate_refuse(struct slice table,
                size_t quota,
                uint64_t limit,
                uint64_t again_us,
                struct err *err)
{
    uint64_t ms = MIN_OF(again_us / 1000 + 1, (uint64_t)AGAIN_MS_MAX);
    struct buf text = BUF_INIT;
    put_refused(table, quota, limit, 0, SLICE_EMPTY, &text);
    err_set(err, ERR_EXHAUSTED, "%s" AGAIN "%llu" AGAIN_UNIT, buf_cstr(&text),
            (unsigned long long)ms);
    err_set_retry(err, ms * 1000);
    buf_close(&text);
    return ERR_EXHAUSTED;
}

int principal_refuse(struct slice principal,
                     const char *what,
                     uint64_t limit,
                     uint64_t again_us,
                     struct err *err)
{
    uint64_t ms = MIN_OF(again_us / 1000 + 1, (uint64_t)AGAIN_MS_MAX);
    err_set(err, ERR_EXHAUSTED,
            "\"%.*s\" is over its rate of %llu %s a second" AGAIN
            "%llu" AGAIN_UNIT,
            SLICE_ARG(principal), (unsigned long long)limit, what,
            (unsigned long long)ms);
    err_set_retry(err, ms * 1000);
    return ERR_EXHAUSTED;
}

int size_refuse(struct slice table,
                size_t quota,
                uint64_t limit,
                uint64_t used,
                struct slice family,
                struct err *err)
{
    struct buf text = BUF_INIT;
    put_refused(table, quota, limit, used, family, &text);
    err_set(err, ERR_EXHAUSTED, "%s", buf_cstr(&text));
    err_hint(err, "delete rows, or: quarry quota set %.*s %s=…",
             SLICE_ARG(table), quota_name(quota));
    buf_close(&text);
    return ERR_EXHAUSTED;
}
