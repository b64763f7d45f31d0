/* A buffer behaves like a long array that is appended to and cut. */
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/core/rand.h"
#include "tests/lib/check_main.h"

enum {
    MODEL_BYTES = 1 << 20
};

/* Random appends of every kind, consumption and truncation. */
START_TEST(test_model)
{
    char *model = malloc(MODEL_BYTES);
    size_t len = 0;
    struct buf b = BUF_INIT;
    struct rand_gen r;
    rand_init(&r, test_seed());
    for (int i = 0; i < 5000; i++) {
        char text[300];
        size_t n = rand_below(&r, sizeof(text));
        memset(text, (int)('a' + rand_below(&r, 26)), sizeof(text));
        if (len + sizeof(text) > MODEL_BYTES)
            break;
        switch (rand_below(&r, 6)) {
        case 0: buf_append(&b, text, n); break;
        case 1: buf_append_fill(&b, text[0], n); break;
        case 2:
            text[n] = '\0';
            buf_printf(&b, "%s", text);
            break;
        case 3:
            n = n ? 1 : 0;
            if (n)
                buf_append_byte(&b, text[0]);
            break;
        case 4:
            n = rand_below(&r, len + 1);
            buf_consume(&b, n);
            memmove(model, model + n, len - n);
            len -= n;
            n = 0;
            break;
        default:
            len = rand_below(&r, len + 1);
            buf_truncate(&b, len);
            n = 0;
        }
        memcpy(model + len, text, n);
        len += n;
        ck_assert_uint_eq(b.len, len);
        ck_assert(len == 0 || memcmp(b.data, model, len) == 0);
    }
    buf_close(&b);
    free(model);
}

END_TEST

/* buf_take() gives a C string of its own, and the buffer starts over. */
START_TEST(test_take)
{
    struct buf b = BUF_INIT;
    char *s;
    buf_append_str(&b, "abc");
    ck_assert_str_eq(buf_cstr(&b), "abc");
    s = buf_take(&b);
    ck_assert_str_eq(s, "abc");
    ck_assert(b.len == 0 && b.data == NULL);
    ck_assert_uint_eq(buf_slice(&b).len, 0);
    mem_free(s);
    s = buf_take(&b); /* Of an empty one too. */
    ck_assert_str_eq(s, "");
    mem_free(s);
}

END_TEST

TEST_MAIN("buf", test_model, test_take)
