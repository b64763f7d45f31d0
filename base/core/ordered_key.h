/* Values as bytes whose memcmp order is the values' order, so that several make
 * one key that sorts by the first, then the second, and so on.
 *
 *     bytes     each 00 becomes 00 ff, and 00 01 ends the string
 *     integers  eight bytes, big endian; signed ones with the sign bit flipped
 *     doubles   IEEE bits, big endian; sign bit flipped, all bits if negative.
 *               -0 sorts just below +0, NaNs beyond the infinities of their
 * sign
 *
 * For descending order the encoding's bytes are complemented.
 */
#ifndef BASE_CORE_ORDERED_KEY_H
#define BASE_CORE_ORDERED_KEY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/slice.h"

struct buf;
struct cursor;

enum key_order {
    KEY_ASCENDING,
    KEY_DESCENDING
};

void ordered_put_bytes(struct buf *b, struct slice s, enum key_order order);
void ordered_put_u64(struct buf *b, uint64_t v, enum key_order order);
void ordered_put_i64(struct buf *b, int64_t v, enum key_order order);
void ordered_put_double(struct buf *b, double v, enum key_order order);

/* Read back; a malformed key sets c->bad and gives zeros. Bytes are appended to
 * @out. */
void ordered_get_bytes(struct cursor *c, struct buf *out, enum key_order order);
uint64_t ordered_get_u64(struct cursor *c, enum key_order order);
int64_t ordered_get_i64(struct cursor *c, enum key_order order);
double ordered_get_double(struct cursor *c, enum key_order order);

#endif /* BASE_CORE_ORDERED_KEY_H */
