/* Compiled programs, found by the hash of their text and options. Two calls may
 * compile the same program at once; the later one takes the place. */
#include "bigtable/tablet_server/programs.h"

#include <stdatomic.h>

#include "base/core/buf.h"
#include "base/core/hash.h"
#include "base/core/panic.h"
#include "base/runtime/sync.h"
#include "sawzall-lite/sawzall.h"

struct shared_program {
    atomic_uint references;
    struct saw_program *code;
    struct buf source;
    uint64_t hash;
    bool ignore_undefs;
    bool defer_tables;
};

struct program_cache {
    struct mutex lock;
    struct shared_program *programs[PROGRAMS_MAX]; /* By hash. */
};

struct program_cache *program_cache_new(void)
{
    struct program_cache *c = mem_zalloc(1, sizeof(*c));
    mutex_init(&c->lock);
    return c;
}

void program_cache_free(struct program_cache *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < PROGRAMS_MAX; i++)
        program_unref(c->programs[i]);
    mutex_close(&c->lock);
    mem_free(c);
}

void program_unref(struct shared_program *p)
{
    unsigned before;

    if (!p)
        return;
    before = atomic_fetch_sub(&p->references, 1);
    INVARIANT(before > 0);
    if (before != 1)
        return;
    saw_program_free(p->code);
    buf_close(&p->source);
    mem_free(p);
}

struct saw_program *program_code(struct shared_program *p)
{
    PRE(p->code);
    return p->code;
}

static bool is_same(const struct shared_program *a,
                    const struct shared_program *b)
{
    return a->hash == b->hash && a->ignore_undefs == b->ignore_undefs &&
           a->defer_tables == b->defer_tables &&
           slice_eq(buf_slice(&a->source), buf_slice(&b->source));
}

static int program_cache_compile(struct shared_program *p, struct err *err)
{
    const struct saw_compile_options opts = {.restricted = true,
                                             .ignore_undefs = p->ignore_undefs,
                                             .defer_tables = p->defer_tables};
    struct buf diagnostics = BUF_INIT;
    PRE(!p->code); /* INV-2 */
    int rc = saw_compile(&opts, buf_slice(&p->source), "program", &p->code,
                         &diagnostics);

    if (rc)
        rc = err_set(err, rc, "%s", buf_cstr(&diagnostics));
    buf_close(&diagnostics);
    return rc;
}

/* The cached program equal to @p, referenced; NULL: there is none. */
static struct shared_program *program_cache_find(struct program_cache *c,
                                                 const struct shared_program *p)
{
    struct shared_program *found;
    mutex_lock(&c->lock);
    found = c->programs[p->hash % PROGRAMS_MAX];
    INVARIANT(!found || atomic_load(&found->references) > 0); /* INV-1 */
    if (found && is_same(found, p))
        atomic_fetch_add(&found->references, 1);
    else
        found = NULL;
    mutex_unlock(&c->lock);
    return found;
}

static void program_cache_put(struct program_cache *c, struct shared_program *p)
{
    struct shared_program **at = &c->programs[p->hash % PROGRAMS_MAX];
    struct shared_program *old;
    PRE(p->code); /* INV-2 */
    atomic_fetch_add(&p->references, 1);
    mutex_lock(&c->lock);
    old = *at;
    *at = p;
    mutex_unlock(&c->lock);
    program_unref(old);
}

int program_get(struct program_cache *c,
                struct slice source,
                bool ignore_undefs,
                bool defer_tables,
                struct shared_program **out,
                struct err *err)
{
    struct shared_program *p = mem_zalloc(1, sizeof(*p));
    int rc;
    atomic_init(&p->references, 1);
    buf_append_slice(&p->source, source);
    p->hash = hash64_slice(source);
    p->ignore_undefs = ignore_undefs;
    p->defer_tables = defer_tables;
    *out = program_cache_find(c, p);
    if (*out) {
        program_unref(p);
        return 0;
    }
    rc = program_cache_compile(p, err);
    if (rc) {
        program_unref(p);
        return rc;
    }
    program_cache_put(c, p);
    POST(p->code);
    *out = p;
    return 0;
}
