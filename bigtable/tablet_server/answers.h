/* Answers that were given to calls with an idempotency key: a call that is made
 * again, because its answer was lost on the way, gets the same one, and nothing
 * is done twice.
 *
 * Of the last ANSWERS_MAX such calls, as far as this process lived.
 *
 * Threads: one loop. What parks says so.
 */
#ifndef BIGTABLE_TABLET_SERVER_ANSWERS_H
#define BIGTABLE_TABLET_SERVER_ANSWERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"

struct answers;
struct rpc_call;

#define ANSWERS_MAX 65536
/* Of longer ones only is kept that they were given. */
#define ANSWER_KEPT_BYTES_MAX ((size_t)64 << 10)
#define ANSWERS_BYTES_MAX     ((size_t)64 << 20)

struct answers *answers_new(void);
void answers_free(struct answers *a); /* NULL is allowed. */

/* *@known: @call was answered before, and has been given that answer. Else it
 * is to be done; end it with answers_end(). A call with the same key that is
 * being done is waited for. Parks. Errors: ERR_ABORTED: it was done before, and
 * its answer was too long to be kept. */
MUST_CHECK int answers_begin(struct answers *a,
                             struct rpc_call *call,
                             bool *known,
                             struct err *err);
/* @call was done, with success or not: an answer is kept if @success. */
void answers_end(struct answers *a, struct rpc_call *call, bool success);

#endif /* BIGTABLE_TABLET_SERVER_ANSWERS_H */
