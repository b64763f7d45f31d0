/* Tables with quotas: their use is compared with their quotas every second, and
 * written into their files when servers must know: when a table crosses a quota
 * of size, or when the shares of its rates change by more than a little. */
#include <stdlib.h>

#include "base/core/panic.h"
#include "base/runtime/log.h"
#include "bigtable/master/master_term.h"
#include "bigtable/master/policies.h"
#include "bigtable/master/policy_file.h"
#include "bigtable/master/shares.h"

/* Between looks. */
#define WATCH_US UINT64_C(1000000)

/* A table with quotas, as its file says; or the cluster, where principals have
 * rates. */
struct watched {
    uint64_t table; /* First: its key in the map; 0: the cluster. */
    struct quarry_quota quota;
    bool has_rates;
    bool stored_is_over;
    bool memory_is_over;
    struct buf shares;
};

struct policy_watch {
    struct hash_map tables; /* By id: struct watched. */
    uint64_t looked_ns;
    bool looking;
};

/* --- use ----------------------------------------------------------------- */

void policy_use_of(struct master_term *r, uint64_t table, struct table_use *out)
{
    struct buf start = BUF_INIT;
    struct buf end = BUF_INIT;
    *out = (struct table_use){.tablets = 0};
    metadata_table_range(table, &start, &end);
    for (size_t i = cluster_view_at(&r->view, buf_slice(&start));
         i < r->view.tablet_count && r->view.tablets[i]->table == table; i++) {
        out->tablets++;
        out->stored_bytes += r->view.tablets[i]->use.bytes;
        out->memory_bytes += r->view.tablets[i]->use.memory_bytes;
    }
    buf_close(&start);
    buf_close(&end);
}

void policy_use_judge(struct master_term *r,
                      uint64_t table,
                      struct table_policy *p)
{
    const struct quarry_quota *q = &p->quota;
    policy_use_of(r, table, &p->use);
    p->stored_is_over =
        q->stored_bytes && p->use.stored_bytes > q->stored_bytes;
    p->memory_is_over =
        q->memory_bytes && p->use.memory_bytes > q->memory_bytes;
    POST(!quota_is_none(q) || !(p->stored_is_over || p->memory_is_over));
}

static int compare_servers(const void *a, const void *b)
{
    uint64_t x = ((const struct share_server *)a)->number;
    uint64_t y = ((const struct share_server *)b)->number;
    return (x > y) - (x < y);
}

/* Count @t for its server, which is added to the @count servers if it is new.
 */
static void add_to_server(struct share_server *servers,
                          size_t *count,
                          const struct known_tablet *t)
{
    size_t i = 0;
    while (i < *count && servers[i].number != t->server)
        i++;
    INVARIANT(*count <= SHARES_MAX);
    if (i == SHARES_MAX)
        return;
    if (i == *count)
        servers[(*count)++] = (struct share_server){.number = t->server};
    servers[i].tablets++;
    servers[i].requests_per_s += t->use.requests_per_s;
}

/* Append the shares of the servers of @table, in the order of their numbers; 0:
 * of all tables but METADATA. */
static void put_shares(struct master_term *r, uint64_t table, struct buf *out)
{
    const struct cluster_view *p = &r->view;
    struct share_server *servers = mem_alloc(SHARES_MAX * sizeof(*servers));
    struct buf start = BUF_INIT;
    struct buf end = BUF_INIT;
    size_t count = 0;

    PRE(table != METADATA_TABLE_ID);
    if (table)
        metadata_table_range(table, &start, &end);
    for (size_t i = table ? cluster_view_at(p, buf_slice(&start)) : 0;
         i < p->tablet_count && (!table || p->tablets[i]->table == table); i++)
        if (p->tablets[i]->stage == STAGE_SERVED &&
            p->tablets[i]->table != METADATA_TABLE_ID)
            add_to_server(servers, &count, p->tablets[i]);
    qsort(servers, count, sizeof(*servers), compare_servers);
    if (count < SHARES_MAX)
        shares_choose(servers, count, out);
    mem_free(servers);
    buf_close(&start);
    buf_close(&end);
}

/* --- the tables ---------------------------------------------------------- */

static struct policy_watch *watch_of(struct master_term *r)
{
    if (!r->policies) {
        r->policies = mem_zalloc(1, sizeof(*r->policies));
        hash_map_init(&r->policies->tables, HASH_KEYS_BORROWED);
    }
    return r->policies;
}

static void free_watched(struct watched *w)
{
    buf_close(&w->shares);
    mem_free(w);
}

void policy_watch_forget(struct master_term *r, uint64_t table)
{
    union hash_value old;
    if (hash_map_remove(&watch_of(r)->tables, hash_key_u64(&table), &old))
        free_watched(old.pointer);
}

static bool has_rates(const struct table_policy *p)
{
    return quota_has_rate(&p->quota) || p->rates.len > 0;
}

void policy_watch_note(struct master_term *r,
                       uint64_t table,
                       const struct table_policy *p)
{
    struct watched *w;
    policy_watch_forget(r, table);
    if (quota_is_none(&p->quota) && p->rates.len == 0)
        return;
    INVARIANT(!hash_map_get(&r->policies->tables, hash_key_u64(&table)));
    w = mem_alloc(sizeof(*w));
    *w = (struct watched){.table = table,
                          .quota = p->quota,
                          .has_rates = has_rates(p),
                          .stored_is_over = p->stored_is_over,
                          .memory_is_over = p->memory_is_over};
    buf_append_slice(&w->shares, p->shares);
    hash_map_put(&r->policies->tables, hash_key_u64(&w->table), NULL)->pointer =
        w;
}

void policies_close(struct master_term *r)
{
    size_t at = 0;
    struct hash_slot *slot;
    if (!r->policies)
        return;
    PRE(r->ending);
    PRE(!r->policies->looking);
    while ((slot = hash_map_next(&r->policies->tables, &at)) != NULL)
        free_watched(slot->value.pointer);
    hash_map_close(&r->policies->tables);
    mem_free(r->policies);
}

void master_count_quotas(const struct master *m,
                         uint64_t *tables,
                         uint64_t *over)
{
    const struct policy_watch *watch = m->term ? m->term->policies : NULL;
    const struct hash_slot *slot;
    size_t at = 0;
    *tables = *over = 0;
    while (watch && (slot = hash_map_next(&watch->tables, &at)) != NULL) {
        const struct watched *w = slot->value.pointer;
        *tables += w->table != 0;
        *over += w->stored_is_over || w->memory_is_over;
    }
}

static int
load_table_policy(struct master_term *r, const char *name, struct err *err)
{
    uint64_t table = strtoull(name, NULL, 10);
    struct policy_file f;
    int rc;
    rc = policy_file_read(r, table, &f, err);
    if (rc == 0)
        policy_watch_note(r, table, &f.policy);
    policy_file_close(&f);
    return rc;
}

int policies_load(struct master_term *r, struct err *err)
{
    struct chubby_handle *h = NULL;
    char **names = NULL;
    size_t count = 0;
    int rc = chubby_open(r->chubby, BIGTABLE_LOCK_POLICIES, CHUBBY_READ, NULL,
                         &h, err);

    PRE(r->known);
    PRE(!r->ready);
    if (rc == 0)
        rc = chubby_list(h, &names, &count, err);
    chubby_close(h);
    for (size_t i = 0; i < count && rc == 0; i++)
        rc = load_table_policy(r, names[i], err);
    chubby_names_free(names, count);
    return rc;
}

/* --- looking ------------------------------------------------------------- */

/* Do the marks or shares of @w differ from those in its file? */
static bool has_changed(struct master_term *r, const struct watched *w)
{
    struct table_policy p = {.quota = w->quota};
    struct buf shares = BUF_INIT;
    bool changed;

    PRE(r->policies);
    policy_use_judge(r, w->table, &p);
    if (w->has_rates)
        put_shares(r, w->table, &shares);
    changed = p.stored_is_over != w->stored_is_over ||
              p.memory_is_over != w->memory_is_over ||
              shares_differ(buf_slice(&shares), buf_slice(&w->shares));
    buf_close(&shares);
    return changed;
}

static void policy_watch_say(const struct master_term *r,
                             uint64_t table,
                             const struct table_policy *p)
{
    log_info(r->world, "master",
             "quota table=%llu stored=%llu memory=%llu over=%s",
             (unsigned long long)table, (unsigned long long)p->use.stored_bytes,
             (unsigned long long)p->use.memory_bytes,
             p->stored_is_over   ? "stored"
             : p->memory_is_over ? "memory"
                                 : "none");
}

/* Write the use, marks and shares of @table into its file. */
static void write_use(struct master_term *r, uint64_t table)
{
    struct policy_file f;
    struct buf shares = BUF_INIT;
    struct err err = ERR_INIT;
    int rc = policy_file_read(r, table, &f, &err);

    PRE(r->policies);
    if (rc == 0 && f.generation == 0) { /* It was dropped. */
        policy_watch_forget(r, table);
    } else if (rc == 0) {
        policy_use_judge(r, table, &f.policy);
        if (has_rates(&f.policy))
            put_shares(r, table, &shares);
        f.policy.shares = buf_slice(&shares);
        rc = policy_file_write(r, table, &f, &err);
        if (rc == 0) {
            policy_watch_note(r, table, &f.policy);
            policy_watch_say(r, table, &f.policy);
        }
    }
    if (rc && rc != ERR_ABORTED) /* Another change was made: it is compared
                                  * again soon. */
        log_warn(r->world, "master", "quota of table %llu: %s",
                 (unsigned long long)table, err.text);
    policy_file_close(&f);
    buf_close(&shares);
}

static void policy_watch_look(struct master_term *r, void *arg)
{
    struct policy_watch *watch = r->policies;
    uint64_t *changed = mem_alloc((watch->tables.count + 1) * sizeof(*changed));
    size_t count = 0;
    size_t at = 0;
    struct hash_slot *slot;

    PRE(watch);
    PRE(watch->looking);
    (void)arg;
    while ((slot = hash_map_next(&watch->tables, &at)) != NULL)
        if (has_changed(r, slot->value.pointer))
            changed[count++] = ((struct watched *)slot->value.pointer)->table;
    for (size_t i = 0; i < count && master_term_is_current(r); i++)
        write_use(r, changed[i]);
    mem_free(changed);
    INVARIANT(watch->looking);
    watch->looking = false;
    watch->looked_ns = master_term_now_ns(r);
}

void policies_watch(struct master_term *r)
{
    struct policy_watch *w = r->policies;
    if (!w || w->looking || w->tables.count == 0 ||
        master_term_now_ns(r) - w->looked_ns < WATCH_US * 1000)
        return;
    w->looking = true;
    master_term_spawn(r, "quotas", policy_watch_look, NULL);
}
