/* Rows that share their memory, beside mutations that have their own. */
#include <string.h>

#include "base/core/rand.h"
#include "bigtable/gateway/row_batch.h"
#include "bigtable/row/mutation.h"
#include "tests/lib/check_main.h"

enum {
    ROUNDS = 300,
    ROWS_MAX = 40,
    OPS_MAX = 6,
    NAME_MAX_BYTES = 300,
    IN_PLACE_BYTES = 2000
};

static char text[300000]; /* Rows, names and values are cut from this. */

static struct slice some(struct rand_gen *r, size_t max)
{
    size_t len = rand_below(r, (uint32_t)max + 1);
    return slice_make(text + rand_below(r, 1000), len);
}

/* One operation, which is sometimes refused: to both of them. Its names and
 * value have random sizes. */
static size_t
add_op(struct rand_gen *r, struct quarry_mutation *a, struct quarry_mutation *b)
{
    struct slice family = some(r, 70);
    struct slice qualifier = some(r, NAME_MAX_BYTES);
    struct slice value = some(r, rand_below(r, 10) ? 100 : 200000);
    int64_t time = (int64_t)rand_below(r, 1000);
    switch (rand_below(r, 4)) {
    case 0:
        mutation_delete_cells(a, family, qualifier, time, time * 2);
        mutation_delete_cells(b, family, qualifier, time, time * 2);
        break;
    case 1:
        mutation_delete_family(a, family);
        mutation_delete_family(b, family);
        break;
    case 2:
        mutation_delete_row(a);
        mutation_delete_row(b);
        break;
    default:
        mutation_set(a, family, qualifier, time, value);
        mutation_set(b, family, qualifier, time, value);
    }
    return family.len + qualifier.len + value.len;
}

/* The bytes that the operations of a row will have: its own run of random
 * numbers tells them beforehand. */
static size_t op_bytes(uint64_t seed, size_t count)
{
    struct rand_gen r;
    struct quarry_mutation m[2];
    size_t bytes = 0;
    rand_init(&r, seed);
    mutation_init(&m[0], slice_str("r"));
    mutation_init(&m[1], slice_str("r"));
    for (size_t i = 0; i < count; i++)
        bytes += add_op(&r, &m[0], &m[1]);
    mutation_close(&m[0]);
    mutation_close(&m[1]);
    return bytes;
}

/* Operations of a row that lie outside of the batch. */
static void set_elsewhere(struct rand_gen *r,
                          struct quarry_mutation *a,
                          struct quarry_mutation *b)
{
    static char rooms[ROWS_MAX][IN_PLACE_BYTES];
    static size_t next;
    char *room = rooms[next++ % ROWS_MAX];
    size_t head = 40 + rand_below(r, 30);
    struct slice value =
        slice_make(room + head, 1 + rand_below(r, IN_PLACE_BYTES - head));
    struct slice name = slice_make(text, rand_below(r, 10));
    memcpy(room + head, text + rand_below(r, 1000), value.len);
    mutation_set(b, name, name, 7, value);
    if (b->error)
        mutation_set(a, name, name, 7, value);
    else
        ck_assert(mutation_set_in_place(a, name, name, 7, room, value));
}

static bool fill_row(struct row_batch *batch,
                     struct quarry_mutation *model,
                     struct rand_gen *r)
{
    struct slice row = some(r, rand_below(r, 20) ? 50 : 70000);
    size_t count = rand_below(r, OPS_MAX + 1);
    uint64_t seed = rand_u64(r);
    bool good = rand_below(r, 4) > 0;
    size_t bytes = op_bytes(seed, count);
    struct quarry_mutation *m = row_batch_begin(batch, row, count, bytes);
    struct rand_gen ops;
    mutation_init(model, row);
    rand_init(&ops, seed);
    if (rand_below(r, 3) == 0) {
        set_elsewhere(r, m, model);
    } else {
        for (size_t i = 0; i < count; i++)
            add_op(&ops, m, model);
    }
    row_batch_end(batch, good);
    if (!good)
        mutation_close(model);
    return good;
}

static void check_row(const struct quarry_mutation *m,
                      const struct quarry_mutation *model)
{
    struct err err = ERR_INIT;
    struct err expected = ERR_INIT;
    ck_assert_int_eq(mutation_check(m, &err), mutation_check(model, &expected));
    ck_assert_str_eq(err.text, expected.text);
    ck_assert_uint_eq(m->count, model->count);
    ck_assert(slice_eq(buf_slice(&m->ops), buf_slice(&model->ops)));
    if (!model->error)
        ck_assert(slice_eq(buf_slice(&m->row), buf_slice(&model->row)));
}

static void check_round(struct row_batch_pool *pool, struct rand_gen *r)
{
    struct quarry_mutation models[ROWS_MAX];
    size_t rows = 1 + rand_below(r, ROWS_MAX);
    size_t count = 0;
    struct row_batch *b = row_batch_take(pool, rows);
    for (size_t i = 0; i < rows; i++)
        count += fill_row(b, &models[count], r);
    ck_assert_uint_eq(row_batch_count(b), count);
    for (size_t i = 0; i < count; i++) {
        check_row(row_batch_rows(b)[i], &models[i]);
        mutation_close(&models[i]);
    }
    row_batch_give(pool, b);
}

/* Rows of a batch, the refused among them left out, are what mutations with
 * memory of their own are; also in a batch that was used before. */
START_TEST(test_rows)
{
    struct row_batch_pool *pool = row_batch_pool_new();
    struct rand_gen r;
    rand_init(&r, test_seed());
    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = (char)rand_below(&r, 256);
    for (int i = 0; i < ROUNDS; i++)
        check_round(pool, &r);
    row_batch_pool_free(pool);
}

END_TEST

TEST_MAIN("row batch", test_rows)
