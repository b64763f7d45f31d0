/* A bounded queue of pointers between fibers and threads, first in first out.
 *
 * A sender waits while it is full, a receiver while it is empty. Closing it
 * lets receivers drain what is there and refuses senders. What is still inside
 * when it is freed is the caller's to know.
 *
 * Threads: any; many senders and receivers.
 */
#ifndef BASE_RUNTIME_CHANNEL_H
#define BASE_RUNTIME_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/core/err.h"

struct channel;

/* Room for @capacity items, at least one. Owned. */
struct channel *channel_new(size_t capacity);
/* PRE: nobody waits. NULL is allowed. */
void channel_free(struct channel *c);

/* Put @item in; its ownership moves on success. Parks while the channel is
 * full. Errors: ERR_CLOSED; on a fiber also ERR_DEADLINE, ERR_CANCELLED. */
MUST_CHECK int channel_send(struct channel *c, void *item, struct err *err);
/* The same without waiting: false when it is full or closed. */
bool channel_try_send(struct channel *c, void *item);

/* Take the oldest item. Parks while the channel is empty.
 * Errors: ERR_CLOSED once closed and empty; on a fiber also ERR_DEADLINE,
 * ERR_CANCELLED. */
MUST_CHECK int channel_receive(struct channel *c, void **item, struct err *err);
/* The same without waiting: false when there is none. */
bool channel_try_receive(struct channel *c, void **item);

/* No more items come. Any number of times. */
void channel_close(struct channel *c);
size_t channel_count(struct channel *c); /* Items inside now. */

#endif /* BASE_RUNTIME_CHANNEL_H */
