/* Answers kept for calls that are made again. */
#include "bigtable/tablet_server/answers.h"

#include "base/core/buf.h"
#include "base/core/hash_map.h"
#include "base/core/panic.h"
#include "base/rpc/rpc.h"
#include "base/runtime/sync.h"

struct answer {
    uint64_t key; /* First: that of the map. */
    struct answer *newer;
    bool done;
    bool too_long; /* Only that it was given is kept. */
    struct buf body;
    struct buf attachment;
};

struct answers {
    struct mutex lock;
    struct cond changed;
    struct hash_map map;
    struct answer *oldest; /* Of those that are done. */
    struct answer *newest;
    size_t bytes;
};

struct answers *answers_new(void)
{
    struct answers *a = mem_zalloc(1, sizeof(*a));
    mutex_init(&a->lock);
    cond_init(&a->changed);
    hash_map_init(&a->map, HASH_KEYS_BORROWED);
    return a;
}

static void answer_free(struct answer *e)
{
    buf_close(&e->body);
    buf_close(&e->attachment);
    mem_free(e);
}

static size_t answer_bytes(const struct answer *e)
{
    return e->body.len + e->attachment.len;
}

static void drop_oldest(struct answers *a)
{
    struct answer *e = a->oldest;
    a->oldest = e->newer;
    if (!a->oldest)
        a->newest = NULL;
    a->bytes -= answer_bytes(e);
    hash_map_remove(&a->map, hash_key_u64(&e->key), NULL);
    answer_free(e);
}

void answers_free(struct answers *a)
{
    if (!a)
        return;
    while (a->oldest)
        drop_oldest(a);
    hash_map_close(&a->map);
    cond_close(&a->changed);
    mutex_close(&a->lock);
    mem_free(a);
}

/* Give @call the answer @e. */
static int give(const struct answer *e, struct rpc_call *call, struct err *err)
{
    if (e->too_long)
        return err_set(err, ERR_ABORTED,
                       "the change was made before, and its answer was too "
                       "long to be kept");
    buf_append_slice(call->reply_body, buf_slice(&e->body));
    buf_append_slice(call->reply_attachment, buf_slice(&e->attachment));
    return 0;
}

int answers_begin(struct answers *a,
                  struct rpc_call *call,
                  bool *known,
                  struct err *err)
{
    uint64_t key = call->idempotency_key;
    union hash_value *v;
    struct answer *e;
    int rc = 0;
    *known = false;
    if (key == 0)
        return 0;
    mutex_lock(&a->lock);
    for (;;) {
        v = hash_map_get(&a->map, hash_key_u64(&key));
        e = v ? v->pointer : NULL;
        if (!e || e->done)
            break;
        cond_wait(&a->changed, &a->lock);
    }
    if (e) {
        *known = true;
        rc = give(e, call, err);
    } else {
        e = mem_zalloc(1, sizeof(*e));
        e->key = key;
        hash_map_put(&a->map, hash_key_u64(&e->key), NULL)->pointer = e;
    }
    mutex_unlock(&a->lock);
    return rc;
}

static void keep(struct answers *a, struct answer *e)
{
    e->done = true;
    a->bytes += answer_bytes(e);
    if (a->newest)
        a->newest->newer = e;
    else
        a->oldest = e;
    a->newest = e;
    while (a->oldest != e &&
           (a->map.count > ANSWERS_MAX || a->bytes > ANSWERS_BYTES_MAX))
        drop_oldest(a);
}

void answers_end(struct answers *a, struct rpc_call *call, bool success)
{
    uint64_t key = call->idempotency_key;
    struct slice body = buf_slice(call->reply_body);
    struct slice attachment = buf_slice(call->reply_attachment);
    struct answer *e;
    if (key == 0)
        return;
    mutex_lock(&a->lock);
    e = hash_map_get(&a->map, hash_key_u64(&key))->pointer;
    if (success) {
        e->too_long = body.len + attachment.len > ANSWER_KEPT_BYTES_MAX;
        if (!e->too_long) {
            buf_append_slice(&e->body, body);
            buf_append_slice(&e->attachment, attachment);
        }
        keep(a, e);
    } else {
        hash_map_remove(&a->map, hash_key_u64(&key), NULL);
        answer_free(e);
    }
    cond_broadcast(&a->changed);
    mutex_unlock(&a->lock);
}
