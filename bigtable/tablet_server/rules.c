/* Rules of tables: kept, and read again when the lock service reports a change.
 *
 * A policy's file is kept open, because events come for open files. An event
 * marks the rules stale and does not park; the next call reads the file. Rules
 * of a table depend on the cluster's file too, which has the roles and the
 * administrators: a change of that file makes all rules stale. */
#include "bigtable/tablet_server/rules.h"

#include "base/core/fault.h"
#include "base/core/panic.h"
#include "base/rpc/roles.h"
#include "base/runtime/log.h"
#include "base/runtime/sync.h"
#include "base/runtime/world.h"
#include "bigtable/tablet/table_part.h"
#include "bigtable/tablet_server/principal_buckets.h"
#include "bigtable/tablet_server/rules_state.h"
#include "bigtable/tablet_server/tablet_server_state.h"
#include "chubby-lite/chubby.h"

/* Principals of a table whose rights are kept; then all are dropped. */
#define GRANTS_MAX 4096
/* Tries to open a file that is removed and made again. */
#define OPEN_TRIES 3

struct rule_book {
    struct tablet_server *server;
    struct hash_map tables;      /* By id: struct table_rules. */
    struct table_rules *cluster; /* Number 0 of these. */
    struct principal_buckets *principals;
};

/* --- rights of principals ------------------------------------------------ */

static void grants_free(struct grants *g)
{
    hash_map_close(&g->families);
    mem_free(g);
}

static void forget_grants(struct table_rules *r)
{
    size_t at = 0;
    struct hash_slot *slot;
    while ((slot = hash_map_next(&r->grants, &at)) != NULL)
        grants_free(slot->value.pointer);
    hash_map_clear(&r->grants);
}

/* Does the cluster's list make @principal an administrator? */
static bool is_administrator(const struct table_rules *r,
                             struct slice principal)
{
    const struct access_list *l;

    PRE(r->book);
    PRE(r->book->cluster);
    l = r->book->cluster->list;
    return l && (access_rights(l, principal, SLICE_LIT("*")) & ACCESS_OWN);
}

struct grants *rules__grants(struct table_rules *r, struct slice principal)
{
    union hash_value *v = hash_map_get(&r->grants, principal);
    struct grants *g;

    PRE(r->list);
    if (LIKELY(v != NULL))
        return v->pointer;
    INVARIANT(r->grants.count <= GRANTS_MAX); /* INV-3 */
    if (r->grants.count == GRANTS_MAX)
        forget_grants(r);
    g = mem_zalloc(1, sizeof(*g));
    g->everywhere = access_rights(r->list, principal, SLICE_LIT("*"));
    g->anywhere = access_rights_anywhere(r->list, principal);
    g->is_administrator = is_administrator(r, principal);
    hash_map_init(&g->families, HASH_KEYS_COPIED);
    hash_map_put(&r->grants, principal, NULL)->pointer = g;
    return g;
}

unsigned rules__rights(struct table_rules *r,
                       struct grants *g,
                       struct slice principal,
                       struct slice family)
{
    union hash_value *v = hash_map_get(&g->families, family);

    PRE(r->list);
    if (!v) {
        v = hash_map_put(&g->families, family, NULL);
        v->number = access_rights(r->list, principal, family);
    }
    return (unsigned)v->number;
}

/* --- files --------------------------------------------------------------- */

static void close_file(struct table_rules *r)
{
    chubby_close(r->file);
    r->file = NULL;
}

static int
open_file(struct rule_book *b, struct table_rules *r, struct err *err)
{
    static const struct table_policy none = {.has_access = false};
    struct chubby_open_options o = {.events = CHUBBY_EVENT_CONTENT};
    struct buf contents = BUF_INIT;
    char path[POLICY_PATH_BYTES];
    int rc;

    if (r->file)
        return 0;
    /* Create it: no event would report its creation later. */
    table_policy_put(&none, &contents);
    o.contents = buf_slice(&contents);
    policy_path(r->table, path);
    rc = chubby_open(session_chubby(b->server->session), path,
                     CHUBBY_READ | CHUBBY_CREATE, &o, &r->file, err);
    buf_close(&contents);
    return rc;
}

static int read_file(struct rule_book *b,
                     struct table_rules *r,
                     struct buf *out,
                     struct err *err)
{
    int rc = ERR_NOTFOUND;
    PRE(mutex_is_held(&r->reading));
    for (int i = 0; i < OPEN_TRIES && rc == ERR_NOTFOUND; i++) {
        rc = open_file(b, r, err);
        /* An event during the read makes it stale again. */
        r->fresh = rc == 0;
        if (rc == 0)
            rc = chubby_read(r->file, out, NULL, err);
        if (rc == ERR_NOTFOUND)
            close_file(r);
    }
    if (rc)
        r->fresh = false;
    return rc;
}

static bool has_none(const struct table_rules *r)
{
    return !r->policy.has_access && !quota_has_rate(&r->policy.quota) &&
           !r->policy.stored_is_over && !r->policy.memory_is_over;
}

/* Put the policy in @bytes in force; @bytes move in. */
static int take_policy(struct rule_book *b,
                       struct table_rules *r,
                       struct buf *bytes,
                       struct err *err)
{
    struct access_list *list = NULL;
    struct table_policy p;
    int rc = table_policy_get(buf_slice(bytes), &p, err);

    PRE(b->cluster->table == 0);
    if (rc == 0 && p.has_access)
        rc = access_parse_with(
            p.access, r == b->cluster ? p.roles : b->cluster->policy.roles,
            &list, err);
    if (rc)
        return rc;
    if (!fault_hit("tablet.keep_rights"))
        forget_grants(r);
    access_free(r->list);
    buf_close(&r->bytes);
    r->bytes = *bytes;
    *bytes = BUF_INIT;
    r->list = list;
    r->policy = p;
    r->counted_ns = 0;
    r->none = has_none(r);
    return 0;
}

/* Set this server's part of principals' rates; the whole until the master has
 * shared them. */
static void set_principals(struct rule_book *b)
{
    const struct table_policy *p = &b->cluster->policy;
    uint32_t part = SHARE_WHOLE;

    PRE(b->server->number != 0);
    if (p->shares.len > 0 && !table_policy_share(p, b->server->number, &part))
        part = 0;
    principal_buckets_set(b->principals, p->rates, (double)part / SHARE_WHOLE,
                          world_mono_ns(b->server->world));
}

static int
read_rules(struct rule_book *b, struct table_rules *r, struct err *err)
{
    struct buf bytes = BUF_INIT;
    PRE(mutex_is_held(&r->reading));
    int rc = read_file(b, r, &bytes, err);

    if (rc == 0) {
        rc = take_policy(b, r, &bytes, err);
        if (rc == 0 && r == b->cluster)
            set_principals(b);
        r->fresh = r->fresh && rc == 0;
    }
    buf_close(&bytes);
    if (rc) {
        err_wrap(err, "rules of table %s", r->name);
        log_warn(b->server->world, "tablet", "%s", err ? err->text : "");
        if (rc != ERR_CORRUPT && rc != ERR_CANCELLED && rc != ERR_DEADLINE) {
            rc = ERR_UNAVAILABLE;
            if (err)
                err->code = rc;
        }
    }
    return rc;
}

/* --- the book ------------------------------------------------------------ */

static struct table_rules *
new_rules(struct rule_book *b, uint64_t table, const char *name)
{
    struct table_rules *r = mem_zalloc(1, sizeof(*r));
    PRE(!hash_map_get(&b->tables, hash_key_u64(&table))); /* INV-1 */
    r->table = table;
    r->name = mem_strdup(name);
    r->book = b;
    mutex_init(&r->reading);
    hash_map_init(&r->grants, HASH_KEYS_COPIED);
    hash_map_put(&b->tables, hash_key_u64(&r->table), NULL)->pointer = r;
    return r;
}

struct rule_book *rule_book_new(struct tablet_server *s)
{
    struct rule_book *b = mem_zalloc(1, sizeof(*b));

    PRE(s);
    b->server = s;
    hash_map_init(&b->tables, HASH_KEYS_BORROWED);
    b->cluster = new_rules(b, 0, "the cluster");
    b->principals = principal_buckets_new();
    POST(b->cluster);
    POST(!b->cluster->fresh);
    return b;
}

struct principal_buckets *rule_book_principals(struct rule_book *b)
{
    return b->principals;
}

void rule_book_close(struct rule_book *b)
{
    size_t at = 0;
    struct hash_slot *slot;
    if (!b)
        return;
    while ((slot = hash_map_next(&b->tables, &at)) != NULL) {
        struct table_rules *r = slot->value.pointer;
        close_file(r);
        forget_grants(r);
        hash_map_close(&r->grants);
        access_free(r->list);
        buf_close(&r->bytes);
        mutex_close(&r->reading);
        mem_free(r->name);
        mem_free(r);
    }
    hash_map_close(&b->tables);
    principal_buckets_free(b->principals);
    mem_free(b);
}

void rule_book_forget(struct rule_book *b, const struct chubby_handle *h)
{
    size_t at = 0;
    struct hash_slot *slot;
    PRE(!b || b->cluster);
    while (b && (slot = hash_map_next(&b->tables, &at)) != NULL) {
        struct table_rules *r = slot->value.pointer;
        /* All tables' rules depend on the cluster's file. */
        if (!h || r->file == h || b->cluster->file == h)
            r->fresh = r->none = false;
    }
}

static struct table_rules *rules_of(struct rule_book *b, struct served *t)
{
    union hash_value *v = hash_map_get(&b->tables, hash_key_u64(&t->table_id));
    PRE(t->table); /* INV-2 of struct served. */
    return v ? v->pointer : new_rules(b, t->table_id, t->table->name);
}

static int
rules_refresh_table(struct rule_book *b, struct table_rules *r, struct err *err)
{
    int rc = 0;
    mutex_lock(&r->reading);
    if (!r->fresh)
        rc = read_rules(b, r, err);
    mutex_unlock(&r->reading);
    return rc;
}

int rules_refresh(struct tablet_server *s, struct served *t, struct err *err)
{
    struct rule_book *b = s->rules;
    int rc = 0;
    if (LIKELY(t->rules && t->rules->fresh && b->cluster->fresh))
        return 0;
    if (t->table_id == METADATA_TABLE_ID)
        return 0;
    if (!t->rules)
        t->rules = rules_of(b, t);
    INVARIANT(t->rules->table == t->table_id);
    INVARIANT(t->rules->book == b);
    if (!b->cluster->fresh)
        rc = rules_refresh_table(b, b->cluster, err);
    if (rc == 0 && !t->rules->fresh)
        rc = rules_refresh_table(b, t->rules, err);
    return rc;
}

void rules_gather(struct rule_book *b, struct metric_set *out)
{
    const struct hash_slot *slot;
    size_t at = 0;
    PRE(b->principals);
    while ((slot = hash_map_next(&b->tables, &at)) != NULL) {
        const struct table_rules *r = slot->value.pointer;
        INVARIANT(r->book == b);
        if (r != b->cluster && !r->none && r->name)
            rules__gather_limits(r, out);
    }
    principal_buckets_gather(b->principals, out);
}
