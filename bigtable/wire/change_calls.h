/* The call by which changes of a tablet are read. The server keeps no state of
 * a reader: its place comes with each call, and goes back moved.
 *
 * Threads: any; nothing here parks. */
#ifndef BIGTABLE_WIRE_CHANGE_CALLS_H
#define BIGTABLE_WIRE_CHANGE_CALLS_H

#include "base/rpc/call_tables.h"

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

#define CHANGES_REQUEST(FIELD)                                                 \
    FIELD(U64, tablet)                                                         \
    FIELD(U64, generation)                                                     \
    FIELD(BYTES, start)                                                        \
    FIELD(BYTES, end)                                                          \
    FIELD(FLAG, is_place)                                                      \
    FIELD(U64, since_us)                                                       \
    FIELD(U64, low)                                                            \
    FIELD(U64, high)                                                           \
    FIELD(BYTES, row)                                                          \
    FIELD(U64, row_sequence)                                                   \
    FIELD(U32, bytes_max)                                                      \
    FIELD(U32, wait_us)

#define CHANGES_REPLY(FIELD)                                                   \
    FIELD(U64, low)                                                            \
    FIELD(U64, high)                                                           \
    FIELD(BYTES, row)                                                          \
    FIELD(U64, row_sequence)                                                   \
    FIELD(U64, change_count)                                                   \
    FIELD(U64, watermark_us)                                                   \
    FIELD(FLAG, caught_up)

#define CHANGE_MESSAGES(MESSAGE)                                               \
    MESSAGE(changes_request, CHANGES_REQUEST, "request for changes")           \
    MESSAGE(changes_reply, CHANGES_REPLY, "answer with changes")

CHANGE_MESSAGES(MESSAGE_PROTOTYPES)

#endif /* BIGTABLE_WIRE_CHANGE_CALLS_H */
