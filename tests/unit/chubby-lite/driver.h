/* Commands to the lock service's machine, one function each, for its tests. */
#ifndef TESTS_UNIT_CHUBBY_LITE_DRIVER_H
#define TESTS_UNIT_CHUBBY_LITE_DRIVER_H

#include <check.h>

#include "base/core/buf.h"
#include "chubby-lite/cell_machine.h"

/* The answer to @c, in static storage until the next call. */
static inline struct chubby_answer run(struct cell *cell,
                                       struct chubby_command c)
{
    static struct buf command;
    static struct buf answer;
    struct chubby_answer a;

    buf_clear(&command);
    buf_clear(&answer);
    chubby_command_put(&c, &command);
    cell_apply(cell, buf_slice(&command), &answer);
    ck_assert_int_eq(chubby_answer_get(buf_slice(&answer), &a, NULL), 0);
    return a;
}

static inline int begin(struct cell *cell, uint64_t session, const char *who)
{
    return run(cell,
               (struct chubby_command){.operation = CHUBBY_OP_SESSION_OPEN,
                                       .session = session,
                                       .principal = slice_str(who)})
        .code;
}

static inline int expire(struct cell *cell, uint64_t session, uint64_t now_us)
{
    return run(cell,
               (struct chubby_command){.operation = CHUBBY_OP_SESSION_EXPIRE,
                                       .session = session,
                                       .now_us = now_us})
        .code;
}

static inline struct chubby_answer open_node(struct cell *cell,
                                             uint64_t session,
                                             const char *path,
                                             unsigned flags,
                                             unsigned events)
{
    return run(cell, (struct chubby_command){.operation = CHUBBY_OP_OPEN,
                                             .session = session,
                                             .path = slice_str(path),
                                             .flags = flags,
                                             .events = events,
                                             .lock_delay_ms = 1000});
}

/* An operation on a handle that needs nothing more. */
static inline struct chubby_answer on(struct cell *cell,
                                      enum chubby_operation operation,
                                      uint64_t session,
                                      uint64_t handle)
{
    return run(cell, (struct chubby_command){.operation = operation,
                                             .session = session,
                                             .handle = handle});
}

static inline struct chubby_answer acquire(struct cell *cell,
                                           uint64_t session,
                                           uint64_t handle,
                                           enum chubby_lock mode,
                                           uint64_t now_us)
{
    return run(cell, (struct chubby_command){.operation = CHUBBY_OP_ACQUIRE,
                                             .session = session,
                                             .handle = handle,
                                             .flags = (unsigned)mode,
                                             .now_us = now_us});
}

static inline struct chubby_answer
put(struct cell *cell, uint64_t session, uint64_t handle, const char *contents)
{
    return run(cell, (struct chubby_command){.operation = CHUBBY_OP_WRITE,
                                             .session = session,
                                             .handle = handle,
                                             .contents = slice_str(contents)});
}

#endif /* TESTS_UNIT_CHUBBY_LITE_DRIVER_H */
