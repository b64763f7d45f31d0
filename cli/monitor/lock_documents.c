/* The document `locks`: a directory of the lock service with the holders of its
 * locks, and the sessions of the cell. For the cluster's processes and
 * administrators.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/core/text.h"
#include "chubby-lite/chubby.h"
#include "cli/monitor/subject.h"

#define ROWS_SHOWN 200
/* "%016x" and its end. */
#define SESSION_TEXT_BYTES 17

/* Ids are drawn from all of 64 bits, which a script's numbers do not hold. */
static void put_session_id(json_t *o, const char *name, uint64_t id)
{
    char text[SESSION_TEXT_BYTES];
    snprintf(text, sizeof(text), "%016" PRIx64, id);
    doc_put_str(o, name, text);
}

/* The client of a session: its address, the node there, its principal. */
static void put_client(json_t *o,
                       const struct monitor_nodes *nodes,
                       struct slice principal,
                       struct slice address)
{
    const struct monitor_node *n =
        address.len ? monitor_nodes_find(nodes, address) : NULL;
    if (address.len)
        doc_put_text(o, "client", address);
    if (n)
        doc_put_str(o, "node", n->name);
    if (principal.len)
        doc_put_text(o, "principal", principal);
}

/* --- entries ------------------------------------------------------------- */

static const char *lock_mode_name(enum chubby_lock mode)
{
    switch (mode) {
    case CHUBBY_FREE: return "free";
    case CHUBBY_SHARED: return "shared";
    case CHUBBY_EXCLUSIVE: return "exclusive";
    }
    return "?";
}

static void put_entry(json_t *o,
                      const struct monitor_nodes *nodes,
                      const struct chubby_entry_view *e)
{
    json_t *holders;
    doc_put_text(o, "name", e->name);
    doc_put_str(o, "kind", e->stat.is_directory ? "directory" : "file");
    doc_put_str(o, "mode", lock_mode_name(e->mode));
    holders = doc_put_array(o, "holders");
    for (size_t i = 0; i < e->named_count; i++) {
        const struct chubby_holder_view *h = &e->holders[i];
        json_t *holder = doc_append_object(holders);
        put_session_id(holder, "session", h->session);
        put_client(holder, nodes, h->principal, h->address);
    }
    doc_put_u64(o, "holders_total", e->holder_count);
    doc_put_u64(o, "generation", e->stat.lock_generation);
    doc_put_u64(o, "content_generation", e->stat.content_generation);
    doc_put_u64(o, "bytes", e->stat.contents_bytes);
    doc_put_u64(o, "children", e->stat.child_count);
    doc_put_u64(o, "handles", e->handle_count);
    doc_put_bool(o, "ephemeral", e->stat.is_ephemeral);
}

static int put_entries(struct chubby *c,
                       const struct monitor_nodes *nodes,
                       const char *path,
                       const char *after,
                       size_t limit,
                       json_t *doc,
                       struct err *err)
{
    struct chubby_entry_list l;
    struct arena a;
    json_t *rows = doc_put_array(doc, "entries");
    int rc;
    arena_init(&a);
    rc = chubby_list_entries(c, path, after, (uint32_t)limit, &a, &l, err);
    for (size_t i = 0; rc == 0 && i < l.count; i++)
        put_entry(doc_append_object(rows), nodes, &l.at[i]);
    if (rc == 0) {
        doc_put_str(doc, "path", path);
        doc_put_u64(doc, "entries_total", l.total);
        if (l.more && l.count) {
            doc_put_text(doc, "entries_next", l.at[l.count - 1].name);
            doc_warn(doc, "more entries: ask with after=%.*s",
                     SLICE_ARG(l.at[l.count - 1].name));
        }
    }
    arena_close(&a);
    return rc;
}

/* --- sessions ------------------------------------------------------------ */

static void put_session(json_t *o,
                        const struct monitor_nodes *nodes,
                        const struct chubby_session_view *s)
{
    json_t *locks;
    put_session_id(o, "id", s->id);
    put_client(o, nodes, s->principal, s->address);
    doc_put_u64(o, "lease_us", s->lease_ms * 1000);
    doc_put_u64(o, "lease_left_us", s->lease_left_us);
    doc_put_u64(o, "handles", s->handle_count);
    locks = doc_put_array(o, "locks");
    for (size_t i = 0; i < s->lock_count; i++) {
        struct slice path = s->locks[i];
        if (json_array_append_new(locks, json_stringn(path.data, path.len)))
            json_array_append_new(locks, json_string("?"));
    }
    doc_put_u64(o, "locks_total", s->held_count);
}

static int put_sessions(struct chubby *c,
                        const struct monitor_nodes *nodes,
                        uint64_t after,
                        size_t limit,
                        json_t *doc,
                        struct err *err)
{
    struct chubby_session_list l;
    struct arena a;
    json_t *rows = doc_put_array(doc, "sessions");
    int rc;
    arena_init(&a);
    rc = chubby_list_sessions(c, after, (uint32_t)limit, &a, &l, err);
    for (size_t i = 0; rc == 0 && i < l.count; i++)
        put_session(doc_append_object(rows), nodes, &l.at[i]);
    if (rc == 0) {
        doc_put_u64(doc, "sessions_total", l.total);
        if (l.more && l.count) {
            put_session_id(doc, "sessions_next", l.at[l.count - 1].id);
            doc_warn(doc, "more sessions: ask with after_session=%016" PRIx64,
                     l.at[l.count - 1].id);
        }
    }
    arena_close(&a);
    return rc;
}

/* Parameter after_session, as sessions are named. */
static int parse_session(const struct monitor_param *params,
                         size_t count,
                         uint64_t *out,
                         struct err *err)
{
    const char *text = monitor_param_value(params, count, "after_session");
    uint64_t id = 0;
    *out = 0;
    if (!text)
        return 0;
    if (strspn(text, "0123456789abcdef") != strlen(text) || !*text ||
        strlen(text) >= SESSION_TEXT_BYTES)
        return err_set(err, ERR_INVALID,
                       "parameter after_session=%s is no session", text);
    for (; *text; text++)
        id =
            id * 16 + (uint64_t)(*text <= '9' ? *text - '0' : *text - 'a' + 10);
    *out = id;
    return 0;
}

int subject_locks(struct monitor *m,
                  const struct monitor_param *params,
                  size_t count,
                  json_t *doc,
                  struct err *err)
{
    const char *path = monitor_param_value(params, count, "path");
    const char *after = monitor_param_value(params, count, "after");
    struct monitor_nodes *nodes = NULL;
    struct chubby *c;
    uint64_t session;
    size_t limit;
    int rc = monitor_param_limit(params, count, ROWS_SHOWN, &limit, err);
    limit = MIN_OF(limit, (size_t)CHUBBY_SURVEY_MAX);
    if (rc == 0)
        rc = parse_session(params, count, &session, err);
    if (rc == 0)
        rc = monitor_nodes_get(m, &nodes, err);
    if (rc == 0)
        rc = monitor_locks(m, &c, err);
    if (rc == 0)
        rc = put_entries(c, nodes, path && *path ? path : "/", after, limit,
                         doc, err);
    if (rc == 0)
        rc = put_sessions(c, nodes, session, limit, doc, err);
    monitor_nodes_unref(nodes);
    return rc;
}
