/* Changes of a table's schema: on the wire, and applied. Each change is decoded
 * and applied in turn, so that a mistake names its own change; the caller drops
 * the schema on an error. */
#include "base/core/panic.h"
#include "bigtable/row/alteration.h"
#include "bigtable/row/index_set.h"
#include "bigtable/row/schema.h"
#include "bigtable/wire/data_calls.h"
#include "bigtable/wire/message.h"

#define CHANGE_FIELDS 3

void alter_put(const struct quarry_alter *changes,
               size_t count,
               struct buf *out)
{
    codec_put_array(out, (uint32_t)count);
    for (size_t i = 0; i < count; i++) {
        const struct quarry_alter *a = &changes[i];
        codec_put_array(out, CHANGE_FIELDS);
        codec_put_u64(out, (uint64_t)a->kind);
        codec_put_bin(out, slice_str(a->name));
        message_put_maybe(out, a->options != NULL,
                          slice_str(a->options ? a->options : ""));
    }
}

static int
set_replication(struct schema *s, const char *copies, struct err *err)
{
    struct buf options = BUF_INIT;
    int rc = 0;
    buf_printf(&options, "replication=%s", copies);
    for (size_t i = 0; i < s->group_count && rc == 0; i++)
        rc = schema_update_group(s, s->groups[i].name, buf_cstr(&options), err);
    buf_close(&options);
    return rc;
}

static int
set_changes(struct schema *s, const struct quarry_alter *a, struct err *err)
{
    struct buf text = BUF_INIT;
    int rc;
    buf_append_str(&text, a->name);
    if (a->options && a->options[0])
        buf_printf(&text, ",%s", a->options);
    rc = schema_set_changes(s, buf_cstr(&text), err);
    buf_close(&text);
    return rc;
}

static int
make_change(struct schema *s, const struct quarry_alter *a, struct err *err)
{
    switch (a->kind) {
    case QUARRY_ADD_FAMILY:
        return schema_add_family(s, a->name, a->options, err);
    case QUARRY_UPDATE_FAMILY:
        return schema_update_family(s, a->name, a->options, err);
    case QUARRY_DROP_FAMILY: return schema_drop_family(s, a->name, err);
    case QUARRY_ADD_GROUP: return schema_add_group(s, a->name, a->options, err);
    case QUARRY_UPDATE_GROUP:
        return schema_update_group(s, a->name, a->options, err);
    case QUARRY_SET_REPLICATION: return set_replication(s, a->name, err);
    case QUARRY_SET_CHANGES: return set_changes(s, a, err);
    case QUARRY_ADD_INDEX: return schema_add_index(s, a->name, a->options, err);
    case QUARRY_READY_INDEX:
        return schema_ready_index(s, a->name, a->options, err);
    case QUARRY_DROP_INDEX: return schema_drop_index(s, a->name, err);
    }
    return err_set(err, ERR_INVALID, "unknown change %d", (int)a->kind);
}

int alter_schema(struct schema *schema,
                 const struct quarry_alter *changes,
                 size_t count,
                 struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < count && rc == 0; i++)
        rc = make_change(schema, &changes[i], err);
    return rc ? rc : schema_check_hidden(schema, err);
}

static int apply_next(struct codec_reader *r, struct schema *s, struct err *err)
{
    struct quarry_alter a;
    struct slice name, options;
    bool has_options;
    uint8_t kind;
    char *owned_name;
    char *owned_options;
    int rc;
    message_part(r, CHANGE_FIELDS);
    kind = message_u8(r);
    name = message_text(r);
    options = message_maybe(r, &has_options);
    if (r->bad || message_has_nul(options))
        return err_set(err, ERR_CORRUPT, "malformed change of a table");
    owned_name = mem_strndup(name.data, name.len);
    owned_options = has_options ? mem_strndup(options.data, options.len) : NULL;
    a = (struct quarry_alter){(enum quarry_alter_kind)kind, owned_name,
                              owned_options};
    rc = make_change(s, &a, err);
    mem_free(owned_name);
    mem_free(owned_options);
    return rc;
}

int alter_apply(struct slice in, struct schema *schema, struct err *err)
{
    struct codec_reader r = codec_reader_make(in);
    uint32_t count = message_count(&r, ALTER_CHANGES_MAX);
    int rc = 0;
    for (uint32_t i = 0; i < count && rc == 0; i++)
        rc = apply_next(&r, schema, err);
    if (rc == 0 && !codec_done(&r))
        rc = err_set(err, ERR_CORRUPT, "malformed changes of a table");
    return rc ? rc : schema_check_hidden(schema, err);
}
