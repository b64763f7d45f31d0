/* For fuzzers of messages: what reads well is written and read again, to the
 * same bytes. */
#ifndef TESTS_LIB_FUZZ_AGAIN_H
#define TESTS_LIB_FUZZ_AGAIN_H

#include <stdlib.h>

#include "base/core/buf.h"

/* TYPE_get, TYPE_put, TYPE_get, TYPE_put: what was put twice is equal. */
#define FUZZ_AGAIN(type, in)                                                   \
    do {                                                                       \
        static struct type m;                                                  \
        struct buf one = BUF_INIT, two = BUF_INIT;                             \
        if (type##_get(in, &m, NULL) == 0) {                                   \
            type##_put(&m, &one);                                              \
            if (type##_get(buf_slice(&one), &m, NULL) != 0)                    \
                abort();                                                       \
            type##_put(&m, &two);                                              \
            if (!slice_eq(buf_slice(&one), buf_slice(&two)))                   \
                abort();                                                       \
        }                                                                      \
        buf_close(&one);                                                       \
        buf_close(&two);                                                       \
    } while (0)

#endif /* TESTS_LIB_FUZZ_AGAIN_H */
