/* A list of open stores behind a lock: statements of several connections of one
 * DuckDB bind at the same time.
 */
#include "bigtable/sql/sql_stores.h"

#include <string.h>

#include "base/core/panic.h"
#include "base/runtime/sync.h"
#include "bigtable/quarry.h"
#include "bigtable/sql/sql_target.h"

/* Notes of one statement; a statement with more tables says less of them. */
#define NOTES_BYTES_MAX ((size_t)64 << 10)

struct open_store {
    char *target; /* Owned. */
    struct quarry *q;
    struct open_store *next;
};

struct sql_stores {
    sql_store_fn own;
    void *ctx;
    struct mutex lock;        /* Of all below. */
    struct open_store *first; /* Owned. */
    bool notes_wanted;
    struct buf notes;
    struct err failure; /* Its code is 0: none. */
};

struct sql_stores *sql_stores_new(sql_store_fn own, void *ctx)
{
    struct sql_stores *s = mem_zalloc(1, sizeof(*s));
    s->own = own;
    s->ctx = ctx;
    mutex_init(&s->lock);
    buf_init(&s->notes);
    return s;
}

void sql_stores_free(struct sql_stores *s)
{
    if (!s)
        return;
    while (s->first) {
        struct open_store *gone = s->first;
        s->first = gone->next;
        quarry_close(gone->q);
        mem_free(gone->target);
        mem_free(gone);
    }
    buf_close(&s->notes);
    mutex_close(&s->lock);
    mem_free(s);
}

/* PRE: the lock is held. */
static int open_target(struct sql_stores *s,
                       const char *target,
                       const char *key_file,
                       struct quarry **out,
                       struct err *err)
{
    struct buf name = BUF_INIT;
    struct buf key = BUF_INIT;
    struct quarry_options opts = {
        .read_only = slice_starts_with(slice_str(target), SLICE_LIT("file:")),
        .must_exist = true};
    struct open_store *o;
    int rc = sql_target_resolve(target, &name, &key, err);
    opts.key_file = key_file ? key_file : key.len ? buf_cstr(&key) : NULL;
    if (rc == 0)
        rc = quarry_open(buf_cstr(&name), &opts, out, err);
    buf_close(&name);
    buf_close(&key);
    if (rc)
        return rc;
    o = mem_zalloc(1, sizeof(*o));
    o->target = mem_strdup(target);
    o->q = *out;
    o->next = s->first;
    s->first = o;
    return 0;
}

int sql_stores_find(struct sql_stores *s,
                    const char *target,
                    const char *key_file,
                    struct quarry **out,
                    struct err *err)
{
    int rc = 0;
    *out = NULL;
    if (!target && s->own)
        return s->own(s->ctx, out, err);
    if (!target) {
        err_set(err, ERR_INVALID, "quarry(): which store is not said");
        err_hint(err, "as in quarry('file:DIR', 'table'), or "
                      "'cluster:HOST:PORT,…'");
        return ERR_INVALID;
    }
    mutex_lock(&s->lock);
    for (struct open_store *o = s->first; o; o = o->next)
        if (strcmp(o->target, target) == 0)
            *out = o->q;
    if (!*out)
        rc = open_target(s, target, key_file, out, err);
    mutex_unlock(&s->lock);
    return rc;
}

void sql_stores_want_notes(struct sql_stores *s, bool wanted)
{
    mutex_lock(&s->lock);
    s->notes_wanted = wanted;
    buf_clear(&s->notes);
    mutex_unlock(&s->lock);
}

void sql_stores_note(struct sql_stores *s, struct slice line)
{
    mutex_lock(&s->lock);
    if (s->notes_wanted && s->notes.len + line.len < NOTES_BYTES_MAX) {
        buf_append_slice(&s->notes, line);
        buf_append_byte(&s->notes, '\n');
    }
    mutex_unlock(&s->lock);
}

void sql_stores_take_notes(struct sql_stores *s, struct buf *out)
{
    mutex_lock(&s->lock);
    buf_append_slice(out, buf_slice(&s->notes));
    buf_clear(&s->notes);
    mutex_unlock(&s->lock);
}

void sql_stores_note_failure(struct sql_stores *s, const struct err *err)
{
    PRE(err->code);
    mutex_lock(&s->lock);
    if (!s->failure.code)
        s->failure = *err;
    mutex_unlock(&s->lock);
}

int sql_stores_take_failure(struct sql_stores *s, struct err *err)
{
    int rc;
    mutex_lock(&s->lock);
    rc = s->failure.code ? err_copy(err, &s->failure) : 0;
    err_init(&s->failure);
    mutex_unlock(&s->lock);
    return rc;
}
