/* The memory of an HTTP/2 session beside plain allocations. */
#include <stdlib.h>
#include <string.h>

#include "base/core/rand.h"
#include "bigtable/gateway/session_memory.h"
#include "tests/lib/check_main.h"

enum {
    PIECES = 200,
    STEPS = 20000,
    SMALL = 300,
    LARGE = 3 * SESSION_MEMORY_STEP * SESSION_MEMORY_CLASSES
};

struct held {
    char *data;
    size_t size;
    char fill;
};

static void check_held(const struct held *h)
{
    size_t good = 0;
    while (good < h->size && h->data[good] == h->fill)
        good++;
    ck_assert_uint_eq(good, h->size);
}

static size_t random_size(struct rand_gen *r)
{
    return 1 + rand_below(r, rand_below(r, 8) ? SMALL : LARGE);
}

static void take(struct held *h, const nghttp2_mem *m, struct rand_gen *r)
{
    h->size = random_size(r);
    if (rand_below(r, 2)) {
        h->data = m->malloc(h->size, m->mem_user_data);
    } else {
        h->data = m->calloc(1, h->size, m->mem_user_data);
        h->fill = 0;
        check_held(h);
    }
    ck_assert_ptr_nonnull(h->data);
    ck_assert_uint_eq((uintptr_t)h->data % 16, 0);
}

static void grow(struct held *h, const nghttp2_mem *m, struct rand_gen *r)
{
    size_t size = random_size(r);
    h->data = m->realloc(h->data, size, m->mem_user_data);
    ck_assert_ptr_nonnull(h->data);
    h->size = size < h->size ? size : h->size;
    check_held(h);
    h->size = size;
}

/* Pieces keep their contents, whatever else the session allocates, resizes and
 * frees; zeroed pieces are zero; and all memory is returned. */
START_TEST(test_pieces_are_their_owners)
{
    struct session_memory memory = {.idle_bytes = 0};
    nghttp2_mem m = session_memory_of(&memory);
    static struct held held[PIECES];
    struct rand_gen r;
    memset(held, 0, sizeof(held));
    rand_init(&r, test_seed());
    for (int i = 0; i < STEPS; i++) {
        struct held *h = &held[rand_below(&r, PIECES)];
        if (!h->data) {
            take(h, &m, &r);
        } else {
            check_held(h);
            if (rand_below(&r, 4) == 0) {
                grow(h, &m, &r);
            } else {
                m.free(h->data, m.mem_user_data);
                h->data = NULL;
                continue;
            }
        }
        h->fill = (char)(1 + rand_below(&r, 100));
        memset(h->data, h->fill, h->size);
    }
    for (int i = 0; i < PIECES; i++)
        m.free(held[i].data, m.mem_user_data);
    m.free(NULL, m.mem_user_data);
    session_memory_close(&memory);
    ck_assert_uint_eq(memory.idle_bytes, 0);
}

END_TEST

/* More than there can be is refused, not given in part. */
START_TEST(test_impossible_sizes_are_refused)
{
    struct session_memory memory = {.idle_bytes = 0};
    nghttp2_mem m = session_memory_of(&memory);
    ck_assert_ptr_null(m.malloc(SIZE_MAX - 3, m.mem_user_data));
    ck_assert_ptr_null(m.calloc(SIZE_MAX / 2, 4, m.mem_user_data));
    session_memory_close(&memory);
}

END_TEST

TEST_MAIN("session_memory",
          test_pieces_are_their_owners,
          test_impossible_sizes_are_refused)
