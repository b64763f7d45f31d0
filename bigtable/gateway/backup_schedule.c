/* Rounds over the registry, which is small: there is an entry for each table
 * with a policy. The first backup of a table comes one interval after its
 * policy, as in the service.
 */
#include "bigtable/gateway/backup_schedule.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/core/hash.h"
#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/log.h"
#include "base/runtime/world.h"
#include "bigtable/gateway/admin.h"
#include "bigtable/gateway/api_fields.h"
#include "bigtable/gateway/resource_registry.h"
#include "bigtable/gateway/table_message.h"

#define KEY_PREFIX      "automatic/"
#define ROUND_US        UINT64_C(600000000)
#define DAY_US          (INT64_C(24) * 3600 * 1000000)
#define FREQUENCY_US    DAY_US
#define RETAINED_US_MIN (3 * DAY_US)
#define RETAINED_US_MAX (90 * DAY_US)

/* Of an entry of the registry. */
enum {
    ENTRY_TABLE = 1,   /* "projects/P/instances/I/tables/T" */
    ENTRY_LAST_US = 2, /* When its last backup was made, or the policy. */
};

static const struct message_rule backup_policy_rules[] = {
    [PB_AutomatedBackupPolicy_retention_period] = {.rule = FIELD_KEPT},
    [PB_AutomatedBackupPolicy_frequency] = {.rule = FIELD_KEPT},
};

const struct message_type backup_policy_type =
    MESSAGE_TYPE(AutomatedBackupPolicy, backup_policy_rules);

/* --- policies ------------------------------------------------------------ */

/* How long backups of @table, a message Table, are kept; 0: it has no policy.
 */
static int
retention_of(struct slice table, int64_t *retained_us, struct err *err)
{
    struct slice policy = pb_find(table, PB_Table_automated_backup_policy);
    *retained_us = 0;
    /* Without fields it says nothing, as other messages do. */
    if (policy.len == 0)
        return 0;
    return service_time_us(
        pb_find(policy, PB_AutomatedBackupPolicy_retention_period),
        "automated_backup_policy.retention_period", retained_us, err);
}

int backup_policy_check(struct slice table, struct err *err)
{
    struct slice policy = pb_find(table, PB_Table_automated_backup_policy);
    int64_t us;
    int rc = retention_of(table, &us, err);
    if (rc || policy.len == 0)
        return rc;
    if (us < RETAINED_US_MIN || us > RETAINED_US_MAX)
        return err_set(err, ERR_INVALID,
                       "automated_backup_policy.retention_period must be from "
                       "3 to 90 days");
    if (!pb_has_field(policy, PB_AutomatedBackupPolicy_frequency))
        return 0;
    rc = service_time_us(pb_find(policy, PB_AutomatedBackupPolicy_frequency),
                         "automated_backup_policy.frequency", &us, err);
    if (rc == 0 && us != FREQUENCY_US)
        rc = err_set(err, ERR_INVALID,
                     "automated_backup_policy.frequency must be 24 hours");
    return rc;
}

static void put_entry_key(const struct resource_name *name, struct buf *out)
{
    buf_printf(out, KEY_PREFIX "%.*s/%.*s", SLICE_ARG(name->instance),
               SLICE_ARG(name->id));
}

static void put_entry(struct slice table, int64_t last_us, struct buf *out)
{
    pb_put_bytes(out, ENTRY_TABLE, table);
    pb_put_integer(out, ENTRY_LAST_US, last_us);
}

static void put_table_name(const struct resource_name *name, struct buf *out)
{
    buf_printf(out, "projects/%.*s/instances/%.*s/tables/%.*s",
               SLICE_ARG(name->project), SLICE_ARG(name->instance),
               SLICE_ARG(name->id));
}

int backup_policy_note(struct gateway *g,
                       const struct resource_name *name,
                       struct slice old,
                       struct slice fresh,
                       struct err *err)
{
    const bool had = pb_find(old, PB_Table_automated_backup_policy).len > 0;
    const bool has = pb_find(fresh, PB_Table_automated_backup_policy).len > 0;
    struct buf key = BUF_INIT, entry = BUF_INIT, table = BUF_INIT;
    int rc = 0;
    put_entry_key(name, &key);
    put_table_name(name, &table);
    put_entry(buf_slice(&table), service_now_us(g), &entry);
    if (has && !had)
        rc = registry_put(g->own, buf_slice(&key), buf_slice(&entry), err);
    else if (had && !has)
        rc = registry_remove(g->own, buf_slice(&key), err);
    buf_close(&key);
    buf_close(&entry);
    buf_close(&table);
    return rc;
}

/* --- a backup that is due ------------------------------------------------ */

static void take_first(void *ctx, struct slice id, struct slice message)
{
    struct buf *first = ctx;
    (void)message;
    if (first->len == 0)
        buf_append_slice(first, id);
}

/* "auto-20261124-170000-" and a hash of the table's name. */
static void
put_backup_id(const struct resource_name *table, int64_t us, struct buf *out)
{
    const time_t s = (time_t)(us / 1000000);
    char text[32];
    struct buf name = BUF_INIT;
    struct tm tm;
    gmtime_r(&s, &tm);
    strftime(text, sizeof(text), "%Y%m%d-%H%M%S", &tm);
    put_entry_key(table, &name);
    buf_printf(out, "auto-%s-%08" PRIx32, text,
               (uint32_t)hash64_slice(buf_slice(&name)));
    buf_close(&name);
}

static int make_automatic(struct gateway *g,
                          const struct resource_name *table,
                          int64_t retained_us,
                          struct err *err)
{
    const int64_t now_us = service_now_us(g);
    struct buf cluster = BUF_INIT, id = BUF_INIT, source = BUF_INIT;
    int rc = admin_each_cluster(g, table->instance, take_first, &cluster, err);
    put_backup_id(table, now_us, &id);
    put_table_name(table, &source);
    if (rc == 0)
        rc =
            admin_backup_make(g, table, buf_slice(&source), buf_slice(&cluster),
                              buf_slice(&id), now_us + retained_us, err);
    buf_close(&cluster);
    buf_close(&id);
    buf_close(&source);
    return rc;
}

/* An entry that a round found. */
struct due {
    struct slice key;
    struct slice entry;
    struct resource_name name;
    int64_t last_us;
};

/* Its table is gone, or has no policy any more. */
static int forget_entry(struct gateway *g, const struct due *d, struct err *err)
{
    return registry_remove(g->own, d->key, err);
}

/* Claim it by its time, make it, and give the claim back if that failed. */
static int
make_due(struct gateway *g, const struct due *d, int64_t us, struct err *err)
{
    struct buf claim = BUF_INIT;
    int rc;
    PRE(us >= RETAINED_US_MIN && d->name.id.len > 0);
    put_entry(pb_find(d->entry, ENTRY_TABLE), service_now_us(g), &claim);
    rc = registry_replace(g->own, d->key, d->entry, true, buf_slice(&claim),
                          err);
    if (rc == ERR_ABORTED) { /* Another gateway's. */
        buf_close(&claim);
        err_init(err);
        return 0;
    }
    if (rc == 0) {
        struct err ignored = ERR_INIT;
        rc = make_automatic(g, &d->name, us, err);
        if (rc && registry_replace(g->own, d->key, buf_slice(&claim), true,
                                   d->entry, &ignored))
            err_wrap(err, "and it is tried again a day later");
    }
    buf_close(&claim);
    return rc;
}

static int see_entry(struct gateway *g, struct due *d, struct err *err)
{
    struct buf extras = BUF_INIT;
    int64_t retained_us = 0;
    bool found;
    int rc = resource_name_parse_kind(pb_find(d->entry, ENTRY_TABLE), "tables",
                                      &d->name, err);
    d->last_us = (int64_t)pb_find_integer(d->entry, ENTRY_LAST_US);
    if (rc == 0)
        rc = table_extras_get(g, &d->name, &extras, &found, err);
    if (rc == 0)
        rc = retention_of(buf_slice(&extras), &retained_us, err);
    if (rc == 0 && retained_us == 0)
        rc = forget_entry(g, d, err);
    else if (rc == 0 && service_now_us(g) - d->last_us >= FREQUENCY_US)
        rc = make_due(g, d, retained_us, err);
    buf_close(&extras);
    return rc;
}

/* --- rounds -------------------------------------------------------------- */

/* Entries of the registry, each a key and a value with their lengths. */
static int
note_entry(void *ctx, struct slice key, struct slice message, struct err *err)
{
    struct buf *list = ctx;
    (void)err;
    pb_put_bytes(list, 1, key);
    pb_put_bytes(list, 2, message);
    return 0;
}

static void backup_log(struct gateway *g, struct slice what, struct err *err)
{
    log_warn(g->world, "gateway", "automated backup of=\"%.*s\" why=\"%s\"",
             SLICE_ARG(slice_sub(what, 0, 200)), err->text);
}

static void make_all_due(struct gateway *g)
{
    struct buf list = BUF_INIT;
    struct err err = ERR_INIT;
    struct due d = {.last_us = 0};
    struct cursor c;
    struct pb_field f;
    if (registry_each(g->own, SLICE_LIT(KEY_PREFIX), note_entry, &list, &err))
        backup_log(g, SLICE_LIT("all"), &err);
    c = cursor_make(buf_slice(&list));
    while (pb_next(&c, &f) && fiber_check(NULL) == 0) {
        if (pb_is_bytes(&f, 1)) {
            d.key = f.bytes;
            continue;
        }
        d.entry = f.bytes;
        err_init(&err);
        if (see_entry(g, &d, &err))
            backup_log(g, d.key, &err);
    }
    buf_close(&list);
}

void backup_schedule_round(struct gateway *g)
{
    struct err err = ERR_INIT;
    make_all_due(g);
    if (fiber_check(NULL) == 0 && admin_backup_expire_all(g, &err))
        backup_log(g, SLICE_LIT("expired ones"), &err);
}

void backup_schedule_run(void *gateway)
{
    struct gateway *g = gateway;
    while (fiber_check(NULL) == 0) {
        world_sleep_us(g->world, ROUND_US);
        if (fiber_check(NULL) == 0)
            backup_schedule_round(g);
    }
}
