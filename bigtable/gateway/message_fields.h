/* Settings messages of the admin APIs, field by field: which fields a client
 * sets and gets back, which the service alone sets, and which are refused
 * because nothing here implements them. No field is accepted and then dropped.
 *
 * Names, numbers and types of the fields are those of the .proto files
 * (api_fields.h); the rules are in the files of the resources. Pure; any
 * thread.
 */
#ifndef BIGTABLE_GATEWAY_MESSAGE_FIELDS_H
#define BIGTABLE_GATEWAY_MESSAGE_FIELDS_H

#include <stddef.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/pb.h"
#include "base/core/slice.h"

/* The treatment of a field that a client sends. */
enum message_field_rule {
    FIELD_REFUSED, /* Nothing here implements it. Also any field of the message
                      that has no rule. */
    FIELD_KEPT,    /* Kept and given back. */
    FIELD_FIXED,   /* The same, but it cannot be updated. */
    FIELD_OUTPUT,  /* The service's own: ignored, as the API demands. */
};

struct message_rule {
    enum message_field_rule rule;
    /* Of a message whose fields have rules of their own and can be updated one
     * by one; NULL: a scalar, a map, a list, or a message that is kept whole.
     */
    const struct message_type *type;
    /* The field that a client's message has in its place once translated; a
     * mask that names this one means that one. 0: itself. */
    unsigned kept_as;
};

struct message_type {
    const struct pb_message *message;
    const struct message_rule *rules; /* By field number. */
    size_t rule_count;
};

/* The initializer of a type: pb_NAME with an array of rules. */
#define MESSAGE_TYPE(name, rules)                                              \
    {                                                                          \
        &pb_##name, rules, ARRAY_LEN(rules)                                    \
    }

/* Append those fields of @given that a client may set when it makes the
 * resource. Errors: ERR_INVALID (malformed), ERR_UNSUPPORTED (names the field
 * that is refused or unknown). */
MUST_CHECK int message_settle(const struct message_type *t,
                              struct slice given,
                              struct buf *out,
                              struct err *err);

/* Append @old with the fields that @mask (a FieldMask) names replaced by those
 * of @update; an empty mask names all fields that @update has and that can
 * change. On an error @out is unchanged.
 *
 * Errors: ERR_INVALID (malformed, a path that cannot be updated),
 * ERR_UNSUPPORTED as above. */
MUST_CHECK int message_merge(const struct message_type *t,
                             struct slice old,
                             struct slice update,
                             struct slice mask,
                             struct buf *out,
                             struct err *err);

#endif /* BIGTABLE_GATEWAY_MESSAGE_FIELDS_H */
