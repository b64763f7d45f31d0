/* The call by which changes of a tablet are read. The server keeps no state of
 * a reader: its place comes with each call, and goes back moved.
 *
 * Threads: any; nothing here parks. */
#ifndef BIGTABLE_WIRE_CHANGE_CALLS_H
#define BIGTABLE_WIRE_CHANGE_CALLS_H

#include "base/rpc/call_tables.h"
#include "bigtable/wire/field_kinds.h"

#define TABLET_CHANGE_METHODS(METHOD)                                          \
    /* struct changes_request; struct changes_reply with a batch of changes    \
     * (changes/change_batch.h) attached. Of families that the caller may not  \
     * read nothing is told. Rows outside of the tablet are elsewhere. */      \
    METHOD(TABLET_CHANGES, 0x51d, "tablet.changes", handle_changes, READY)

enum tablet_change_method {
    TABLET_CHANGE_METHODS(METHOD_NUMBER)
};

struct changes_request {
    uint64_t tablet;
    uint64_t generation;
    struct slice start; /* Rows [start, end); an empty end is no bound. */
    struct slice end;
    bool is_place;     /* A place is asked for, by time, */
    uint64_t since_us; /* an int64_t as of change_place(). */
    uint64_t low;      /* The place. */
    uint64_t high;
    struct slice row;
    uint64_t row_sequence;
    uint32_t bytes_max;
    uint32_t wait_us; /* For something to come. */
};

struct changes_reply {
    uint64_t low;
    uint64_t high;
    struct slice row;
    uint64_t row_sequence;
    uint64_t change_count;
    uint64_t watermark_us; /* An int64_t. */
    bool caught_up;
};

static const struct message_field changes_request_fields[] = {
    FIELD(changes_request, tablet, field_u64),
    FIELD(changes_request, generation, field_u64),
    FIELD(changes_request, start, field_bytes),
    FIELD(changes_request, end, field_bytes),
    FIELD(changes_request, is_place, field_flag),
    FIELD(changes_request, since_us, field_u64),
    FIELD(changes_request, low, field_u64),
    FIELD(changes_request, high, field_u64),
    FIELD(changes_request, row, field_bytes),
    FIELD(changes_request, row_sequence, field_u64),
    FIELD(changes_request, bytes_max, field_u32),
    FIELD(changes_request, wait_us, field_u32),
};

static const struct message_field changes_reply_fields[] = {
    FIELD(changes_reply, low, field_u64),
    FIELD(changes_reply, high, field_u64),
    FIELD(changes_reply, row, field_bytes),
    FIELD(changes_reply, row_sequence, field_u64),
    FIELD(changes_reply, change_count, field_u64),
    FIELD(changes_reply, watermark_us, field_u64),
    FIELD(changes_reply, caught_up, field_flag),
};

#define CHANGE_MESSAGES(MESSAGE)                                               \
    MESSAGE(changes_request, "request for changes")                            \
    MESSAGE(changes_reply, "answer with changes")

CHANGE_MESSAGES(MESSAGE_FUNCTIONS)

#endif /* BIGTABLE_WIRE_CHANGE_CALLS_H */
