/* One answer to every call: where the lock service is. A client that knows the
 * cluster's nodes alone finds it so, as it finds our own.
 */
#include "chubby-lite/lock_elsewhere.h"

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/rpc/rpc.h"
#include "chubby-lite/lock_service.h"
#include "chubby-lite/lock_wire.h"

struct lock_elsewhere {
    char *where; /* Owned. */
};

static int tell_where(void *ctx, struct rpc_call *call, struct err *err)
{
    const struct lock_elsewhere *e = ctx;
    /* ERR_UNSUPPORTED would say: ask another node. */
    int rc =
        err_set(err, ERR_NOTFOUND,
                "this cluster has its locks in another service, %s", e->where);

    (void)call;
    err_set_detail(err, ERR_DETAIL_LOCK_SERVICE, e->where);
    return rc;
}

#define TELL_WHERE_ROW(NAME, number, name, handler, flags)                     \
    {NAME, name, tell_where, flags},

static const struct rpc_method methods[] = {CHUBBY_METHODS(TELL_WHERE_ROW)};

int lock_elsewhere_open(struct rpc_server *rpc,
                        const char *text,
                        struct lock_elsewhere **out,
                        struct err *err)
{
    struct lock_service s;
    struct buf where = BUF_INIT;
    int rc = lock_service_parse(slice_str(text), &s, err);

    *out = NULL;
    if (!rc) {
        lock_service_put_public(&s, &where);
        if (where.len >= ERR_SUBJECT_BYTES)
            rc = err_set(err, ERR_INVALID,
                         "the addresses of the lock service have more than %d "
                         "bytes: name fewer of its servers",
                         ERR_SUBJECT_BYTES - 1);
    }
    if (!rc) {
        *out = mem_zalloc(1, sizeof(**out));
        (*out)->where = buf_take(&where);
        rpc_server_add(rpc, methods, ARRAY_LEN(methods), *out);
    }
    buf_close(&where);
    lock_service_close(&s);
    return rc;
}

void lock_elsewhere_close(struct lock_elsewhere *e)
{
    if (!e)
        return;
    mem_free(e->where);
    mem_free(e);
}
