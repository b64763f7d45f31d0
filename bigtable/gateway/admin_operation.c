/* Long-running operations: google.longrunning.Operations. Each is done when it
 * is first returned; the newest are kept, so that a client can get them again
 * at this gateway or another.
 *
 * The name of an operation is "operations/NAME OF THE RESOURCE/operations/ID";
 * the registry has it under "operations/ID", and ids sort by time.
 */
#include <inttypes.h>

#include "base/core/pb.h"
#include "base/runtime/world.h"
#include "bigtable/gateway/admin.h"
#include "bigtable/gateway/api_fields.h"
#include "bigtable/gateway/backup_field.h"
#include "bigtable/gateway/backup_filter.h"
#include "bigtable/gateway/resource_registry.h"

#define TYPE_PREFIX  "type.googleapis.com/google.bigtable.admin.v2."
#define EMPTY_PREFIX "type.googleapis.com/google.protobuf."
#define KEY_PREFIX   "operations/"
#define NAME_MIDDLE  "/operations/"

/* How long operations are kept, and how many at most. */
#define KEPT_US  (INT64_C(24) * 3600 * 1000000)
#define KEPT_MAX 1000

/* Digits of an id: µs since 1970, then random ones. */
#define ID_TIME_DIGITS   16
#define ID_RANDOM_DIGITS 8

/* --- kept ones ----------------------------------------------------------- */

/* The registry's key for the operation @name; empty if @name cannot be one. */
static void key_of(struct slice name, struct buf *out)
{
    size_t id_bytes = ID_TIME_DIGITS + ID_RANDOM_DIGITS;
    struct slice id;
    if (name.len <= id_bytes)
        return;
    id = slice_sub(name, name.len - id_bytes, name.len);
    buf_append_str(out, KEY_PREFIX);
    buf_append_slice(out, id);
}

/* Append the operation @name, as it is kept. ERR_NOTFOUND. */
static int find_operation(struct gateway *g,
                          struct slice name,
                          struct buf *out,
                          struct err *err)
{
    struct buf key = BUF_INIT;
    bool found = false;
    size_t before = out->len;
    int rc = 0;
    key_of(name, &key);
    if (key.len)
        rc = registry_get(g->own, buf_slice(&key), out, &found, err);
    buf_close(&key);
    if (rc == 0 && found &&
        slice_eq(pb_find(slice_sub(buf_slice(out), before, out->len),
                         PB_Operation_name),
                 name))
        return 0;
    buf_truncate(out, before);
    return rc ? rc
              : err_set(err, ERR_NOTFOUND, "operation not found: \"%.*s\"",
                        SLICE_ARG(slice_sub(name, 0, 200)));
}

struct trimming {
    struct buf keys; /* Of all operations, each followed by a NUL. */
    size_t count;
};

static int
note_key(void *ctx, struct slice key, struct slice message, struct err *err)
{
    struct trimming *t = ctx;
    (void)message;
    (void)err;
    buf_append_slice(&t->keys, key);
    buf_append_byte(&t->keys, '\0');
    t->count++;
    return 0;
}

/* Remove operations that are too old or too many, the oldest first. */
static int trim_operations(struct gateway *g, struct err *err)
{
    struct trimming t = {.count = 0};
    struct buf oldest = BUF_INIT;
    int rc = registry_each(g->own, SLICE_LIT(KEY_PREFIX), note_key, &t, err);
    buf_printf(&oldest, KEY_PREFIX "%016" PRIx64,
               (uint64_t)MAX_OF(service_now_us(g) - KEPT_US, 0));
    for (size_t at = 0; rc == 0 && at < t.keys.len; t.count--) {
        struct slice key = slice_str(t.keys.data + at);
        if (t.count <= KEPT_MAX && slice_cmp(key, buf_slice(&oldest)) >= 0)
            break;
        rc = registry_remove(g->own, key, err);
        at += key.len + 1;
    }
    buf_close(&oldest);
    buf_close(&t.keys);
    return rc;
}

/* --- answering with one -------------------------------------------------- */

static void put_any(struct buf *out,
                    unsigned number,
                    const char *prefix,
                    const char *type,
                    struct slice value)
{
    size_t opened = pb_open(out, number);
    struct buf url = BUF_INIT;
    buf_printf(&url, "%s%s", prefix, type);
    pb_put_bytes(out, PB_Any_type_url, buf_slice(&url));
    pb_put_bytes(out, PB_Any_value, value);
    pb_close(out, opened);
    buf_close(&url);
}

/* A new operation's name. */
static void make_name(struct gateway *g, struct slice resource, struct buf *out)
{
    buf_printf(out, KEY_PREFIX "%.*s" NAME_MIDDLE "%016" PRIx64 "%08" PRIx32,
               SLICE_ARG(resource), (uint64_t)world_now_us(g->world),
               (uint32_t)world_random(g->world));
}

static int keep_operation(struct gateway *g,
                          struct slice name,
                          struct slice operation,
                          struct err *err)
{
    struct buf key = BUF_INIT;
    int rc;
    key_of(name, &key);
    rc = registry_put(g->own, buf_slice(&key), operation, err);
    if (rc == 0)
        rc = trim_operations(g, err);
    buf_close(&key);
    return rc;
}

int admin_reply_operation(struct gateway *g,
                          struct grpc_call *call,
                          const char *type,
                          const char *metadata_type,
                          struct slice message,
                          struct err *err)
{
    return admin_reply_operation_with(g, call, type, metadata_type, SLICE_EMPTY,
                                      message, err);
}

int admin_reply_operation_with(struct gateway *g,
                               struct grpc_call *call,
                               const char *type,
                               const char *metadata_type,
                               struct slice metadata,
                               struct slice message,
                               struct err *err)
{
    struct buf *b = grpc_scratch(call);
    size_t empty = b->len;
    struct buf name = BUF_INIT;
    struct err ignored = ERR_INIT;
    make_name(g, pb_find(message, PB_Instance_name), &name);
    pb_put_bytes(b, PB_Operation_name, buf_slice(&name));
    put_any(b, PB_Operation_metadata, TYPE_PREFIX, metadata_type, metadata);
    pb_put_integer(b, PB_Operation_done, 1);
    put_any(b, PB_Operation_response, TYPE_PREFIX, type, message);
    /* The work is done, so the client learns of success even if the operation
     * cannot be kept for later questions. */
    (void)!keep_operation(g, buf_slice(&name),
                          slice_sub(buf_slice(b), empty, b->len), &ignored);
    buf_close(&name);
    return grpc_send(call, b, err);
}

int admin_keep_operation(struct gateway *g,
                         struct slice resource,
                         const char *metadata_type,
                         struct slice metadata,
                         struct buf *name,
                         struct err *err)
{
    struct buf b = BUF_INIT;
    size_t before = name->len;
    struct slice made;
    int rc;
    make_name(g, resource, name);
    made = slice_sub(buf_slice(name), before, name->len);
    pb_put_bytes(&b, PB_Operation_name, made);
    put_any(&b, PB_Operation_metadata, TYPE_PREFIX, metadata_type, metadata);
    pb_put_integer(&b, PB_Operation_done, 1);
    put_any(&b, PB_Operation_response, EMPTY_PREFIX, "Empty", SLICE_EMPTY);
    rc = keep_operation(g, made, buf_slice(&b), err);
    buf_close(&b);
    return rc;
}

/* --- methods ------------------------------------------------------------- */

int admin_get_operation(void *ctx, struct grpc_call *call, struct err *err)
{
    struct buf *b = grpc_scratch(call);
    int rc = find_operation(
        ctx, pb_find(grpc_request(call), PB_GetOperationRequest_name), b, err);
    return rc ? rc : grpc_send(call, b, err);
}

/* Has no effect, as the API allows: every operation is already done. */
int admin_cancel_operation(void *ctx, struct grpc_call *call, struct err *err)
{
    struct buf ignored = BUF_INIT;
    int rc = find_operation(
        ctx, pb_find(grpc_request(call), PB_CancelOperationRequest_name),
        &ignored, err);
    buf_close(&ignored);
    return rc ? rc : service_reply_empty(call, err);
}

int admin_delete_operation(void *ctx, struct grpc_call *call, struct err *err)
{
    struct gateway *g = ctx;
    struct slice name =
        pb_find(grpc_request(call), PB_DeleteOperationRequest_name);
    struct buf ignored = BUF_INIT;
    struct buf key = BUF_INIT;
    int rc = find_operation(g, name, &ignored, err);
    key_of(name, &key);
    if (rc == 0)
        rc = registry_remove(g->own, buf_slice(&key), err);
    buf_close(&ignored);
    buf_close(&key);
    return rc ? rc : service_reply_empty(call, err);
}

/* --- lists --------------------------------------------------------------- */

/* The fields that a filter may name, of a message of its own. */
static const struct backup_field operation_fields[] = {
    {"name", 1, BACKUP_FIELD_TEXT},
    {"done", 2, BACKUP_FIELD_TRUTH},
    {"metadata.@type", 3, BACKUP_FIELD_TEXT},
    {"response.@type", 4, BACKUP_FIELD_TEXT},
};

static const struct backup_field *find_operation_field(struct slice name)
{
    for (size_t i = 0; i < ARRAY_LEN(operation_fields); i++)
        if (backup_text_equal(name, slice_str(operation_fields[i].name)))
            return &operation_fields[i];
    return NULL;
}

static int operation_fits(struct slice filter,
                          struct slice operation,
                          bool *fits,
                          struct err *err)
{
    static const struct list_fields fields = {
        find_operation_field, "name, done, metadata.@type, response.@type"};
    struct buf flat = BUF_INIT;
    int rc;
    pb_put_bytes(&flat, 1, pb_find(operation, PB_Operation_name));
    pb_put_integer(&flat, 2,
                   (int64_t)pb_find_integer(operation, PB_Operation_done));
    pb_put_bytes(
        &flat, 3,
        pb_find(pb_find(operation, PB_Operation_metadata), PB_Any_type_url));
    pb_put_bytes(
        &flat, 4,
        pb_find(pb_find(operation, PB_Operation_response), PB_Any_type_url));
    rc = list_filter_fits(&fields, filter, buf_slice(&flat), fits, err);
    buf_close(&flat);
    return rc;
}

/* A page of operations. */
struct operation_list {
    struct slice prefix; /* Of names. */
    struct slice filter;
    struct slice after; /* Key of the last one of the previous page. */
    uint64_t left;
    struct buf *out;
    struct buf last; /* Key of the last one in the page. */
    bool is_cut;     /* There are more. */
};

static int
list_one(void *ctx, struct slice key, struct slice message, struct err *err)
{
    struct operation_list *l = ctx;
    bool fits;
    int rc;
    if (slice_cmp(key, l->after) <= 0 ||
        !slice_starts_with(pb_find(message, PB_Operation_name), l->prefix))
        return 0;
    rc = operation_fits(l->filter, message, &fits, err);
    if (rc || !fits)
        return rc;
    if (l->left == 0) {
        l->is_cut = true;
        return 0;
    }
    l->left--;
    pb_put_bytes(l->out, PB_ListOperationsResponse_operations, message);
    buf_clear(&l->last);
    buf_append_slice(&l->last, key);
    return 0;
}

/* Clients send "operations", "projects/P" or "operations/projects/P/…". */
static void prefix_of(struct slice name, struct buf *out)
{
    if (!slice_starts_with(name, SLICE_LIT(KEY_PREFIX)))
        buf_append_str(out, KEY_PREFIX);
    if (!slice_eq_str(name, "operations"))
        buf_append_slice(out, name);
}

int admin_list_operations(void *ctx, struct grpc_call *call, struct err *err)
{
    struct gateway *g = ctx;
    struct slice request = grpc_request(call);
    uint64_t size =
        pb_find_integer(request, PB_ListOperationsRequest_page_size);
    struct buf prefix = BUF_INIT;
    struct operation_list l = {
        .after = pb_find(request, PB_ListOperationsRequest_page_token),
        .filter = pb_find(request, PB_ListOperationsRequest_filter),
        .out = grpc_scratch(call)};
    bool ignored; /* A filter is refused where nothing is listed, too. */
    int rc = operation_fits(l.filter, SLICE_EMPTY, &ignored, err);
    if (rc == 0 && size > INT32_MAX)
        rc = err_set(err, ERR_INVALID, "page_size must not be negative");
    prefix_of(pb_find(request, PB_ListOperationsRequest_name), &prefix);
    l.prefix = buf_slice(&prefix);
    l.left = size ? size : KEPT_MAX;
    if (rc == 0)
        rc = registry_each(g->own, SLICE_LIT(KEY_PREFIX), list_one, &l, err);
    if (rc == 0 && l.is_cut)
        pb_put_bytes(l.out, PB_ListOperationsResponse_next_page_token,
                     buf_slice(&l.last));
    buf_close(&prefix);
    buf_close(&l.last);
    return rc ? rc : grpc_send(call, l.out, err);
}
