/* Every state of every path is kept with the revisions between which it was
 * there, so that a read can be answered as of any of them.
 */
#include "tests/lib/fake_coordination.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/core/rand.h"
#include "base/runtime/fiber.h"
#include "base/runtime/world.h"

struct fake_value {
    struct fake_value *next;
    char *path;
    struct buf value;
    uint64_t created;
    uint64_t modified; /* From here on, */
    uint64_t until;    /* before this; UINT64_MAX: it is there now. */
    int64_t version;
    uint64_t owner;
};

struct fake_watch {
    struct fake_watch *next;
    char *path;
    bool is_list;
};

struct fake_session {
    struct coordination base;
    struct fake_session *next;
    struct fake_coordination *store;
    struct world *world;
    struct rand_gen rand;
    coordination_cb on_event;
    void *ctx;
    uint64_t expires_ns;
    uint64_t seen; /* The newest revision that it has read. */
    bool ended;
    struct fake_watch *watches;
};

/* --- states -------------------------------------------------------------- */

static struct fake_value *
find_at(const struct fake_coordination *f, const char *path, uint64_t revision)
{
    for (struct fake_value *v = f->first; v; v = v->next)
        if (v->modified <= revision && revision < v->until &&
            strcmp(v->path, path) == 0)
            return v;
    return NULL;
}

/* Is @path directly below @above? */
static bool is_below(const char *path, const char *above)
{
    size_t n = strlen(above);
    return strncmp(path, above, n) == 0 && path[n] == '/' &&
           !strchr(path + n + 1, '/');
}

static bool has_below(const struct fake_coordination *f, const char *path)
{
    for (const struct fake_value *v = f->first; v; v = v->next)
        if (v->until == UINT64_MAX && is_below(v->path, path))
            return true;
    return false;
}

/* Watches of what has just changed. */
static void fire(struct fake_coordination *f, const char *path, bool in_list)
{
    for (struct fake_session *s = f->sessions; s; s = s->next) {
        struct fake_watch **at = &s->watches;
        while (*at) {
            struct fake_watch *w = *at;
            bool hit = w->is_list ? in_list && is_below(path, w->path)
                                  : strcmp(path, w->path) == 0;
            if (!hit) {
                at = &w->next;
                continue;
            }
            *at = w->next;
            if (!s->ended)
                s->on_event(s->ctx, COORDINATION_CHANGED, w->path);
            mem_free(w->path);
            mem_free(w);
        }
    }
}

static void add_watch(struct fake_session *s, const char *path, bool is_list)
{
    struct fake_watch *w = mem_zalloc(1, sizeof(*w));
    *w = (struct fake_watch){s->watches, mem_strdup(path), is_list};
    s->watches = w;
}

static struct fake_value *put_state(struct fake_coordination *f,
                                    const char *path,
                                    struct slice value,
                                    uint64_t created,
                                    int64_t version,
                                    uint64_t owner)
{
    struct fake_value *v = mem_zalloc(1, sizeof(*v));
    *v = (struct fake_value){.next = f->first,
                             .path = mem_strdup(path),
                             .created = created,
                             .modified = f->revision,
                             .until = UINT64_MAX,
                             .version = version,
                             .owner = owner};
    buf_append_slice(&v->value, value);
    f->first = v;
    return v;
}

/* --- sessions ------------------------------------------------------------ */

static void end_session(struct fake_session *s)
{
    struct fake_coordination *f = s->store;
    bool any = false;
    s->ended = true;
    for (struct fake_value *v = f->first; v; v = v->next) {
        if (v->until != UINT64_MAX || v->owner != s->base.session)
            continue;
        if (!any)
            f->revision++;
        any = true;
        v->until = f->revision;
    }
    for (struct fake_value *v = f->first; v && any; v = v->next)
        if (v->until == f->revision)
            fire(f, v->path, true);
}

static void expire_sessions(struct fake_coordination *f)
{
    for (struct fake_session *s = f->sessions; s; s = s->next)
        if (!s->ended && world_mono_ns(s->world) >= s->expires_ns)
            end_session(s);
}

/* Travel to the store: true if the request gets there. */
static int arrive(struct fake_session *s, struct err *err)
{
    struct fake_coordination *f = s->store;
    int rc;
    world_sleep_us(s->world, 100 + rand_below(&s->rand, 2000));
    rc = fiber_check(err);
    if (rc)
        return rc;
    if (f->cut == s->base.session ||
        (f->lose_one_in && rand_one_in(&s->rand, f->lose_one_in)))
        return err_set(err, ERR_UNAVAILABLE, "the request is lost");
    expire_sessions(f);
    return s->ended ? err_set(err, ERR_CLOSED, "the session has ended") : 0;
}

/* And back. */
static int answer(struct fake_session *s, int rc, struct err *err)
{
    struct fake_coordination *f = s->store;
    world_sleep_us(s->world, 100 + rand_below(&s->rand, 2000));
    if (f->cut == s->base.session ||
        (f->lose_one_in && rand_one_in(&s->rand, f->lose_one_in)))
        return err_set(err, ERR_UNAVAILABLE, "the answer is lost");
    return rc ? rc : fiber_check(err);
}

static int fake_open(struct world *w,
                     void *where,
                     const struct coordination_options *opts,
                     struct coordination **out,
                     struct err *err)
{
    struct fake_coordination *f = where;
    struct fake_session *s = mem_zalloc(1, sizeof(*s));
    uint64_t us = (uint64_t)opts->lease_ms * 1000;
    (void)err;
    s->base = (struct coordination){.ops = &fake_coordination_ops,
                                    .session = ++f->session_count,
                                    .lease_ms = opts->lease_ms,
                                    .renew_us = us / 8,
                                    .usable_us = us - us / 4};
    s->store = f;
    s->world = w;
    s->on_event = opts->on_event;
    s->ctx = opts->ctx;
    s->expires_ns = world_mono_ns(w) + us * 1000;
    rand_init(&s->rand, world_random(w));
    s->next = f->sessions;
    f->sessions = s;
    *out = &s->base;
    return 0;
}

static void fake_close(struct coordination *base, bool is_lost)
{
    struct fake_session *s = (struct fake_session *)base;
    struct fake_session **at = &s->store->sessions;
    (void)is_lost;
    if (!s->ended)
        end_session(s);
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    while (s->watches) {
        struct fake_watch *w = s->watches;
        s->watches = w->next;
        mem_free(w->path);
        mem_free(w);
    }
    mem_free(s);
}

/* The store's lease begins when the request arrives. */
static int fake_renew(struct coordination *base, struct err *err)
{
    struct fake_session *s = (struct fake_session *)base;
    int rc = arrive(s, err);
    if (rc)
        return rc;
    s->expires_ns =
        world_mono_ns(s->world) + (uint64_t)base->lease_ms * 1000000;
    return answer(s, 0, err);
}

/* --- reading ------------------------------------------------------------- */

/* As of when the read is answered: never older than what was seen. */
static uint64_t choose_revision(struct fake_session *s, unsigned flags)
{
    struct fake_coordination *f = s->store;
    uint64_t span = f->revision - s->seen;
    if (!(flags & COORDINATION_FRESH) && f->old_reads)
        s->seen += rand_below(&s->rand, MIN_OF(span, UINT64_C(5)) + 1);
    else
        s->seen = f->revision;
    return s->seen;
}

static int fake_get(struct coordination *base,
                    const char *path,
                    unsigned flags,
                    struct buf *value,
                    struct coordination_stat *stat,
                    struct err *err)
{
    struct fake_session *s = (struct fake_session *)base;
    int rc = arrive(s, err);
    const struct fake_value *v;
    bool is_old;
    if (rc)
        return rc;
    v = find_at(s->store, path, choose_revision(s, flags));
    if (!v)
        return answer(s, err_set(err, ERR_NOTFOUND, "no such value"), err);
    is_old = v->until != UINT64_MAX;
    *stat = (struct coordination_stat){v->created, v->version, v->modified};
    if (value)
        buf_append_slice(value, buf_slice(&v->value));
    if (flags & COORDINATION_WATCH)
        add_watch(s, path, false);
    rc = answer(s, 0, err);
    if (!rc && is_old && (flags & COORDINATION_WATCH))
        s->on_event(s->ctx, COORDINATION_CHANGED, path);
    return rc;
}

static int fake_list(struct coordination *base,
                     const char *path,
                     unsigned flags,
                     char ***names,
                     size_t *count,
                     struct err *err)
{
    struct fake_session *s = (struct fake_session *)base;
    struct fake_coordination *f = s->store;
    int rc = arrive(s, err);
    uint64_t at;
    if (rc)
        return rc;
    at = choose_revision(s, flags);
    if (!find_at(f, path, at))
        return answer(s, err_set(err, ERR_NOTFOUND, "no such value"), err);
    *names = mem_zalloc(1, sizeof(char *));
    *count = 0;
    for (struct fake_value *v = f->first; v; v = v->next) {
        if (v->modified > at || at >= v->until || !is_below(v->path, path))
            continue;
        *names = mem_realloc(*names, (*count + 2) * sizeof(char *));
        (*names)[(*count)++] = mem_strdup(v->path + strlen(path) + 1);
    }
    if (flags & COORDINATION_WATCH)
        add_watch(s, path, true);
    rc = answer(s, 0, err);
    if (rc)
        chubby_names_free(*names, *count);
    else if (at < f->revision && (flags & COORDINATION_WATCH))
        s->on_event(s->ctx, COORDINATION_CHANGED, path);
    return rc;
}

/* --- changing ------------------------------------------------------------ */

static bool above_exists(const struct fake_coordination *f, const char *path)
{
    const char *slash = strrchr(path, '/');
    char *above = mem_strndup(path, (size_t)(slash - path));
    bool exists = slash == path || find_at(f, above, f->revision);
    mem_free(above);
    return exists;
}

static bool op_holds(const struct fake_coordination *f,
                     const struct coordination_op *op)
{
    const struct fake_value *v = find_at(f, op->path, f->revision);
    if (op->kind == COORDINATION_CREATE)
        return !v && above_exists(f, op->path);
    return v &&
           (op->version == COORDINATION_ANY || op->version == v->version) &&
           (op->kind != COORDINATION_DELETE || !has_below(f, op->path));
}

static void op_apply(struct fake_session *s, const struct coordination_op *op)
{
    struct fake_coordination *f = s->store;
    struct fake_value *v = find_at(f, op->path, f->revision - 1);
    if (op->kind == COORDINATION_CHECK)
        return;
    if (op->kind == COORDINATION_CREATE) {
        put_state(f, op->path, op->value, f->revision, 0,
                  op->of_session ? s->base.session : 0);
        return;
    }
    v->until = f->revision;
    if (op->kind == COORDINATION_SET)
        put_state(f, op->path, op->value, v->created, v->version + 1, v->owner);
}

static int fake_commit(struct coordination *base,
                       const struct coordination_op *ops,
                       size_t count,
                       uint64_t *revision,
                       struct err *err)
{
    struct fake_session *s = (struct fake_session *)base;
    struct fake_coordination *f = s->store;
    int rc = arrive(s, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++)
            PRE(strcmp(ops[i].path, ops[j].path) != 0);
    for (size_t i = 0; i < count && !rc; i++)
        if (!op_holds(f, &ops[i]))
            rc = err_set(err, ERR_ABORTED, "%s is not so", ops[i].path);
    if (rc)
        return answer(s, rc, err);
    f->revision++;
    f->commit_count++;
    for (size_t i = 0; i < count; i++)
        op_apply(s, &ops[i]);
    s->seen = f->revision;
    if (revision)
        *revision = f->revision;
    for (size_t i = 0; i < count; i++)
        if (ops[i].kind != COORDINATION_CHECK)
            fire(f, ops[i].path, ops[i].kind != COORDINATION_SET);
    return answer(s, 0, err);
}

/* --- notes --------------------------------------------------------------- */

static void fake_note(const struct coordination *base,
                      char note[CHUBBY_NOTE_BYTES_MAX])
{
    snprintf(note, CHUBBY_NOTE_BYTES_MAX, "fake %llu",
             (unsigned long long)base->session);
}

static void fake_end(struct world *w, void *where, const char *note)
{
    struct fake_coordination *f = where;
    unsigned long long number = 0;
    (void)w;
    if (sscanf(note, "fake %llu", &number) != 1)
        return;
    for (struct fake_session *s = f->sessions; s; s = s->next)
        if (s->base.session == number && !s->ended)
            end_session(s);
}

const struct coordination_ops fake_coordination_ops = {
    "fake",    fake_open,   fake_close, fake_renew, fake_get,
    fake_list, fake_commit, fake_note,  fake_end};

struct fake_coordination *fake_coordination_new(void)
{
    struct fake_coordination *f = mem_zalloc(1, sizeof(*f));
    f->revision = 1;
    return f;
}

void fake_coordination_free(struct fake_coordination *f)
{
    PRE(!f->sessions);
    while (f->first) {
        struct fake_value *v = f->first;
        f->first = v->next;
        mem_free(v->path);
        buf_close(&v->value);
        mem_free(v);
    }
    mem_free(f);
}

size_t fake_coordination_count(const struct fake_coordination *f,
                               const char *prefix)
{
    size_t count = 0;
    for (const struct fake_value *v = f->first; v; v = v->next)
        count += v->until == UINT64_MAX &&
                 strncmp(v->path, prefix, strlen(prefix)) == 0;
    return count;
}
