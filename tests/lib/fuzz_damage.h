/* Damage that a fuzzer's input asks for, in bytes that the fuzzer has made. */
#ifndef TESTS_LIB_FUZZ_DAMAGE_H
#define TESTS_LIB_FUZZ_DAMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/slice.h"

/* @how is changes of three bytes: a place (le16, modulo the length), and what
 * the byte there is combined with. Is @b another than before? */
static inline bool fuzz_damage(struct slice how, struct buf *b)
{
    struct buf before = BUF_INIT;
    bool changed;
    buf_append_slice(&before, buf_slice(b));
    for (size_t i = 0; i + 3 <= how.len && b->len > 0; i += 3) {
        size_t at = ((unsigned char)how.data[i] |
                     (size_t)(unsigned char)how.data[i + 1] << 8) %
                    b->len;
        b->data[at] = (char)(b->data[at] ^ how.data[i + 2]);
    }
    changed = !slice_eq(buf_slice(&before), buf_slice(b));
    buf_close(&before);
    return changed;
}

#endif /* TESTS_LIB_FUZZ_DAMAGE_H */
