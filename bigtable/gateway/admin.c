/* What the admin APIs share: names, operations, field masks. */
#include "bigtable/gateway/admin.h"

#include <string.h>

#include "bigtable/gateway/pb.h"

#define TYPE_PREFIX "type.googleapis.com/google.bigtable.admin.v2."

/* --- names ------------------------------------------------------------------
 */

void admin_key(struct buf *out,
               struct slice instance,
               const char *kind,
               struct slice id)
{
    buf_printf(out, "instances/%.*s", SLICE_ARG(instance));
    if (*kind)
        buf_printf(out, "/%s/%.*s", kind, SLICE_ARG(id));
}

void admin_put_name(struct buf *out,
                    unsigned number,
                    struct slice project,
                    struct slice instance,
                    const char *kind,
                    struct slice id)
{
    struct buf name = BUF_INIT;
    buf_printf(&name, "projects/%.*s/", SLICE_ARG(project));
    admin_key(&name, instance, kind, id);
    pb_put_bytes(out, number, buf_slice(&name));
    buf_close(&name);
}

/* --- operations -------------------------------------------------------------
 */

/* Any: type_url 1, value 2. */
static void
put_any(struct buf *out, unsigned number, const char *type, struct slice value)
{
    size_t opened = pb_open(out, number);
    struct buf url = BUF_INIT;
    buf_printf(&url, TYPE_PREFIX "%s", type);
    pb_put_bytes(out, 1, buf_slice(&url));
    pb_put_bytes(out, 2, value);
    pb_close(out, opened);
    buf_close(&url);
}

/* Operation: name 1, metadata 2, done 3, error 4, response 5. */
int admin_reply_operation(struct grpc_call *call,
                          const char *type,
                          const char *metadata_type,
                          struct slice message,
                          struct err *err)
{
    struct buf *b = grpc_scratch(call);
    pb_put_bytes(b, 1, SLICE_LIT("operations/done"));
    put_any(b, 2, metadata_type, SLICE_EMPTY);
    pb_put_integer(b, 3, 1);
    put_any(b, 5, type, message);
    return grpc_send(call, b, err);
}

/* Whoever asks has an operation's name, and all were done when they were
 * answered. */
int admin_get_operation(void *ctx, struct grpc_call *call, struct err *err)
{
    struct buf *b = grpc_scratch(call);
    (void)ctx;
    pb_put_bytes(b, 1, pb_find(grpc_request(call), 1));
    pb_put_integer(b, 3, 1);
    return grpc_send(call, b, err);
}

/* --- field masks ------------------------------------------------------------
 */

/* "display_name" as "displayName", as some clients say it. */
static bool is_same_path(struct slice path, const char *name)
{
    size_t i = 0;
    for (const char *p = name; *p; p++, i++) {
        char c = *p;
        if (i >= path.len)
            return false;
        if (c == '_' && path.data[i] != '_') {
            p++;
            c = (char)(*p - 'a' + 'A');
        }
        if (path.data[i] != c)
            return false;
    }
    return i == path.len || path.data[i] == '.';
}

static const struct admin_field *
find_field(struct slice path, const struct admin_field *fields, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (is_same_path(path, fields[i].path))
            return &fields[i];
    return NULL;
}

/* Exchange field @number of the message in @b for what @update has of it. */
static void replace(struct buf *b, struct slice update, unsigned number)
{
    struct buf next = BUF_INIT;
    pb_copy_fields(&next, buf_slice(b), number, false);
    pb_copy_fields(&next, update, number, true);
    buf_close(b);
    *b = next;
}

static void replace_all(struct buf *b,
                        struct slice update,
                        const struct admin_field *fields,
                        size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct buf one = BUF_INIT;
        pb_copy_fields(&one, update, fields[i].number, true);
        if (one.len)
            replace(b, update, fields[i].number);
        buf_close(&one);
    }
}

int admin_merge(struct slice old,
                struct slice update,
                struct slice mask,
                const struct admin_field *fields,
                size_t field_count,
                struct buf *out,
                struct err *err)
{
    struct cursor c = cursor_make(mask);
    struct pb_field f;
    bool any = false;
    if (!pb_is_message(update))
        return service_bad_request(err);
    buf_append_slice(out, old);
    while (pb_next(&c, &f)) {
        const struct admin_field *field;
        if (!pb_is_bytes(&f, 1))
            continue;
        field = find_field(f.bytes, fields, field_count);
        if (!field)
            return err_set(err, ERR_INVALID, "\"%.*s\" cannot be updated",
                           SLICE_ARG(slice_sub(f.bytes, 0, 100)));
        replace(out, update, field->number);
        any = true;
    }
    if (c.bad)
        return service_bad_request(err);
    if (!any)
        replace_all(out, update, fields, field_count);
    return 0;
}
