/* Look-ups of rows and cells, many in one call to a tablet server: each has the
 * outcome it would have alone. */
#include "base/core/rand.h"
#include "tests/unit/tablet_server/look_ups.h"

enum {
    LOOKUPS_MAX = 300,
    ROUNDS = 40
};

static void run(task_fn scenario)
{
    start_cluster(1);
    server_options.rows = fake_metadata();
    sim_cluster_run(cluster, scenario, NULL);
    forget_rows();
    free_cluster();
}

/* Tablets 5, up to "m", and 6, behind, of which every other letter has a row:
 * its value is the letter. */
static void fill(struct node *a)
{
    make_table();
    make_tablet(5, "", "m", a, 1);
    make_tablet(6, "m", "", a, 1);
    OK(order_of(a, TABLET_LOAD, "m", err));
    OK(order_of(a, TABLET_LOAD, "", err));
    for (char c = 'a'; c <= 'z'; c = (char)(c + 2)) {
        char row[2] = {c, '\0'};
        OK(put(a, c < 'm' ? 5 : 6, row, row, err));
    }
}

struct query {
    struct row_lookup l;
    char row[2];
    int code;   /* The expected outcome. */
    bool found; /* Its answer is not empty. */
};

/* A look-up, seldom with a mistake in it. */
static void
make_query(struct rand_gen *r, const struct slice *options, struct query *q)
{
    unsigned kind = (unsigned)rand_below(r, 3);
    char c = (char)('a' + rand_below(r, 26));
    *q = (struct query){.row = {c, '\0'}};
    q->found = (c - 'a') % 2 == 0;
    q->l = (struct row_lookup){.tablet = c < 'm' ? 5 : 6,
                               .row = slice_make(q->row, 1),
                               .is_cell = kind == 0,
                               .options = options[kind]};
    if (q->l.is_cell) {
        q->l.family = SLICE_LIT("t");
        q->l.qualifier = SLICE_LIT("v");
    }
    if (rand_one_in(r, 8)) {
        q->l.tablet = 4 + rand_below(r, 4);
        if (q->l.tablet != (c < 'm' ? 5U : 6U))
            q->code = ERR_NOTFOUND;
    } else if (rand_one_in(r, 12)) {
        q->l.generation = 99;
        q->code = ERR_UNAVAILABLE;
    } else if (q->l.is_cell && rand_one_in(r, 8)) {
        q->l.family = SLICE_LIT("none");
        q->code = ERR_NOTFOUND;
    }
}

static void expect_answer(const struct query *q, struct slice answer)
{
    const struct quarry_row *row;
    struct cell_answer cell;
    struct row_decoder d;
    ck_assert_int_eq(answer.len > 0, q->code == 0 && q->found);
    if (answer.len == 0)
        return;
    if (q->l.is_cell) {
        OK(cell_answer_get(answer, &cell, err));
        ck_assert(slice_eq_str(cell.value, q->row));
        return;
    }
    row_decoder_init(&d, answer);
    OK(row_decoder_next(&d, &row, err));
    ck_assert(slice_eq_str(row->key, q->row));
    ck_assert_uint_eq(row->cell_count, 1);
    ck_assert(slice_eq_str(row->cells[0].value, q->row));
    OK(row_decoder_next(&d, &row, err));
    ck_assert_ptr_null(row);
    row_decoder_close(&d);
}

static void ask(struct node *n, const struct query *q, uint32_t count)
{
    static struct row_lookup l[LOOKUPS_MAX];
    static int32_t codes[LOOKUPS_MAX];
    struct buf answers = BUF_INIT;
    struct cursor c;
    for (uint32_t i = 0; i < count; i++)
        l[i] = q[i].l;
    OK(look_up_each(n, l, count, codes, &answers, NULL, err));
    c = cursor_make(buf_slice(&answers));
    for (uint32_t i = 0; i < count; i++) {
        ck_assert_msg(codes[i] == q[i].code, "%u: %d, not %d, of row %s", i,
                      codes[i], q[i].code, q[i].row);
        expect_answer(&q[i], cursor_lslice(&c));
    }
    ck_assert(!c.bad && cursor_left(&c) == 0);
    buf_close(&answers);
}

static void any_lookups(void *arg)
{
    static struct query queries[LOOKUPS_MAX];
    const char *family = "t";
    const struct quarry_read_options all = {.versions = 0};
    const struct quarry_read_options one = {
        .families = &family, .family_count = 1, .versions = 1};
    struct buf bytes[2] = {BUF_INIT, BUF_INIT};
    struct slice options[3];
    struct node *a = &nodes[0];
    struct rand_gen r;
    (void)arg;
    begin();
    boot(a);
    fill(a);
    rand_init(&r, test_seed());
    read_options_put(&all, &bytes[0]);
    read_options_put(&one, &bytes[1]);
    options[0] = SLICE_EMPTY;
    options[1] = buf_slice(&bytes[0]);
    options[2] = buf_slice(&bytes[1]);
    for (int round = 0; round < ROUNDS; round++) {
        uint32_t count = 1 + (uint32_t)rand_below(&r, LOOKUPS_MAX);
        for (uint32_t i = 0; i < count; i++)
            make_query(&r, options, &queries[i]);
        ask(a, queries, count);
    }
    buf_close(&bytes[0]);
    buf_close(&bytes[1]);
    end();
}

/* Whatever is asked for together, with rows asked for twice, rows that are not
 * there, other tablets', unknown families and schemas to come among them, each
 * look-up has its own code and answer. */
START_TEST(test_each_has_its_outcome)
{
    run(any_lookups);
}

END_TEST

static void large_rows(void *arg)
{
    static char value[(1 << 20) + 1];
    static struct row_lookup l[12];
    const struct quarry_read_options o = {.versions = 0};
    struct buf options = BUF_INIT, answers = BUF_INIT;
    struct node *a = &nodes[0];
    int32_t codes[12];
    uint32_t good = 0;
    (void)arg;
    begin();
    boot(a);
    make_table();
    make_tablet(5, "", "", a, 1);
    OK(order_of(a, TABLET_LOAD, "", err));
    memset(value, 'v', sizeof(value) - 1);
    OK(put(a, 5, "big", value, err));
    read_options_put(&o, &options);
    for (int i = 0; i < 12; i++)
        l[i] = (struct row_lookup){.tablet = 5,
                                   .row = SLICE_LIT("big"),
                                   .options = buf_slice(&options)};
    OK(look_up_each(a, l, 12, codes, &answers, NULL, err));
    for (int i = 0; i < 12; i++) {
        good += codes[i] == 0;
        ck_assert(codes[i] == 0 || codes[i] == ERR_TOOBIG);
    }
    ck_assert_uint_ge(good, 4);
    ck_assert_uint_lt(good, 12);
    ck_assert_uint_lt(answers.len, (good + 1) << 20);
    buf_close(&options);
    buf_close(&answers);
    end();
}

/* An answer does not grow without end: what has no room is said to be left out.
 */
START_TEST(test_answers_are_bounded)
{
    run(large_rows);
}

END_TEST

static void malformed(void *arg)
{
    struct each_request r = {.count = 2};
    struct row_lookup l = {.tablet = 5, .row = SLICE_LIT("r")};
    struct buf body = BUF_INIT, items = BUF_INIT, reply = BUF_INIT;
    struct node *a = &nodes[0];
    (void)arg;
    begin();
    boot(a);
    fill(a);
    each_request_put(&r, &body);
    row_lookup_put(&l, &items);
    ck_assert_int_eq(
        call(a, TABLET_READ_EACH, &body, buf_slice(&items), &reply, NULL, NULL),
        ERR_CORRUPT); /* One is missing. */
    row_lookup_put(&l, &items);
    row_lookup_put(&l, &items);
    ck_assert_int_eq(
        call(a, TABLET_READ_EACH, &body, buf_slice(&items), &reply, NULL, NULL),
        ERR_CORRUPT);
    r.count = EACH_LOOKUPS_MAX + 1;
    buf_clear(&body);
    each_request_put(&r, &body);
    ck_assert_int_eq(
        call(a, TABLET_READ_EACH, &body, buf_slice(&items), &reply, NULL, NULL),
        ERR_INVALID);
    buf_close(&body);
    buf_close(&items);
    buf_close(&reply);
    end();
}

/* Requests that say something else than their attachment has are refused. */
START_TEST(test_malformed)
{
    run(malformed);
}

END_TEST

TEST_MAIN("read_each",
          test_each_has_its_outcome,
          test_answers_are_bounded,
          test_malformed)
