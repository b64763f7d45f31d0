/* Bytes and states of objects. A file is a row of objects, "KEY.0", "KEY.1", …,
 * each of RADOS_OBJECT_BYTES but the last: a range of it is read from several
 * at a time.
 */
#ifdef QUARRY_HAVE_RADOS

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/core/panic.h"
#include "base/objects/rados_client_parts.h"

/* Longest state. */
#define STATE_BYTES_MAX 256

char *rados_object_name(const char *key, uint64_t number)
{
    struct buf b = BUF_INIT;
    buf_printf(&b, "%s.%" PRIu64, key, number);
    return buf_take(&b);
}

/* --- one object ---------------------------------------------------------- */

static int run_write(struct rados_client *c,
                     rados_write_op_t op,
                     const char *what,
                     const char *object,
                     struct err *err)
{
    struct rados_wait wait;
    int rc;
    rados__wait_begin(c, &wait);
    rc = c->calls.rados_aio_write_op_operate(op, c->io, wait.completion, object,
                                             NULL, 0);
    rc = rados__wait_end(&wait, rc, what, object, NULL, NULL, err);
    c->calls.rados_release_write_op(op);
    return rc;
}

int rados_object_put(struct rados_client *c,
                     const char *object,
                     struct slice data,
                     const char *state,
                     struct err *err)
{
    rados_write_op_t op;
    int rc = rados__connect(c, err);
    if (rc)
        return rc;
    op = c->calls.rados_create_write_op();
    c->calls.rados_write_op_write_full(op, data.data ? data.data : "",
                                       data.len);
    if (*state)
        c->calls.rados_write_op_setxattr(op, RADOS_STATE, state, strlen(state));
    atomic_fetch_add(&c->written_bytes, data.len);
    return run_write(c, op, "write", object, err);
}

int rados_object_append(struct rados_client *c,
                        const char *object,
                        const char *was,
                        const char *now,
                        uint64_t offset,
                        struct slice data,
                        struct err *err)
{
    rados_write_op_t op;
    int rc = rados__connect(c, err);
    if (rc)
        return rc;
    op = c->calls.rados_create_write_op();
    c->calls.rados_write_op_assert_exists(op);
    c->calls.rados_write_op_cmpxattr(op, RADOS_STATE, LIBRADOS_CMPXATTR_OP_EQ,
                                     was, strlen(was));
    if (data.len > 0)
        c->calls.rados_write_op_write(op, data.data, data.len, offset);
    c->calls.rados_write_op_setxattr(op, RADOS_STATE, now, strlen(now));
    atomic_fetch_add(&c->written_bytes, data.len);
    rc = run_write(c, op, "append to", object, err);
    return rc == ERR_NOTFOUND ? ERR_ABORTED : rc;
}

int rados_object_state(struct rados_client *c,
                       const char *object,
                       struct buf *out,
                       struct err *err)
{
    struct rados_wait wait;
    char state[STATE_BYTES_MAX];
    int len = 0;
    int rc = rados__connect(c, err);
    if (rc)
        return rc;
    rados__wait_begin(c, &wait);
    rc = c->calls.rados_aio_getxattr(c->io, object, wait.completion,
                                     RADOS_STATE, state, sizeof(state));
    rc = rados__wait_end(&wait, rc, "read", object, &len, NULL, err);
    if (rc == 0)
        buf_append(out, state, MIN_OF((size_t)len, sizeof(state)));
    return rc;
}

int rados_object_exists(struct rados_client *c,
                        const char *object,
                        struct err *err)
{
    struct rados_wait wait;
    uint64_t size = 0;
    time_t modified = 0;
    int rc = rados__connect(c, err);
    if (rc)
        return rc;
    rados__wait_begin(c, &wait);
    rc = c->calls.rados_aio_stat(c->io, object, wait.completion, &size,
                                 &modified);
    return rados__wait_end(&wait, rc, "look for", object, NULL, NULL, err);
}

int rados_object_remove(struct rados_client *c,
                        const char *object,
                        struct err *err)
{
    struct rados_wait wait;
    int rc = rados__connect(c, err);
    if (rc)
        return rc;
    rados__wait_begin(c, &wait);
    rc = c->calls.rados_aio_remove(c->io, object, wait.completion);
    return rados__wait_end(&wait, rc, "remove", object, NULL, NULL, err);
}

/* --- in the background --------------------------------------------------- */

static void write_ended(rados_completion_t completion, void *arg)
{
    struct rados_write *w = arg;
    struct rados_client *c = w->client;
    int rc = c->calls.rados_aio_get_return_value(completion);
    w->rc = rados__error(c, rc, "write", w->object, &w->err);
    w->done(w);
    c->calls.rados_aio_release(completion);
}

void rados_write_start(struct rados_client *c, struct rados_write *w)
{
    rados_completion_t completion;
    int rc;
    PRE(atomic_load(&c->is_open)); /* The file was created. */
    w->client = c;
    if (c->calls.rados_aio_create_completion2(w, write_ended, &completion))
        PANIC("librados has no memory");
    atomic_fetch_add(&c->requests, 1);
    atomic_fetch_add(&c->written_bytes, w->data.len);
    rc = c->calls.rados_aio_write(c->io, w->object, completion, w->data.data,
                                  w->data.len, w->offset);
    if (rc) {
        w->rc = rados__error(c, rc, "write", w->object, &w->err);
        w->done(w);
        c->calls.rados_aio_release(completion);
    }
}

/* A read of several objects, which ends with the last of them. */
struct range_read {
    struct rados_client *client;
    struct object_read *read;
    atomic_uint pending;
    struct range_piece *pieces;
    unsigned count;
};

struct range_piece {
    struct range_read *whole;
    char *object;
    rados_completion_t completion; /* NULL: it was not started. */
    char *dst;
    uint64_t offset; /* In the object. */
    size_t len;
    int rc; /* Bytes, or the error. */
};

/* The first error, or the bytes of all. */
static void finish_range(struct range_read *all)
{
    struct rados_client *c = all->client;
    struct object_read *r = all->read;
    r->got = 0;
    r->rc = 0;
    for (unsigned i = 0; i < all->count; i++) {
        struct range_piece *p = &all->pieces[i];
        if (r->rc == 0 && p->rc < 0) {
            r->rc = rados__error(c, p->rc, "read", p->object, &r->err);
            if (r->rc == ERR_NOTFOUND)
                r->rc = err_set(&r->err, ERR_ABORTED,
                                "%s: the file was replaced or removed while "
                                "it was read",
                                c->name);
        } else if (r->rc == 0) {
            r->got += (size_t)p->rc;
            if ((size_t)p->rc < p->len && i + 1 < all->count)
                r->rc = err_set(&r->err, ERR_CORRUPT,
                                "%s: object %s is shorter than its file says",
                                c->name, p->object);
        }
        mem_free(p->object);
    }
    atomic_fetch_add(&c->read_bytes, r->got);
    mem_free(all->pieces);
    mem_free(all);
    r->done(r);
}

static void end_piece(struct range_piece *p)
{
    struct range_read *all = p->whole;
    if (atomic_fetch_sub(&all->pending, 1) == 1)
        finish_range(all);
}

static void piece_ended(rados_completion_t completion, void *arg)
{
    struct range_piece *p = arg;
    struct rados_client *c = p->whole->client;
    p->rc = c->calls.rados_aio_get_return_value(completion);
    end_piece(p);
    c->calls.rados_aio_release(completion);
}

/* Divide [@offset, @offset + @len) among the objects. */
static void divide_range(struct range_read *all, const struct object_read *r)
{
    uint64_t at = r->offset;
    uint64_t end = r->offset + r->len;
    size_t most = (size_t)(r->len / RADOS_OBJECT_BYTES + 2);
    all->pieces = mem_zalloc(most, sizeof(*all->pieces));
    while (at < end) {
        struct range_piece *p = &all->pieces[all->count++];
        uint64_t number = at / RADOS_OBJECT_BYTES;
        p->whole = all;
        p->object = rados_object_name(r->key, number);
        p->dst = (char *)r->dst + (at - r->offset);
        p->offset = at - number * RADOS_OBJECT_BYTES;
        p->len = (size_t)MIN_OF(end - at, RADOS_OBJECT_BYTES - p->offset);
        at += p->len;
    }
    POST(all->count <= most);
}

void rados_read_start(struct rados_client *c, struct object_read *r)
{
    struct range_read *all = mem_zalloc(1, sizeof(*all));
    unsigned count;
    PRE(atomic_load(&c->is_open)); /* The file was opened. */
    PRE(r->len > 0);
    all->client = c;
    all->read = r;
    divide_range(all, r);
    count = all->count;
    atomic_store(&all->pending, count);
    /* The last to end frees it: what follows it is not looked at again. */
    for (unsigned i = 0; i < count; i++) {
        struct range_piece *p = &all->pieces[i];
        int rc;
        if (c->calls.rados_aio_create_completion2(p, piece_ended,
                                                  &p->completion))
            PANIC("librados has no memory");
        atomic_fetch_add(&c->requests, 1);
        rc = c->calls.rados_aio_read(c->io, p->object, p->completion, p->dst,
                                     p->len, p->offset);
        if (rc) {
            c->calls.rados_aio_release(p->completion);
            p->rc = rc;
            end_piece(p);
        }
    }
}

#else

/* A file of C has at least one declaration. */
struct rados_client;

#endif
