/* The kinds of fields that messages of tables have, beside the common ones of
 * base/rpc/message_fields.h. All are slices but one.
 */
#ifndef BIGTABLE_WIRE_FIELD_KINDS_H
#define BIGTABLE_WIRE_FIELD_KINDS_H

#include "base/rpc/message_fields.h"

/* Binary. Rows are at most MESSAGE_ROW_BYTES_MAX long, schemas, sequencers and
 * holders what message.h says of them. */
extern const struct message_kind field_row;
extern const struct message_kind field_schema;
extern const struct message_kind field_sequencer;
extern const struct message_kind field_holders;
extern const struct message_kind field_file_name;
extern const struct message_kind field_policy_table; /* A table's name. */
/* The output of a program's tables, without a NUL; a MAYBE_FIELD. */
extern const struct message_kind field_output;

/* Strings. */
extern const struct message_kind field_name;
extern const struct message_kind field_address;
extern const struct message_kind field_table_name;
extern const struct message_kind field_import_id;
extern const struct message_kind field_load_id; /* load_check_name() holds. */

/* A table's number; not the largest, because a range of keys ends with the next
 * number. */
extern const struct message_kind field_table;

#endif /* BIGTABLE_WIRE_FIELD_KINDS_H */
