/* Whole tables out of a cluster and into it: calls of its master. An import has
 * no time-out, because its files are copied while the call waits.
 */
#include "base/core/buf.h"
#include "base/crypt/secret.h"
#include "bigtable/client/cluster/cluster_client.h"
#include "bigtable/wire/load_calls.h"
#include "bigtable/wire/snapshot_calls.h"

int cluster_snapshot_record(struct quarry *q,
                            const char *name,
                            struct buf *out,
                            struct err *err)
{
    const struct snapshot_order o = {slice_str(name), SLICE_EMPTY, 0};
    struct buf body = BUF_INIT;
    int rc;
    snapshot_order_put(&o, &body);
    rc = cluster_call_master(q->cluster, MASTER_SNAPSHOT_RECORD,
                             buf_slice(&body), 0, out, NULL, err);
    buf_close(&body);
    return rc;
}

int cluster_import_lend(struct quarry *q,
                        const char *table,
                        const char *id,
                        struct key_loan *out,
                        struct err *err)
{
    const struct import_order o = {slice_str(table), slice_str(id),
                                   SLICE_EMPTY};
    struct lend_reply reply = {.loan = {.key_id = 0}};
    struct buf body = BUF_INIT;
    struct buf answer = BUF_INIT;
    int rc;
    import_order_put(&o, &body);
    rc = cluster_call_master(q->cluster, MASTER_IMPORT_LEND, buf_slice(&body),
                             0, &answer, NULL, err);
    if (rc == 0)
        rc = lend_reply_get(buf_slice(&answer), &reply, err);
    if (rc == 0)
        *out = reply.loan;
    key_loan_close(&reply.loan);
    if (answer.len)
        secret_wipe(answer.data, answer.len);
    buf_close(&body);
    buf_close(&answer);
    return rc;
}

int cluster_import_table(struct quarry *q,
                         const char *table,
                         const char *id,
                         struct slice record,
                         struct err *err)
{
    const struct import_order o = {slice_str(table), slice_str(id), record};
    struct buf body = BUF_INIT;
    bool unsure = false;
    int rc;
    import_order_put(&o, &body);
    rc = cluster_call_master(q->cluster, MASTER_IMPORT, buf_slice(&body),
                             CLUSTER_NO_TIMEOUT, NULL, &unsure, err);
    buf_close(&body);
    return rc == ERR_EXISTS && unsure ? 0 : rc;
}
