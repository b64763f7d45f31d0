/* Settings messages of the admin APIs, field by field: what a client sets and
 * is told again, what the service alone sets, and what is refused because
 * nothing here does what it says. No field is accepted and dropped.
 *
 * The tables are in the files of the resources. Pure.
 */
#ifndef BIGTABLE_GATEWAY_MESSAGE_FIELDS_H
#define BIGTABLE_GATEWAY_MESSAGE_FIELDS_H

#include <stddef.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "bigtable/gateway/pb.h"

enum message_field_rule {
    FIELD_KEPT,    /* Set by the client, kept and given back. */
    FIELD_FIXED,   /* The same, when the resource is made and never again. */
    FIELD_OUTPUT,  /* The service's own; what a client sends is ignored, as the
                      API demands. */
    FIELD_REFUSED, /* Nothing here does what it says. */
};

struct message_field {
    const char *name; /* "display_name"; masks may say "displayName". */
    unsigned number;
    enum pb_wire wire;
    enum message_field_rule rule;
    /* Of a message whose fields are looked at and can be updated one by one;
     * NULL: a scalar, a map, a list, or a message that is kept whole. */
    const struct message_type *type;
    unsigned oneof; /* Of those with the same number but 0 only one is set. */
};

struct message_type {
    const char *name; /* "Cluster". */
    const struct message_field *fields;
    size_t field_count;
};

/* Append those fields of @given that a client may set when it makes the
 * resource. Errors: ERR_INVALID (no such message), ERR_UNSUPPORTED (names the
 * field that is refused, or not known). */
MUST_CHECK int message_settle(const struct message_type *t,
                              struct slice given,
                              struct buf *out,
                              struct err *err);

/* Append @old with what @mask (a FieldMask) names taken from @update; an empty
 * mask takes all fields that @update has and that can change.
 *
 * Errors: ERR_INVALID (no such message, a path that cannot be updated),
 * ERR_UNSUPPORTED as above. */
MUST_CHECK int message_merge(const struct message_type *t,
                             struct slice old,
                             struct slice update,
                             struct slice mask,
                             struct buf *out,
                             struct err *err);

#endif /* BIGTABLE_GATEWAY_MESSAGE_FIELDS_H */
