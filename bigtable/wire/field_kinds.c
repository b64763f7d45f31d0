/* Kinds of fields of the calls of tables. Texts are bounded here, so that the
 * users of a message need not look at their lengths again.
 */
#include "bigtable/wire/field_kinds.h"

#include "base/rpc/rpc_message.h"
#include "bigtable/row/schema.h"
#include "bigtable/wire/load_calls.h"
#include "bigtable/wire/log_calls.h"
#include "bigtable/wire/message.h"
#include "bigtable/wire/metadata.h"

#define BOUNDED_BYTES(max)                                                     \
    {                                                                          \
        field_put_bytes, field_get_bounded, sizeof(struct slice), max          \
    }
#define BOUNDED_TEXT(max)                                                      \
    {                                                                          \
        field_put_text, field_get_bounded, sizeof(struct slice), max           \
    }

const struct message_kind field_row = BOUNDED_BYTES(MESSAGE_ROW_BYTES_MAX);
const struct message_kind field_schema =
    BOUNDED_BYTES(MESSAGE_SCHEMA_BYTES_MAX);
const struct message_kind field_sequencer =
    BOUNDED_BYTES(MESSAGE_SEQUENCER_BYTES_MAX);
const struct message_kind field_holders = BOUNDED_BYTES(LOG_HOLDERS_BYTES_MAX);
const struct message_kind field_file_name =
    BOUNDED_BYTES(MESSAGE_NAME_BYTES_MAX);
const struct message_kind field_policy_table =
    BOUNDED_BYTES(TABLE_NAME_BYTES_MAX);

const struct message_kind field_name = BOUNDED_TEXT(MESSAGE_NAME_BYTES_MAX);
const struct message_kind field_address = BOUNDED_TEXT(ADDRESS_BYTES_MAX);
const struct message_kind field_table_name = BOUNDED_TEXT(TABLE_NAME_BYTES_MAX);
const struct message_kind field_import_id = BOUNDED_TEXT(LOAD_NAME_BYTES_MAX);

static void
get_output(const struct message_field *f, struct codec_reader *r, void *m)
{
    field_get_maybe(f, r, m);
    r->bad |= message_has_nul(*(const struct slice *)field_of(f, m));
}

const struct message_kind field_output = {
    .put = field_put_maybe,
    .get = get_output,
    .member_bytes = sizeof(struct slice),
};

static void
get_load_id(const struct message_field *f, struct codec_reader *r, void *m)
{
    field_get_bounded(f, r, m);
    r->bad |= load_check_name("load", *(const struct slice *)field_of(f, m),
                              NULL) != 0;
}

const struct message_kind field_load_id = {
    .put = field_put_text,
    .get = get_load_id,
    .member_bytes = sizeof(struct slice),
    .bytes_max = LOAD_NAME_BYTES_MAX,
};

static void
get_table(const struct message_field *f, struct codec_reader *r, void *m)
{
    field_u64.get(f, r, m);
    r->bad |= *(const uint64_t *)field_of(f, m) == UINT64_MAX;
}

static void
put_table(const struct message_field *f, const void *m, struct buf *out)
{
    field_u64.put(f, m, out);
}

const struct message_kind field_table = {
    .put = put_table,
    .get = get_table,
    .member_bytes = sizeof(uint64_t),
};
