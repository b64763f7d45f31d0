/* Calls about the members of a cell: from servers that enter it
 * (replica_enter.c) and from people (`quarry member`).
 *
 *     request  = [cell, verb, id, address]
 *     answer   = [role, list, id, term, leader, last, commit, applied,
 *                 snapshot, { [id, voting, address, match, reachable] }]
 *                to CELL_ASK; else nothing
 *
 * The method's id is REPLICA_CELL_METHOD() of the cell's own.
 */
#ifndef BASE_REPLICA_CELL_CALL_H
#define BASE_REPLICA_CELL_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/slice.h"
#include "base/replica/replica.h"

struct rpc_security;

#define REPLICA_CELL_METHOD(method) ((method) + 2)

enum cell_verb {
    /* The cell as the server knows it; as it is now, if the server leads. */
    CELL_ASK = 1,
    /* Make @id at @address a voter, in place of the member there. */
    CELL_JOIN,
    /* Remove @id, or (0) the member at @address. */
    CELL_REMOVE,
    /* Let that member lead. */
    CELL_LEAD,
};

struct cell_request {
    uint64_t cell; /* Hash of its name; 0: whatever it is called. */
    enum cell_verb verb;
    uint64_t id;
    char address[256];
};

struct cell_view {
    struct replica_status status;
    uint64_t list; /* A hash of the first members that it was given. */
};

/* Append the bytes of a request. */
void cell_request_put(const struct cell_request *q, struct buf *out);
/* Read a request. Errors: ERR_CORRUPT. */
MUST_CHECK int
cell_request_get(struct slice bytes, struct cell_request *out, struct err *err);
/* Append the bytes of an answer to CELL_ASK. */
void cell_view_put(const struct cell_view *v, struct buf *out);
/* Read one. Errors: ERR_CORRUPT. */
MUST_CHECK int
cell_view_get(struct slice bytes, struct cell_view *out, struct err *err);

/* Ask the server at @to, by a connection of its own, for at most @timeout_us.
 * @view may be NULL; it is filled for CELL_ASK. Parks. Errors: of the
 * connection and the call; ERR_UNAVAILABLE with a replica_leader_hint(): it
 * does not lead; ERR_CORRUPT. */
MUST_CHECK int cell_call(const char *to,
                         const struct rpc_security *security,
                         uint32_t method,
                         uint64_t timeout_us,
                         const struct cell_request *q,
                         struct cell_view *view,
                         struct err *err);

#endif /* BASE_REPLICA_CELL_CALL_H */
