/* Directories as they are listed, and the questions about the whole service.
 * The service knows no holders of locks: they are found by looking at every
 * node, which people ask for, and nothing that is in a hurry.
 */
#include <stdlib.h>
#include <string.h>

#include "base/core/arena.h"
#include "base/core/crc32c.h"
#include "base/core/panic.h"
#include "chubby-lite/lock_path.h"
#include "chubby-lite/mapped/mapped_state.h"

/* --- entries ------------------------------------------------------------- */

static int compare_entries(const void *a, const void *b)
{
    return strcmp(((const struct mapped_entry *)a)->name,
                  ((const struct mapped_entry *)b)->name);
}

void mapped__entries_close(struct mapped_entries *e)
{
    for (size_t i = 0; i < e->count; i++)
        mem_free(e->at[i].name);
    mem_free(e->at);
    chubby_names_free(e->markers, e->marker_count);
}

bool mapped__entry_is_there(const struct mapped_entry *e)
{
    return e->has_record || (e->has_ephemeral && e->marker_count > 0);
}

const struct mapped_entry *mapped__entry_find(const struct mapped_entries *e,
                                              struct slice name)
{
    for (size_t i = 0; i < e->count; i++)
        if (slice_eq_str(name, e->at[i].name))
            return &e->at[i];
    return NULL;
}

/* Make one entry of all names about the same node. PRE: sorted. */
static void merge_entries(struct mapped_entries *e)
{
    size_t kept = 0;

    for (size_t i = 0; i < e->count; i++) {
        struct mapped_entry *last = kept ? &e->at[kept - 1] : NULL;
        if (!last || strcmp(last->name, e->at[i].name) != 0) {
            e->at[kept++] = e->at[i];
            continue;
        }
        last->has_record |= e->at[i].has_record;
        last->has_ephemeral |= e->at[i].has_ephemeral;
        last->has_children |= e->at[i].has_children;
        last->marker_count += e->at[i].marker_count;
        mem_free(e->at[i].name);
    }
    e->count = kept;
}

int mapped__entries(struct mapped *m,
                    const char *children,
                    unsigned flags,
                    struct mapped_entries *out,
                    struct err *err)
{
    char **names;
    size_t count;
    int rc = mapped__list(m, children, flags, &names, &count, err);

    PRE(m->store);
    *out = (struct mapped_entries){.count = 0};
    if (rc)
        return rc;
    out->at = mem_zalloc(count + 1, sizeof(*out->at));
    out->markers = mem_zalloc(count + 1, sizeof(char *));
    for (size_t i = 0; i < count; i++) {
        struct buf name = BUF_INIT;
        struct slice rest;
        enum mapped_name_kind kind =
            mapped_name_read(slice_str(names[i]), &name, &rest);
        if (kind == MAPPED_NAME_OTHER) {
            buf_close(&name);
            continue;
        }
        if (kind == MAPPED_NAME_MARKER)
            out->markers[out->marker_count++] = mem_strdup(names[i]);
        out->at[out->count++] = (struct mapped_entry){
            .name = buf_take(&name),
            .has_record = kind == MAPPED_NAME_RECORD,
            .has_ephemeral = kind == MAPPED_NAME_EPHEMERAL,
            .has_children = kind == MAPPED_NAME_CHILDREN,
            .marker_count = kind == MAPPED_NAME_MARKER};
    }
    chubby_names_free(names, count);
    if (out->count > 0)
        qsort(out->at, out->count, sizeof(*out->at), compare_entries);
    merge_entries(out);
    return 0;
}

/* --- what nobody has open ------------------------------------------------ */

void mapped__sweep(struct mapped *m, struct slice path)
{
    struct mapped_path at;
    struct mapped_entries all;
    const struct mapped_entry *e;
    struct coordination_stat stat;
    struct slice above;
    struct slice name;
    int rc;

    PRE(m->store);
    path_split(path, &above, &name);
    mapped_path_init(&at, m->root, path, m->store->session);
    /* Its version first: who opens the file changes it. */
    rc = mapped__get(m, at.ephemeral, COORDINATION_FRESH, NULL, &stat, NULL);
    if (!rc)
        rc = mapped__entries(m, at.above_children, 0, &all, NULL);
    if (!rc) {
        const struct coordination_op ops[] = {
            {.kind = COORDINATION_DELETE,
             .path = at.ephemeral,
             .version = stat.version},
            {.kind = COORDINATION_DELETE,
             .path = at.lock,
             .version = COORDINATION_ANY},
            {.kind = COORDINATION_SET,
             .path = at.above_children,
             .version = COORDINATION_ANY},
        };
        e = mapped__entry_find(&all, name);
        if (e && !mapped__entry_is_there(e))
            (void)!mapped__commit(m, ops, ARRAY_LEN(ops), NULL, NULL);
        mapped__entries_close(&all);
    }
    mapped_path_close(&at);
}

/* --- lists --------------------------------------------------------------- */

static int
check_readable(const struct mapped_handle *h, bool directory, struct err *err)
{
    PRE(h->node->refs > 0); /* INV-4 */
    if (!(h->flags & CHUBBY_READ))
        return err_set(err, ERR_DENIED, "%s: not opened for reading",
                       h->base.path);
    if (directory && !h->node->is_directory)
        return err_set(err, ERR_INVALID, "%s: it is a file", h->base.path);
    return 0;
}

int mapped__list_names(struct chubby_handle *base,
                       char ***names,
                       size_t *count,
                       struct err *err)
{
    struct mapped_handle *h = mapped__handle(base);
    struct mapped_node *n = h->node;
    struct mapped_entries all;
    struct mapped_look l;
    int rc = check_readable(h, true, err);

    PRE(h->node->refs > 0); /* INV-4 */
    if (rc)
        return rc;
    n->refs++;
    rc = mapped__look(n, COORDINATION_FRESH, &l, err);
    mapped__look_close(&l);
    if (!rc)
        rc = mapped__entries(n->session, n->at.children, 0, &all, err);
    if (rc) {
        err_wrap(err, "%s", h->base.path);
        mapped__node_unref(n);
        return rc;
    }
    *names = mem_zalloc(all.count + 1, sizeof(char *));
    *count = 0;
    for (size_t i = 0; i < all.count; i++)
        if (mapped__entry_is_there(&all.at[i]))
            (*names)[(*count)++] = mem_strdup(all.at[i].name);
    mapped__entries_close(&all);
    mapped__node_unref(n);
    return 0;
}

/* --- entries with their holders ------------------------------------------ */

/* A session's address, in memory of @a; "" if it is not known. */
static struct slice
address_of(struct mapped *m, uint64_t session, struct arena *a)
{
    struct coordination_stat stat;
    struct mapped_session_record r = {.address = SLICE_EMPTY};
    struct buf sessions = BUF_INIT;
    struct buf bytes = BUF_INIT;
    char *path;

    PRE(m->store);
    buf_printf(&sessions, "%s/%%s", m->root);
    path = mapped__session_path(buf_cstr(&sessions), session);
    if (mapped__get(m, path, 0, &bytes, &stat, NULL) == 0 &&
        mapped_session_record_get(buf_slice(&bytes), &r, NULL) == 0)
        r.address = arena_dup(a, r.address);
    else
        r.address = SLICE_EMPTY;
    mem_free(path);
    buf_close(&bytes);
    buf_close(&sessions);
    return r.address;
}

/* The lock at @path, without those of its holders that are dead. */
static int live_lock(struct mapped *m,
                     const char *path,
                     struct arena *a,
                     struct lock_state_record *s,
                     struct err *err)
{
    int64_t version;
    bool changed;
    int rc = mapped__lock_state(m, path, 0, a, s, &version, err);

    PRE(m->store);
    return rc ? rc : mapped__bury_holders(m, s, 0, NULL, &changed, err);
}

static int fill_stat(struct mapped *m,
                     const struct mapped_path *at,
                     bool is_ephemeral,
                     struct chubby_stat *out,
                     struct err *err)
{
    struct coordination_stat stat;
    struct mapped_entries all;
    struct mapped_record r;
    struct buf bytes = BUF_INIT;
    int rc = mapped__get(m, is_ephemeral ? at->ephemeral : at->record, 0,
                         &bytes, &stat, err);

    PRE(m->store);
    if (!rc)
        rc = mapped_record_get(buf_slice(&bytes), &r, err);
    if (!rc) {
        out->instance = stat.created;
        out->is_directory = r.is_directory;
        out->is_ephemeral = is_ephemeral;
        out->content_generation =
            r.is_directory ? (uint64_t)stat.version : r.content_generation;
        out->contents_bytes = r.contents.len;
        out->checksum = crc32c(r.contents.data, r.contents.len);
    }
    if (!rc && r.is_directory &&
        mapped__entries(m, at->children, 0, &all, NULL) == 0) {
        for (size_t i = 0; i < all.count; i++)
            out->child_count += mapped__entry_is_there(&all.at[i]);
        mapped__entries_close(&all);
    }
    buf_close(&bytes);
    return rc;
}

static void take_holders(struct mapped *m,
                         const struct lock_state_record *s,
                         struct arena *a,
                         struct chubby_entry_view *out)
{
    PRE(m->store);
    out->mode = s->mode;
    out->holder_count = s->count;
    out->named_count = MIN_OF(s->count, (size_t)CHUBBY_SURVEY_NAMED_MAX);
    out->holders = arena_zalloc(a, (out->named_count + 1) *
                                       sizeof(struct chubby_holder_view));
    for (size_t i = 0; i < out->named_count; i++)
        out->holders[i] = (struct chubby_holder_view){
            .session = s->holders[i].session,
            .address = address_of(m, s->holders[i].session, a)};
}

/* ERR_NOTFOUND: it was removed meanwhile. */
static int view_entry(struct mapped *m,
                      const char *directory,
                      const struct mapped_entry *e,
                      struct arena *a,
                      struct chubby_entry_view *out,
                      struct err *err)
{
    struct lock_state_record s;
    struct mapped_path at;
    struct buf path = BUF_INIT;
    int rc;

    PRE(m->store);
    buf_printf(&path, "%s/%s", directory[1] ? directory : "", e->name);
    mapped_path_init(&at, m->root, buf_slice(&path), m->store->session);
    *out = (struct chubby_entry_view){.name = arena_dup(a, slice_str(e->name)),
                                      .handle_count = e->marker_count};
    rc = fill_stat(m, &at, !e->has_record, &out->stat, err);
    if (!rc)
        rc = live_lock(m, at.lock, a, &s, err);
    if (!rc) {
        out->stat.lock_generation = s.generation;
        take_holders(m, &s, a, out);
    }
    mapped_path_close(&at);
    buf_close(&path);
    return rc;
}

int mapped__list_entries(struct chubby *base,
                         const char *path,
                         const char *after,
                         uint32_t limit,
                         struct arena *a,
                         struct chubby_entry_list *out,
                         struct err *err)
{
    struct mapped *m = mapped__session(base);
    struct mapped_entries all;
    struct mapped_path at;
    size_t most =
        limit ? MIN_OF(limit, (uint32_t)CHUBBY_SURVEY_MAX) : CHUBBY_SURVEY_MAX;
    int rc = path_check(slice_str(path), err);

    *out = (struct chubby_entry_list){.total = 0};
    if (rc)
        return rc;
    mapped_path_init(&at, m->root, slice_str(path), m->store->session);
    rc = mapped__entries(m, at.children, COORDINATION_FRESH, &all, err);
    mapped_path_close(&at);
    if (rc)
        return err_set(err, rc, "%s: no such directory", path);
    out->at = arena_zalloc(a, (MIN_OF(all.count, most) + 1) * sizeof(*out->at));
    for (size_t i = 0; i < all.count && !rc; i++) {
        const struct mapped_entry *e = &all.at[i];
        if (!mapped__entry_is_there(e))
            continue;
        out->total++;
        if (after && strcmp(e->name, after) <= 0)
            continue;
        if (out->count == most) {
            out->more = true;
            continue;
        }
        rc = view_entry(m, path, e, a, &out->at[out->count], err);
        out->count += rc == 0;
        rc = rc == ERR_NOTFOUND ? 0 : rc;
    }
    mapped__entries_close(&all);
    return rc;
}

/* --- sessions ------------------------------------------------------------ */

/* Directories that are still to be looked at. */
struct walk {
    struct mapped *session;
    struct arena *arena;
    struct chubby_session_view *at;
    size_t count;
    char **paths; /* Owned. */
    size_t path_count;
};

static void walk_push(struct walk *k, char *path)
{
    k->paths = mem_realloc(k->paths, (k->path_count + 1) * sizeof(char *));
    k->paths[k->path_count++] = path;
}

static void note_holder(struct walk *k, uint64_t session, const char *path)
{
    for (size_t i = 0; i < k->count; i++) {
        struct chubby_session_view *v = &k->at[i];
        if (v->id != session)
            continue;
        v->held_count++;
        if (v->lock_count < CHUBBY_SURVEY_NAMED_MAX)
            v->locks[v->lock_count++] = arena_dup(k->arena, slice_str(path));
    }
}

static int
walk_directory(struct walk *k, const char *directory, struct err *err)
{
    struct mapped *m = k->session;
    struct mapped_entries all;
    struct mapped_path at;
    int rc;

    mapped_path_init(&at, m->root, slice_str(directory), m->store->session);
    rc = mapped__entries(m, at.children, 0, &all, err);
    mapped_path_close(&at);
    if (rc)
        return rc == ERR_NOTFOUND ? 0 : rc;
    for (size_t i = 0; i < all.count && !rc; i++) {
        struct lock_state_record s = {.count = 0};
        struct buf path = BUF_INIT;
        int64_t version;
        buf_printf(&path, "%s/%s", directory[1] ? directory : "",
                   all.at[i].name);
        mapped_path_init(&at, m->root, buf_slice(&path), m->store->session);
        rc = mapped__lock_state(m, at.lock, 0, k->arena, &s, &version, err);
        mapped_path_close(&at);
        rc = rc == ERR_NOTFOUND ? 0 : rc;
        for (size_t j = 0; j < s.count; j++)
            note_holder(k, s.holders[j].session, buf_cstr(&path));
        if (all.at[i].has_children)
            walk_push(k, buf_take(&path));
        buf_close(&path);
    }
    mapped__entries_close(&all);
    return rc;
}

static int compare_sessions(const void *a, const void *b)
{
    uint64_t x = ((const struct chubby_session_view *)a)->id;
    uint64_t y = ((const struct chubby_session_view *)b)->id;
    return (x > y) - (x < y);
}

/* The session at @path, as its record has it. */
static int view_session(struct mapped *m,
                        const char *path,
                        struct arena *a,
                        struct chubby_session_view *v,
                        struct err *err)
{
    struct mapped_session_record r;
    struct coordination_stat stat;
    struct buf bytes = BUF_INIT;
    int rc = mapped__get(m, path, 0, &bytes, &stat, err);

    PRE(m->store);
    if (!rc)
        rc = mapped_session_record_get(buf_slice(&bytes), &r, err);
    if (!rc) {
        v->address = arena_dup(a, r.address);
        v->lease_ms = r.lease_ms;
        /* Only the service knows what is left of it. */
        v->lease_left_us = r.lease_ms * 1000;
        v->locks =
            arena_zalloc(a, CHUBBY_SURVEY_NAMED_MAX * sizeof(struct slice));
    }
    buf_close(&bytes);
    return rc;
}

/* Choose those of @names that the answer has; the rest are counted. */
static int choose_sessions(struct mapped *m,
                           char *const *names,
                           size_t count,
                           uint64_t after,
                           size_t most,
                           struct arena *a,
                           struct chubby_session_list *out,
                           struct err *err)
{
    struct chubby_session_view *all = mem_zalloc(count + 1, sizeof(*all));
    size_t found = 0;
    int rc = 0;

    PRE(m->store);
    for (size_t i = 0; i < count; i++) {
        uint64_t id = strtoull(names[i], NULL, 16);
        out->total++;
        if (id > after)
            all[found++].id = id;
    }
    if (found > 0)
        qsort(all, found, sizeof(*all), compare_sessions);
    out->more = found > most;
    found = MIN_OF(found, most);
    out->at = arena_zalloc(a, (found + 1) * sizeof(*out->at));
    for (size_t i = 0; i < found && !rc; i++) {
        struct buf sessions = BUF_INIT;
        char *path;
        buf_printf(&sessions, "%s/%%s", m->root);
        path = mapped__session_path(buf_cstr(&sessions), all[i].id);
        out->at[out->count].id = all[i].id;
        rc = view_session(m, path, a, &out->at[out->count], err);
        out->count += rc == 0;
        rc = rc == ERR_NOTFOUND ? 0 : rc;
        mem_free(path);
        buf_close(&sessions);
    }
    mem_free(all);
    return rc;
}

int mapped__list_sessions(struct chubby *base,
                          uint64_t after,
                          uint32_t limit,
                          struct arena *a,
                          struct chubby_session_list *out,
                          struct err *err)
{
    struct mapped *m = mapped__session(base);
    struct walk k = {.session = m, .arena = a};
    struct buf path = BUF_INIT;
    char **names = NULL;
    size_t count = 0;
    size_t most =
        limit ? MIN_OF(limit, (uint32_t)CHUBBY_SURVEY_MAX) : CHUBBY_SURVEY_MAX;
    int rc;

    *out = (struct chubby_session_list){.total = 0};
    buf_printf(&path, "%s/%%s", m->root);
    rc = mapped__list(m, buf_cstr(&path), COORDINATION_FRESH, &names, &count,
                      err);
    buf_close(&path);
    if (!rc)
        rc = choose_sessions(m, names, count, after, most, a, out, err);
    k.at = out->at;
    k.count = out->count;
    walk_push(&k, mem_strdup("/"));
    while (k.path_count > 0) {
        char *next = k.paths[--k.path_count];
        if (!rc)
            rc = walk_directory(&k, next, err);
        mem_free(next);
    }
    mem_free(k.paths);
    chubby_names_free(names, count);
    return rc;
}
