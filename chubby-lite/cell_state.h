/* The state machine's parts. Private to chubby-lite's cell_*.c and
 * chubby_acl.c; the invariants are in cell_machine.h, node.h and
 * lock_session.h.
 */
#ifndef CHUBBY_LITE_CELL_STATE_H
#define CHUBBY_LITE_CELL_STATE_H

#include "chubby-lite/cell_machine.h"
#include "chubby-lite/node.h"

struct cell {
    struct node *root;
    struct session_table table;
    uint64_t now_us;
    uint64_t instance_count; /* Instance numbers and handles given out. */
    uint64_t handle_count;
    uint64_t node_count;
    uint64_t contents_bytes; /* Of all files. */
    cell_event_cb on_event;
    void *ctx;
};

/* An execution under way. */
struct execution {
    struct cell *cell;
    const struct chubby_command *command;
    struct session *session; /* NULL while one is opened. */
    struct chubby_answer *answer;
    struct err *err;
};

/* Tell the handles on @n that asked for @event. */
void cell__notify(struct cell *c, struct node *n, enum chubby_event event);
/* Tell the handles on @n, which may be NULL, that a child was made, removed or
 * written. */
void cell__notify_children(struct cell *c, struct node *n);

/* Execute one operation (lock_command.h). Each returns 0 or the error of the
 * answer, and changes nothing on error. */
int cell__open(struct execution *x);
int cell__close(struct execution *x);
int cell__write(struct execution *x);
int cell__set_acl(struct execution *x);
int cell__delete(struct execution *x);
int cell__acquire(struct execution *x);
int cell__release(struct execution *x);

/* --- cell_lock.c --------------------------------------------------------- */

/* Free the lock that @h holds, if any. @failed: not by its holder, so that the
 * lock-delay begins. */
void cell__unlock(struct cell *c, struct handle *h, bool failed);

/* --- cell_node.c --------------------------------------------------------- */

/* Free the lock of @h and close it; remove ephemeral nodes without handles. */
void cell__close_handle(struct cell *c, struct handle *h, bool failed);

/* --- chubby_acl.c -------------------------------------------------------- */

/* Does the list named @acl allow @principal? Errors: ERR_DENIED: it does not.
 */
MUST_CHECK int cell__allowed(const struct cell *c,
                             const char *principal,
                             struct slice acl,
                             struct err *err);

#endif /* CHUBBY_LITE_CELL_STATE_H */
