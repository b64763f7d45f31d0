/* Look-ups of single rows and cells, as clients send them. */
#ifndef TESTS_UNIT_TABLET_SERVER_LOOK_UPS_H
#define TESTS_UNIT_TABLET_SERVER_LOOK_UPS_H

#include "base/core/coding.h"
#include "bigtable/wire/data_calls.h"
#include "tests/unit/tablet_server/fixture.h"

/* Look up @count rows and cells. Fills @codes, and appends an answer to each,
 * as an lslice; the first failure is copied to @first (may be NULL). */
static inline int look_up_each(struct node *n,
                               const struct row_lookup *l,
                               uint32_t count,
                               int32_t *codes,
                               struct buf *answers,
                               struct err *first,
                               struct err *err)
{
    const struct each_request r = {.count = count};
    struct buf body = BUF_INIT, items = BUF_INIT, reply = BUF_INIT;
    struct apply_reply a;
    struct arena arena;
    int rc;
    arena_init(&arena);
    each_request_put(&r, &body);
    for (uint32_t i = 0; i < count; i++)
        row_lookup_put(&l[i], &items);
    rc = call(n, TABLET_READ_EACH, &body, buf_slice(&items), &reply, answers,
              err);
    if (rc == 0)
        rc = apply_reply_get(buf_slice(&reply), &arena, &a, err);
    if (rc == 0) {
        ck_assert_uint_eq(a.count, count);
        memcpy(codes, a.codes, count * sizeof(*codes));
        if (first)
            *first = a.first;
    }
    buf_close(&body);
    buf_close(&items);
    buf_close(&reply);
    arena_close(&arena);
    return rc;
}

/* One of them; its answer is appended to @out. */
static inline int look_up(struct node *n,
                          const struct row_lookup *l,
                          struct buf *out,
                          struct err *err)
{
    struct buf answers = BUF_INIT;
    struct err first = ERR_INIT;
    struct cursor c;
    int32_t code = 0;
    int rc = look_up_each(n, l, 1, &code, &answers, &first, err);
    c = cursor_make(buf_slice(&answers));
    if (rc == 0 && code)
        rc = err_copy(err, &first);
    if (rc == 0)
        buf_append_slice(out, cursor_lslice(&c));
    buf_close(&answers);
    return rc;
}

#endif /* TESTS_UNIT_TABLET_SERVER_LOOK_UPS_H */
