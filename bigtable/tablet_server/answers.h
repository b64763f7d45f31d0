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
#include <stdint.h>

struct answers;
struct rpc_call;

#define ANSWERS_MAX 65536
/* Those of more bytes are not kept: such a call would be done again. */
#define ANSWER_KEPT_BYTES_MAX ((size_t)64 << 10)
#define ANSWERS_BYTES_MAX     ((size_t)64 << 20)

struct answers *answers_new(void);
void answers_free(struct answers *a); /* NULL is allowed. */

/* True: @call was answered before, and has been given that answer. False: it is
 * to be done; end it with answers_end(). A call with the same key that is being
 * done is waited for. Parks. */
bool answers_begin(struct answers *a, struct rpc_call *call);
/* @call was done, with success or not: an answer is kept if @success. */
void answers_end(struct answers *a, struct rpc_call *call, bool success);

#endif /* BIGTABLE_TABLET_SERVER_ANSWERS_H */
