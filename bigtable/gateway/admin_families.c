/* ModifyColumnFamilies.
 *
 *     ModifyColumnFamiliesRequest   name 1, modifications 2
 *     Modification                  id 1, create 2, update 3, drop 4
 *
 * All modifications are made, in order, or none.
 */
#include "base/core/panic.h"
#include "bigtable/gateway/pb.h"
#include "bigtable/gateway/request_mutation.h"
#include "bigtable/gateway/table_message.h"

/* More families than a table can have. */
#define MODIFICATIONS_MAX 4096

struct changes {
    struct quarry_alter *items; /* Owned, with their texts. */
    char **names;               /* Owned, each too. */
    char **options;
    size_t count;
};

static void close_changes(struct changes *c)
{
    for (size_t i = 0; i < c->count; i++) {
        mem_free(c->names[i]);
        mem_free(c->options[i]);
    }
    mem_free(c->names);
    mem_free(c->options);
    mem_free(c->items);
}

static size_t count_changes(struct slice request)
{
    struct cursor c = cursor_make(request);
    struct pb_field f;
    size_t count = 0;
    while (pb_next(&c, &f))
        count += pb_is_bytes(&f, 2);
    return count;
}

static void open_changes(struct changes *c, size_t count)
{
    c->items = mem_zalloc(count, sizeof(*c->items));
    c->names = mem_zalloc(count, sizeof(char *));
    c->options = mem_zalloc(count, sizeof(char *));
}

/* What the last field of the oneof says. */
static int read_kind(struct changes *c, struct slice bytes, struct err *err)
{
    struct quarry_alter *item = &c->items[c->count];
    struct cursor cursor = cursor_make(bytes);
    struct slice family = SLICE_EMPTY;
    struct pb_field f;
    bool any = false;
    while (pb_next(&cursor, &f)) {
        if (pb_is_bytes(&f, 2) || pb_is_bytes(&f, 3)) {
            item->kind =
                f.number == 2 ? QUARRY_ADD_FAMILY : QUARRY_UPDATE_FAMILY;
            family = f.bytes;
            any = true;
        } else if (pb_is_integer(&f, 4) && f.integer) {
            item->kind = QUARRY_DROP_FAMILY;
            any = true;
        }
    }
    if (cursor.bad)
        return service_bad_request(err);
    if (!any)
        return err_set(err, ERR_INVALID, "a modification that says nothing");
    if (item->kind == QUARRY_DROP_FAMILY)
        return 0;
    return family_options(family, &c->options[c->count], err);
}

static int add_change(struct changes *c, struct slice bytes, struct err *err)
{
    char name[REQUEST_FAMILY_BYTES_MAX + 1];
    int rc = request_family(pb_find(bytes, 1), name, err);
    if (rc)
        return rc;
    rc = read_kind(c, bytes, err);
    c->names[c->count] = mem_strdup(name);
    c->items[c->count].name = c->names[c->count];
    c->items[c->count].options = c->options[c->count];
    c->count++;
    return rc;
}

static int parse(struct changes *c, struct slice request, struct err *err)
{
    struct cursor cursor = cursor_make(request);
    size_t count = count_changes(request);
    struct pb_field f;
    int rc = 0;
    if (count == 0 || count > MODIFICATIONS_MAX)
        return err_set(err, ERR_INVALID, "expected 1 to %d modifications",
                       MODIFICATIONS_MAX);
    open_changes(c, count);
    while (rc == 0 && pb_next(&cursor, &f))
        if (pb_is_bytes(&f, 2))
            rc = add_change(c, f.bytes, err);
    if (rc == 0 && cursor.bad)
        rc = service_bad_request(err);
    return rc;
}

int admin_modify_column_families(void *ctx,
                                 struct grpc_call *call,
                                 struct err *err)
{
    struct gateway *g = ctx;
    struct slice request = grpc_request(call);
    struct slice text = pb_find(request, 1);
    struct changes c = {.items = NULL};
    struct resource_name name;
    char store_name[STORE_NAME_BYTES];
    struct buf *b = grpc_scratch(call);
    int rc = service_store_name(g, text, store_name, err);
    if (rc == 0)
        rc = resource_name_parse_kind(text, "tables", &name, err);
    if (rc == 0)
        rc = table_message_put(g, &name, store_name, TABLE_VIEW_NAME_ONLY, b,
                               err);
    if (rc == 0)
        rc = parse(&c, request, err);
    if (rc == 0)
        rc = quarry_table_alter(g->quarry, store_name, c.items, c.count, err);
    close_changes(&c);
    if (rc)
        return rc;
    b = grpc_scratch(call);
    rc = table_message_put(g, &name, store_name, TABLE_VIEW_SCHEMA, b, err);
    return rc ? rc : grpc_send(call, b, err);
}
