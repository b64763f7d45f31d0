/* Orders to a running cluster (split, move, compact, kill, log level): each
 * is one call of a service's client. The commands and the console's actions
 * share them. */
#include "cli/cluster_orders.h"

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/rpc/codec.h"
#include "base/rpc/remote.h"
#include "bigtable/quarry.h"
#include "cli/server_host.h"
#include "cli/text_form.h"
#include "mapreduce/cluster/job_client.h"

#define NODE_US UINT64_C(5000000)

int order_split(struct quarry *q,
                const char *table,
                const char *row,
                struct err *err)
{
    struct buf key = BUF_INIT;
    int rc;
    argument_unescape(&key, slice_str(row));
    rc = quarry_table_split(q, table, buf_slice(&key), err);
    buf_close(&key);
    return rc;
}

int order_move(struct quarry *q,
               const char *table,
               const char *row,
               const char *server,
               struct buf *said,
               struct err *err)
{
    struct buf key = BUF_INIT;
    struct quarry_move m;
    int rc;
    argument_unescape(&key, slice_str(row));
    rc = quarry_table_move_tablet(q, table, buf_slice(&key), server, &m, err);
    buf_close(&key);
    if (rc)
        return rc;
    if (m.from == m.to)
        buf_printf(said, "tablet %llu is on server %llu already",
                   (unsigned long long)m.tablet, (unsigned long long)m.to);
    else
        buf_printf(said,
                   "tablet %llu moved from server %llu to %llu; its rows were "
                   "not served for %.1f ms",
                   (unsigned long long)m.tablet, (unsigned long long)m.from,
                   (unsigned long long)m.to, (double)m.unserved_us / 1000);
    return 0;
}

int order_compact(struct quarry *q,
                  const char *table,
                  const char *row,
                  struct err *err)
{
    struct buf start = BUF_INIT;
    struct buf end = BUF_INIT;
    int rc;
    if (!*row)
        return quarry_table_compact(q, table, err);
    argument_unescape(&start, slice_str(row));
    buf_append_slice(&end, buf_slice(&start));
    buf_append_byte(&end, '\0');
    rc = quarry_table_compact_rows(q, table, buf_slice(&start), buf_slice(&end),
                                   err);
    buf_close(&start);
    buf_close(&end);
    return rc;
}

int order_kill(struct job_client *c, const char *id, struct err *err)
{
    const struct job_watch w = {slice_str(id), 0, 0};
    struct buf body = BUF_INIT;
    int rc;
    job_watch_put(&w, &body);
    rc = job_client_call(c, JOB_KILL, buf_slice(&body), 0, NULL, err);
    buf_close(&body);
    return rc;
}

int order_log_level(const char *address,
                    const struct rpc_security *security,
                    struct slice change,
                    struct buf *levels,
                    struct err *err)
{
    struct rpc_channel_options o = {.security = security};
    struct rpc_call_options call = {.timeout_us = NODE_US};
    struct rpc_channel *c = rpc_channel_new(address, &o);
    struct buf request = BUF_INIT;
    struct buf body = BUF_INIT;
    struct codec_reader reader;
    int rc;
    codec_put_array(&request, 1);
    codec_put_str(&request, change);
    rc = rpc_call(c, SERVER_LOG_LEVEL, &call, buf_slice(&request), SLICE_EMPTY,
                  &body, NULL, err);
    if (rc == 0) {
        reader = codec_reader_make(buf_slice(&body));
        if (codec_get_array(&reader) >= 1)
            buf_append_slice(levels, codec_get_bytes(&reader));
        if (reader.bad)
            rc = err_set(err, ERR_CORRUPT, "malformed answer");
    }
    if (rc)
        err_wrap(err, "node %s", address);
    rpc_channel_free(c);
    buf_close(&request);
    buf_close(&body);
    return rc;
}
