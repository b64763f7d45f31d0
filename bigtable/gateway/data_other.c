/* SampleRowKeys and PingAndWarm.
 *
 *     SampleRowKeysRequest    table_name 1, authorized_view_name 4
 *     SampleRowKeysResponse   row_key 1, offset_bytes 2
 *     PingAndWarmRequest      name 1 (of the instance)
 */
#include "bigtable/gateway/pb.h"
#include "bigtable/gateway/service.h"

static int first_text(struct slice message, struct slice *out, struct err *err)
{
    struct cursor c = cursor_make(message);
    struct pb_field f;
    *out = SLICE_EMPTY;
    while (pb_next(&c, &f))
        if (pb_is_bytes(&f, 1))
            *out = f.bytes;
    return c.bad ? service_bad_request(err) : 0;
}

static int send_sample(struct grpc_call *call,
                       struct slice key,
                       uint64_t bytes,
                       struct err *err)
{
    struct buf *b = grpc_scratch(call);
    if (key.len)
        pb_put_bytes(b, 1, key);
    if (bytes)
        pb_put_integer(b, 2, (int64_t)bytes);
    return grpc_send(call, b, err);
}

/* Tablets' ends, and the bytes up to there. The last end is the table's: "". */
int data_sample_row_keys(void *ctx, struct grpc_call *call, struct err *err)
{
    struct gateway *g = ctx;
    struct quarry_table_info *info;
    char store_name[STORE_NAME_BYTES];
    struct slice name;
    uint64_t bytes = 0;
    int rc = first_text(grpc_request(call), &name, err);
    if (rc == 0)
        rc = service_store_name(g, name, store_name, err);
    if (rc == 0)
        rc = service_describe(g, store_name, &info, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < info->tablet_count && rc == 0; i++) {
        bytes += info->tablets[i].bytes;
        rc = send_sample(call, info->tablets[i].end, bytes, err);
    }
    quarry_table_info_free(info);
    return rc;
}

int data_ping_and_warm(void *ctx, struct grpc_call *call, struct err *err)
{
    struct resource_name name;
    struct slice text;
    int rc = first_text(grpc_request(call), &text, err);
    (void)ctx;
    if (rc == 0)
        rc = resource_name_parse_kind(text, "", &name, err);
    return rc ? rc : service_reply_empty(call, err);
}
