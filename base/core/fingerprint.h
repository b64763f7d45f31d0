/* Fingerprint2011, the 64-bit hash function by which Google's sketches of
 * unique counts tell values apart: a sketch made here can be merged with one
 * that was made elsewhere only if both hash alike. For everything else there is
 * hash.h, which is faster.
 *
 * Threads: pure functions.
 */
#ifndef BASE_CORE_FINGERPRINT_H
#define BASE_CORE_FINGERPRINT_H

#include <stdint.h>

#include "base/core/slice.h"

/* Never 0 or 1. */
uint64_t fingerprint2011(struct slice bytes);
/* Of the eight bytes of @n, least significant first. */
uint64_t fingerprint2011_int64(int64_t n);

#endif /* BASE_CORE_FINGERPRINT_H */
