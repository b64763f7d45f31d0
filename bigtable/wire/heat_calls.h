/* The call that shows people which rows of a table are hot: asked of every
 * tablet server, because a server remembers tablets that have left it.
 *
 * It is asked twice: first for the bounds of the ranges that were counted,
 * then, with the bounds of the picture attached, for its values.
 *
 * Threads: any; nothing here parks. */
#ifndef BIGTABLE_WIRE_HEAT_CALLS_H
#define BIGTABLE_WIRE_HEAT_CALLS_H

#include "base/rpc/call_tables.h"
#include "bigtable/wire/field_kinds.h"

#define TABLET_HEAT_METHODS(METHOD)                                            \
    /* struct heat_request, with the bounds of the picture attached            \
     * (keys_put()), or nothing; struct heat_reply with bounds, or values      \
     * (heat_values_put()), attached. To who may look at the table, as         \
     * TABLET_DESCRIBE; a server that cannot tell, because it has no tablet of \
     * the table, answers all but the cluster's own with nothing.              \
     * ERR_INVALID: the picture is too large. */                               \
    METHOD(TABLET_HEAT, 0x520, "tablet.heat", handle_heat, READY)

enum tablet_heat_method {
    TABLET_HEAT_METHODS(METHOD_NUMBER)
};

struct heat_request {
    struct slice table;
    struct slice start; /* Rows [start, end); an empty end is no bound. */
    struct slice end;
    uint32_t from;       /* Minute since the epoch. */
    uint32_t step;       /* Minutes. */
    uint32_t times;      /* Steps. */
    uint32_t what;       /* enum load_kind */
    uint32_t bounds_max; /* That are wanted; 0: values. */
};

struct heat_reply {
    uint32_t count; /* Of bounds, or of ranges; 0: nothing is known. */
};

static const struct message_field heat_request_fields[] = {
    FIELD(heat_request, table, field_name),
    FIELD(heat_request, start, field_row),
    FIELD(heat_request, end, field_row),
    FIELD(heat_request, from, field_u32),
    FIELD(heat_request, step, field_u32),
    FIELD(heat_request, times, field_u32),
    FIELD(heat_request, what, field_u32),
    FIELD(heat_request, bounds_max, field_u32),
};

static const struct message_field heat_reply_fields[] = {
    FIELD(heat_reply, count, field_u32),
};

#define HEAT_MESSAGES(MESSAGE)                                                 \
    MESSAGE(heat_request, "question for heat")                                 \
    MESSAGE(heat_reply, "answer with heat")

HEAT_MESSAGES(MESSAGE_FUNCTIONS)

/* Append @times × @ranges values, none negative, to a sixteenth. */
void heat_values_put(const double *values,
                     size_t times,
                     size_t ranges,
                     struct buf *out);
/* Add those in @in to @values. ERR_CORRUPT; then some may have been added. */
MUST_CHECK int heat_values_add(struct slice in,
                               size_t times,
                               size_t ranges,
                               double *values,
                               struct err *err);

#endif /* BIGTABLE_WIRE_HEAT_CALLS_H */
