/* Half-open ranges of keys in memcmp order, and their intersection. Pure;
 * nothing is owned.
 *
 * Several options that narrow rows (a prefix, a start, an end) mean the rows
 * that satisfy all of them: one intersection serves all commands, specs and
 * calls.
 */
#ifndef BASE_CORE_KEY_RANGE_H
#define BASE_CORE_KEY_RANGE_H

#include <stdbool.h>

#include "base/core/buf.h"
#include "base/core/slice.h"

struct key_range {
    struct slice start; /* Inclusive; empty: from the first key. Borrowed. */
    struct slice end;   /* Exclusive; empty: to the last key. Borrowed. */
};

/* Contains no key, and neither does its intersection with any range. */
#define KEY_RANGE_NONE                                                         \
    ((struct key_range){SLICE_LIT("\xff\xff"), SLICE_LIT("\0")})

/* The keys that begin with @prefix. The end goes into @end, which is cleared
 * and must live as long as the range; the start borrows @prefix. */
struct key_range key_range_of_prefix(struct slice prefix, struct buf *end);

/* The keys in both. Borrows from both. */
struct key_range key_range_intersect(struct key_range a, struct key_range b);

bool key_range_is_empty(struct key_range r);
/* True if @key lies in @r: start <= key < end. */
bool key_range_has(struct key_range r, struct slice key);

#endif /* BASE_CORE_KEY_RANGE_H */
