/* The field change_stream_config of the message Table, and the store's setting
 * behind it: for how long a table keeps its changes ("7d,max=10GiB"). The bound
 * of bytes has no place in the message and stays as it is.
 */
#ifndef BIGTABLE_GATEWAY_CHANGE_CONFIG_H
#define BIGTABLE_GATEWAY_CHANGE_CONFIG_H

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "bigtable/gateway/message_fields.h"

struct gateway;
struct grpc_call;

/* The rules of the message ChangeStreamConfig. */
extern const struct message_type change_config_type;

/* Append change_stream_config for the setting @changes; nothing if it is off.
 */
void change_config_put(struct buf *out, const char *changes);
/* Append the setting that @table, a message Table, asks for, of a table that
 * has
 * @changes now ("off": it is new, too): "off" without a retention period.
 * ERR_INVALID: one that is not from 1 to 7 days. */
MUST_CHECK int change_config_get(struct slice table,
                                 const char *changes,
                                 struct buf *out,
                                 struct err *err);
/* Set the table @store_name, which has @changes, to what @table asks for.
 * Parks. Errors: as above, and those of quarry_table_alter(). */
MUST_CHECK int change_config_apply(struct gateway *g,
                                   const char *store_name,
                                   const char *changes,
                                   struct slice table,
                                   struct err *err);
/* Set *@is_on: does the table keep changes? Parks. ERR_NOTFOUND. */
MUST_CHECK int change_config_is_on(struct gateway *g,
                                   const char *store_name,
                                   bool *is_on,
                                   struct err *err);
/* Refuse with FAILED_PRECONDITION to delete a table that keeps changes. Parks.
 * ERR_NOTFOUND. */
MUST_CHECK int change_config_check_off(struct gateway *g,
                                       struct grpc_call *call,
                                       const char *store_name,
                                       struct err *err);

#endif /* BIGTABLE_GATEWAY_CHANGE_CONFIG_H */
