/* Bodies and attachments of the calls that read and write rows. */
#include <stdlib.h>

#include "base/core/arena.h"
#include "base/core/panic.h"
#include "base/core/rand.h"
#include "bigtable/quarry.h"
#include "bigtable/row/filter.h"
#include "bigtable/row/schema.h"
#include "bigtable/wire/data_calls.h"
#include "tests/lib/check_main.h"

#define ROUNDS 300

/* --- things by chance ---------------------------------------------------- */

struct maker {
    struct rand_gen rand;
    struct arena arena;
};

static void maker_init(struct maker *m)
{
    rand_init(&m->rand, test_seed());
    arena_init(&m->arena);
}

static struct slice any_bytes(struct maker *m, size_t max)
{
    size_t n = rand_below(&m->rand, max + 1);
    char *p = arena_alloc(&m->arena, n + 1);
    for (size_t i = 0; i < n; i++)
        p[i] = (char)rand_u64(&m->rand);
    return slice_make(p, n);
}

static const char *any_text(struct maker *m)
{
    size_t n = rand_below(&m->rand, 12);
    char *p = arena_zalloc(&m->arena, n + 1);
    for (size_t i = 0; i < n; i++)
        p[i] = (char)('a' + rand_below(&m->rand, 26));
    return p;
}

static uint64_t any_u64(struct maker *m)
{
    return rand_u64(&m->rand) >> rand_below(&m->rand, 64);
}

static bool any_bool(struct maker *m)
{
    return rand_one_in(&m->rand, 2);
}

static struct quarry_read_options any_options(struct maker *m)
{
    struct quarry_read_options o = {.versions = (uint32_t)any_u64(m)};
    struct quarry_range *ranges = arena_zalloc(&m->arena, 5 * sizeof(*ranges));
    struct slice *keys = arena_zalloc(&m->arena, 5 * sizeof(*keys));
    const char **families = arena_zalloc(&m->arena, 5 * sizeof(*families));
    o.range_count = rand_below(&m->rand, 5);
    o.key_count = rand_below(&m->rand, 5);
    o.family_count = rand_below(&m->rand, 5);
    for (size_t i = 0; i < 5; i++) {
        ranges[i] = (struct quarry_range){any_bytes(m, 9), any_bytes(m, 9)};
        keys[i] = any_bytes(m, 300);
        families[i] = any_text(m);
    }
    o.ranges = ranges;
    o.keys = keys;
    o.families = families;
    o.column_regex = any_bool(m) ? any_text(m) : NULL;
    o.time_min_us = (int64_t)any_u64(m);
    o.time_max_us = -(int64_t)(any_u64(m) >> 1);
    o.row_limit = any_u64(m);
    o.keys_only = any_bool(m);
    o.program = any_bool(m) ? any_text(m) : NULL;
    o.program_len = o.program ? strlen(o.program) : 0;
    o.program_fuel = any_u64(m);
    o.read_ahead_off = any_bool(m);
    o.ordered = any_bool(m);
    return o;
}

static struct quarry_row any_row(struct maker *m)
{
    size_t n = rand_below(&m->rand, 8);
    struct quarry_cell *cells =
        arena_zalloc(&m->arena, (n + 1) * sizeof(*cells));
    for (size_t i = 0; i < n; i++) {
        bool same = i && any_bool(m);
        cells[i].family = same ? cells[i - 1].family : any_bytes(m, 3);
        cells[i].qualifier =
            same && any_bool(m) ? cells[i - 1].qualifier : any_bytes(m, 3);
        cells[i].timestamp_us = (int64_t)(rand_u64(&m->rand));
        cells[i].value = any_bytes(m, 200);
        cells[i].label = any_bool(m) ? any_bytes(m, 5) : SLICE_EMPTY;
    }
    return (struct quarry_row){any_bytes(m, 30), cells, n};
}

static void expect_row(const struct quarry_row *a, const struct quarry_row *b)
{
    ck_assert(slice_eq(a->key, b->key));
    ck_assert_uint_eq(a->cell_count, b->cell_count);
    for (size_t i = 0; i < a->cell_count; i++) {
        const struct quarry_cell *x = &a->cells[i];
        const struct quarry_cell *y = &b->cells[i];
        ck_assert(slice_eq(x->family, y->family));
        ck_assert(slice_eq(x->qualifier, y->qualifier));
        ck_assert_int_eq(x->timestamp_us, y->timestamp_us);
        ck_assert(slice_eq(x->value, y->value));
        ck_assert(slice_eq(x->label, y->label));
    }
}

/* --- bodies -------------------------------------------------------------- */

/* One kind of body: how chance makes one, and how it is read and written. */
struct kind {
    const char *name;
    void (*make)(struct maker *m, struct buf *out);
    /* Read, and write what was read; 0 or an error. */
    int (*copy)(struct slice in, struct arena *a, struct buf *out);
};

static void make_options(struct maker *m, struct buf *out)
{
    struct quarry_read_options o = any_options(m);
    struct quarry_filter *f = NULL;
    if (any_bool(m))
        f = filter_new_count(FILTER_COLUMN_LIMIT, 3);
    o.filter = f;
    read_options_put(&o, out);
    filter_unref(f);
}

static int copy_options(struct slice in, struct arena *a, struct buf *out)
{
    struct quarry_read_options o;
    int rc = read_options_get(in, a, &o, NULL);
    if (rc)
        return rc;
    read_options_put(&o, out);
    filter_unref((struct quarry_filter *)(uintptr_t)o.filter);
    return 0;
}

static void make_read(struct maker *m, struct buf *out)
{
    struct read_request r = {any_u64(m),       any_u64(m), any_bytes(m, 50),
                             any_bytes(m, 50), any_u64(m), (uint32_t)any_u64(m),
                             any_bool(m)};
    read_request_put(&r, out);
}

static int copy_read(struct slice in, struct arena *a, struct buf *out)
{
    struct read_request r;
    int rc = read_request_get(in, &r, NULL);
    (void)a;
    if (rc == 0)
        read_request_put(&r, out);
    return rc;
}

static void make_read_reply(struct maker *m, struct buf *out)
{
    struct read_reply r = {any_bool(m), any_bytes(m, 50), any_u64(m),
                           any_bytes(m, 50)};
    read_reply_put(&r, out);
}

static int copy_read_reply(struct slice in, struct arena *a, struct buf *out)
{
    struct read_reply r;
    int rc = read_reply_get(in, &r, NULL);
    (void)a;
    if (rc == 0)
        read_reply_put(&r, out);
    return rc;
}

static void make_each(struct maker *m, struct buf *out)
{
    struct each_request r = {(uint32_t)any_u64(m)};
    each_request_put(&r, out);
}

static int copy_each(struct slice in, struct arena *a, struct buf *out)
{
    struct each_request r;
    int rc = each_request_get(in, &r, NULL);
    (void)a;
    if (rc == 0)
        each_request_put(&r, out);
    return rc;
}

static void make_apply(struct maker *m, struct buf *out)
{
    struct apply_request r = {
        (uint8_t)any_u64(m), (uint32_t)any_u64(m), {any_u64(m), any_u64(m)}};
    apply_request_put(&r, out);
}

static int copy_apply(struct slice in, struct arena *a, struct buf *out)
{
    struct apply_request r;
    int rc = apply_request_get(in, &r, NULL);
    (void)a;
    if (rc == 0)
        apply_request_put(&r, out);
    return rc;
}

static void make_apply_reply(struct maker *m, struct buf *out)
{
    int32_t codes[] = {0, ERR_NOTFOUND, ERR_ABORTED, 0, INT32_MIN};
    struct apply_reply r = {.count = (uint32_t)rand_below(&m->rand, 6),
                            .codes = codes};
    if (r.count > 1) {
        err_set(&r.first, ERR_NOTFOUND, "%s", any_text(m));
        err_hint(&r.first, "%s", any_text(m));
        if (rand_one_in(&m->rand, 2))
            err_set_retry(&r.first, rand_below(&m->rand, ERR_RETRY_US_MAX));
        else if (rand_one_in(&m->rand, 2))
            err_set_detail(&r.first, ERR_DETAIL_NOT_LEADER, "host:7");
    }
    apply_reply_put(&r, out);
}

static int copy_apply_reply(struct slice in, struct arena *a, struct buf *out)
{
    struct apply_reply r;
    int rc = apply_reply_get(in, a, &r, NULL);
    if (rc == 0)
        apply_reply_put(&r, out);
    return rc;
}

static void make_check(struct maker *m, struct buf *out)
{
    struct check_request r = {.tablet = any_u64(m),
                              .durability = (uint8_t)any_u64(m),
                              .row = any_bytes(m, 50),
                              .has_filter = any_bool(m),
                              .has_true = any_bool(m),
                              .has_false = any_bool(m),
                              .origin = {any_u64(m), any_u64(m)},
                              .sequence = any_u64(m)};
    r.filter = r.has_filter ? any_bytes(m, 20) : SLICE_EMPTY;
    check_request_put(&r, out);
}

static int copy_check(struct slice in, struct arena *a, struct buf *out)
{
    struct check_request r;
    int rc = check_request_get(in, &r, NULL);
    (void)a;
    if (rc == 0)
        check_request_put(&r, out);
    return rc;
}

static void make_check_reply(struct maker *m, struct buf *out)
{
    struct check_reply r = {any_bool(m)};
    check_reply_put(&r, out);
}

static int copy_check_reply(struct slice in, struct arena *a, struct buf *out)
{
    struct check_reply r;
    int rc = check_reply_get(in, &r, NULL);
    (void)a;
    if (rc == 0)
        check_reply_put(&r, out);
    return rc;
}

static void make_modify(struct maker *m, struct buf *out)
{
    struct quarry_rmw_rule rules[4];
    struct modify_request r = {any_u64(m),
                               (uint8_t)any_u64(m),
                               any_bytes(m, 50),
                               rand_below(&m->rand, 5),
                               rules,
                               {any_u64(m), any_u64(m)},
                               any_u64(m)};
    for (size_t i = 0; i < 4; i++)
        rules[i] = (struct quarry_rmw_rule){
            any_bool(m) ? QUARRY_RMW_APPEND : QUARRY_RMW_INCREMENT, any_text(m),
            any_bytes(m, 9), any_bytes(m, 9), (int64_t)rand_u64(&m->rand)};
    modify_request_put(&r, out);
}

static int copy_modify(struct slice in, struct arena *a, struct buf *out)
{
    struct modify_request r;
    int rc = modify_request_get(in, a, &r, NULL);
    if (rc == 0)
        modify_request_put(&r, out);
    return rc;
}

static void make_run(struct maker *m, struct buf *out)
{
    struct run_request r = {.tablet = any_u64(m),
                            .generation = any_u64(m),
                            .options = any_bytes(m, 50),
                            .source = any_bytes(m, 500),
                            .from = any_bytes(m, 50),
                            .fuel = any_u64(m),
                            .memory_max = any_u64(m),
                            .limit_us = (uint32_t)any_u64(m)};
    r.settings =
        (struct run_settings){any_bool(m), any_bool(m), (uint32_t)any_u64(m),
                              any_u64(m),  any_bool(m), SLICE_EMPTY};
    if (r.settings.has_table_output)
        r.settings.table_output = slice_str(any_text(m));
    run_request_put(&r, out);
}

static int copy_run(struct slice in, struct arena *a, struct buf *out)
{
    struct run_request r;
    int rc = run_request_get(in, &r, NULL);
    (void)a;
    if (rc == 0)
        run_request_put(&r, out);
    return rc;
}

static void make_run_reply(struct maker *m, struct buf *out)
{
    struct run_reply r = {any_bool(m), any_bytes(m, 50), any_u64(m),
                          any_u64(m)};
    run_reply_put(&r, out);
}

static int copy_run_reply(struct slice in, struct arena *a, struct buf *out)
{
    struct run_reply r;
    int rc = run_reply_get(in, &r, NULL);
    (void)a;
    if (rc == 0)
        run_reply_put(&r, out);
    return rc;
}

static void make_cuts(struct maker *m, struct buf *out)
{
    struct cuts_request r = {any_u64(m), (uint32_t)any_u64(m)};
    cuts_request_put(&r, out);
}

static int copy_cuts(struct slice in, struct arena *a, struct buf *out)
{
    struct cuts_request r;
    int rc = cuts_request_get(in, &r, NULL);
    (void)a;
    if (rc == 0)
        cuts_request_put(&r, out);
    return rc;
}

static void make_keys(struct maker *m, struct buf *out)
{
    struct slice keys[] = {any_bytes(m, 9), any_bytes(m, 300), any_bytes(m, 9)};
    keys_put(keys, rand_below(&m->rand, 4), out);
}

static int copy_keys(struct slice in, struct arena *a, struct buf *out)
{
    struct slice *keys;
    size_t count;
    int rc = keys_get(in, a, &keys, &count, NULL);
    if (rc == 0)
        keys_put(keys, count, out);
    return rc;
}

static void make_description(struct maker *m, struct buf *out)
{
    struct group_load g[3];
    struct family_load f[3];
    struct describe_reply r = {any_u64(m), rand_below(&m->rand, 4),
                               g,          rand_below(&m->rand, 4),
                               f,          any_u64(m),
                               any_u64(m), any_u64(m)};
    for (size_t i = 0; i < r.family_count; i++)
        f[i] = (struct family_load){any_bytes(m, 9), any_u64(m), any_u64(m)};
    for (size_t i = 0; i < 3; i++)
        g[i] = (struct group_load){any_bytes(m, 9), any_u64(m), any_u64(m),
                                   any_u64(m), any_u64(m)};
    describe_reply_put(&r, out);
}

static int copy_description(struct slice in, struct arena *a, struct buf *out)
{
    struct describe_reply r;
    int rc = describe_reply_get(in, a, &r, NULL);
    if (rc == 0)
        describe_reply_put(&r, out);
    return rc;
}

static const struct kind kinds[] = {
    {"options", make_options, copy_options},
    {"read", make_read, copy_read},
    {"read reply", make_read_reply, copy_read_reply},
    {"each", make_each, copy_each},
    {"apply", make_apply, copy_apply},
    {"apply reply", make_apply_reply, copy_apply_reply},
    {"check", make_check, copy_check},
    {"check reply", make_check_reply, copy_check_reply},
    {"modify", make_modify, copy_modify},
    {"run", make_run, copy_run},
    {"run reply", make_run_reply, copy_run_reply},
    {"cuts", make_cuts, copy_cuts},
    {"keys", make_keys, copy_keys},
    {"description", make_description, copy_description},
};

/* A body that is read and written again is the same body. */
START_TEST(test_bodies_read_and_written_again_are_the_same)
{
    struct maker m;
    struct buf first = BUF_INIT;
    struct buf again = BUF_INIT;
    maker_init(&m);
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++)
        for (int round = 0; round < ROUNDS; round++) {
            arena_reset(&m.arena);
            buf_clear(&first);
            buf_clear(&again);
            kinds[k].make(&m, &first);
            ck_assert_msg(kinds[k].copy(buf_slice(&first), &m.arena, &again) ==
                              0,
                          "%s", kinds[k].name);
            ck_assert_msg(slice_eq(buf_slice(&first), buf_slice(&again)), "%s",
                          kinds[k].name);
        }
    buf_close(&first);
    buf_close(&again);
    arena_close(&m.arena);
}

END_TEST

/* A body cut short anywhere is corrupt, and one with a byte behind it too. */
START_TEST(test_bodies_cut_or_prolonged_are_refused)
{
    struct maker m;
    struct buf body = BUF_INIT;
    struct buf out = BUF_INIT;
    maker_init(&m);
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++)
        for (int round = 0; round < 20; round++) {
            arena_reset(&m.arena);
            buf_clear(&body);
            kinds[k].make(&m, &body);
            for (size_t n = 0; n < body.len; n++) {
                /* On the heap, so that a reader that overruns is caught. */
                char *cut = mem_alloc(n);
                memcpy(cut, body.data, n);
                ck_assert_int_eq(
                    kinds[k].copy(slice_make(cut, n), &m.arena, &out),
                    ERR_CORRUPT);
                mem_free(cut);
            }
            buf_append_byte(&body, 0);
            ck_assert_int_eq(kinds[k].copy(buf_slice(&body), &m.arena, &out),
                             ERR_CORRUPT);
        }
    buf_close(&body);
    buf_close(&out);
    arena_close(&m.arena);
}

END_TEST

/* Options come back with every range, key, name and setting. */
START_TEST(test_options_come_back_whole)
{
    struct maker m;
    struct buf body = BUF_INIT;
    maker_init(&m);
    for (int round = 0; round < ROUNDS; round++) {
        struct quarry_read_options o = any_options(&m);
        struct quarry_read_options got;
        buf_clear(&body);
        read_options_put(&o, &body);
        ck_assert_int_eq(
            read_options_get(buf_slice(&body), &m.arena, &got, NULL), 0);
        ck_assert_uint_eq(o.range_count, got.range_count);
        ck_assert_uint_eq(o.key_count, got.key_count);
        ck_assert_uint_eq(o.family_count, got.family_count);
        for (size_t i = 0; i < o.range_count; i++)
            ck_assert(slice_eq(o.ranges[i].start, got.ranges[i].start) &&
                      slice_eq(o.ranges[i].end, got.ranges[i].end));
        for (size_t i = 0; i < o.key_count; i++)
            ck_assert(slice_eq(o.keys[i], got.keys[i]));
        for (size_t i = 0; i < o.family_count; i++)
            ck_assert_str_eq(o.families[i], got.families[i]);
        ck_assert_pstr_eq(o.column_regex, got.column_regex);
        ck_assert_pstr_eq(o.program, got.program);
        ck_assert_uint_eq(o.program_len, got.program_len);
        ck_assert_uint_eq(o.program_fuel, got.program_fuel);
        ck_assert_uint_eq(o.versions, got.versions);
        ck_assert_int_eq(o.time_min_us, got.time_min_us);
        ck_assert_int_eq(o.time_max_us, got.time_max_us);
        ck_assert_uint_eq(o.row_limit, got.row_limit);
        ck_assert_int_eq(o.keys_only, got.keys_only);
        ck_assert_int_eq(o.read_ahead_off, got.read_ahead_off);
        ck_assert_int_eq(o.ordered, got.ordered);
    }
    buf_close(&body);
    arena_close(&m.arena);
}

END_TEST

/* A filter with a mistake in it does not become options. */
START_TEST(test_a_bad_filter_is_refused)
{
    struct quarry_filter *f =
        filter_new_regex(FILTER_VALUE_REGEX, SLICE_LIT("("));
    struct quarry_read_options o = {.filter = f};
    struct quarry_read_options got;
    struct buf body = BUF_INIT;
    struct arena a;
    arena_init(&a);
    read_options_put(&o, &body);
    ck_assert_int_eq(read_options_get(buf_slice(&body), &a, &got, NULL),
                     ERR_INVALID);
    ck_assert_ptr_null(got.filter);
    filter_unref(f);
    buf_close(&body);
    arena_close(&a);
}

END_TEST

/* --- attachments --------------------------------------------------------- */

/* Rows come back as they went, whatever repeats in their cells. */
START_TEST(test_rows_come_back)
{
    struct quarry_row rows[8];
    struct row_decoder r;
    const struct quarry_row *row;
    struct buf bytes = BUF_INIT;
    struct maker m;
    maker_init(&m);
    for (int round = 0; round < ROUNDS; round++) {
        size_t n = rand_below(&m.rand, ARRAY_LEN(rows));
        buf_clear(&bytes);
        arena_reset(&m.arena);
        for (size_t i = 0; i < n; i++) {
            rows[i] = any_row(&m);
            row_put(&rows[i], &bytes);
        }
        row_decoder_init(&r, buf_slice(&bytes));
        for (size_t i = 0; i < n; i++) {
            ck_assert_int_eq(row_decoder_next(&r, &row, NULL), 0);
            expect_row(&rows[i], row);
        }
        ck_assert_int_eq(row_decoder_next(&r, &row, NULL), 0);
        ck_assert_ptr_null(row);
        row_decoder_close(&r);
    }
    buf_close(&bytes);
    arena_close(&m.arena);
}

END_TEST

/* A row cut short is corrupt; a count of cells that cannot be there too. */
START_TEST(test_rows_cut_are_refused)
{
    struct buf bytes = BUF_INIT;
    const struct quarry_row *row;
    struct row_decoder r;
    struct maker m;
    maker_init(&m);
    for (int round = 0; round < ROUNDS; round++) {
        struct quarry_row made = any_row(&m);
        buf_clear(&bytes);
        row_put(&made, &bytes);
        for (size_t n = 1; n < bytes.len; n++) {
            row_decoder_init(&r, slice_make(bytes.data, n));
            ck_assert_int_eq(row_decoder_next(&r, &row, NULL), ERR_CORRUPT);
            row_decoder_close(&r);
        }
    }
    row_decoder_init(&r, SLICE_LIT("\1r\xff\xff\xff\xff\xff\x7f"));
    ck_assert_int_eq(row_decoder_next(&r, &row, NULL), ERR_CORRUPT);
    row_decoder_close(&r);
    /* A first cell that says "as before". */
    row_decoder_init(&r, SLICE_LIT("\1r\1\0\0\0"));
    ck_assert_int_eq(row_decoder_next(&r, &row, NULL), ERR_CORRUPT);
    row_decoder_close(&r);
    buf_close(&bytes);
    arena_close(&m.arena);
}

END_TEST

/* Changes come off one after the other, and cut short they are corrupt. */
START_TEST(test_changes_come_back)
{
    struct row_change in[3];
    struct row_change got;
    struct buf bytes = BUF_INIT;
    struct slice rest;
    struct maker m;
    bool more;
    maker_init(&m);
    for (int round = 0; round < ROUNDS; round++) {
        buf_clear(&bytes);
        for (size_t i = 0; i < 3; i++) {
            in[i] =
                (struct row_change){any_u64(&m), any_u64(&m), any_bytes(&m, 40),
                                    any_bytes(&m, 40), 0};
            in[i].count = (uint32_t)in[i].ops.len;
            row_change_put(&in[i], &bytes);
        }
        rest = buf_slice(&bytes);
        for (size_t i = 0; i < 3; i++) {
            ck_assert_int_eq(row_change_next(&rest, &got, &more, NULL), 0);
            ck_assert(more && got.tablet == in[i].tablet);
            ck_assert_uint_eq(got.sequence, in[i].sequence);
            ck_assert(slice_eq(got.row, in[i].row));
            ck_assert(slice_eq(got.ops, in[i].ops));
            ck_assert_uint_eq(got.count, in[i].count);
        }
        ck_assert_int_eq(row_change_next(&rest, &got, &more, NULL), 0);
        ck_assert(!more);
        rest = slice_make(bytes.data, bytes.len - 1);
        for (size_t i = 0; i < 2; i++)
            ck_assert_int_eq(row_change_next(&rest, &got, &more, NULL), 0);
        ck_assert_int_eq(row_change_next(&rest, &got, &more, NULL),
                         ERR_CORRUPT);
    }
    buf_close(&bytes);
    arena_close(&m.arena);
}

END_TEST

static struct row_lookup any_lookup(struct maker *m)
{
    struct row_lookup l = {.tablet = any_u64(m),
                           .generation = any_u64(m),
                           .row = any_bytes(m, 40),
                           .is_cell = any_bool(m)};
    if (l.is_cell) {
        l.family = any_bytes(m, 10);
        l.qualifier = any_bytes(m, 40);
    } else {
        l.options = any_bytes(m, 40);
    }
    return l;
}

/* Look-ups come off one after the other, and cut short they are corrupt. */
START_TEST(test_lookups_come_back)
{
    struct row_lookup in[3];
    struct row_lookup got;
    struct buf bytes = BUF_INIT;
    struct slice rest;
    struct maker m;
    bool more;
    maker_init(&m);
    for (int round = 0; round < ROUNDS; round++) {
        buf_clear(&bytes);
        for (size_t i = 0; i < 3; i++) {
            in[i] = any_lookup(&m);
            row_lookup_put(&in[i], &bytes);
        }
        rest = buf_slice(&bytes);
        for (size_t i = 0; i < 3; i++) {
            ck_assert_int_eq(row_lookup_next(&rest, &got, &more, NULL), 0);
            ck_assert(more && got.tablet == in[i].tablet);
            ck_assert(got.generation == in[i].generation);
            ck_assert(got.is_cell == in[i].is_cell);
            ck_assert(slice_eq(got.row, in[i].row));
            ck_assert(slice_eq(got.family, in[i].family));
            ck_assert(slice_eq(got.qualifier, in[i].qualifier));
            ck_assert(slice_eq(got.options, in[i].options));
        }
        ck_assert_int_eq(row_lookup_next(&rest, &got, &more, NULL), 0);
        ck_assert(!more);
        rest = slice_make(bytes.data, bytes.len - 1);
        for (size_t i = 0; i < 2; i++)
            ck_assert_int_eq(row_lookup_next(&rest, &got, &more, NULL), 0);
        ck_assert_int_eq(row_lookup_next(&rest, &got, &more, NULL),
                         ERR_CORRUPT);
    }
    buf_close(&bytes);
    arena_close(&m.arena);
}

END_TEST

/* --- changes of schemas -------------------------------------------------- */

/* Changes of a schema do at the other end what they do here. */
START_TEST(test_alterations_do_the_same_there)
{
    static const struct quarry_alter changes[] = {
        {QUARRY_ADD_GROUP, "pages", "compression=none"},
        {QUARRY_ADD_FAMILY, "text", "versions=3,group=pages"},
        {QUARRY_ADD_FAMILY, "links", NULL},
        {QUARRY_UPDATE_FAMILY, "text", "versions=1"},
        {QUARRY_UPDATE_GROUP, "pages", "block=4KiB"},
        {QUARRY_DROP_FAMILY, "links", NULL},
    };
    struct schema *here = schema_new();
    struct schema *there = schema_new();
    struct buf body = BUF_INIT;
    struct buf a = BUF_INIT;
    struct buf b = BUF_INIT;
    alter_put(changes, ARRAY_LEN(changes), &body);
    ck_assert_int_eq(alter_schema(here, changes, ARRAY_LEN(changes), NULL), 0);
    ck_assert_int_eq(alter_apply(buf_slice(&body), there, NULL), 0);
    schema_encode(here, &a);
    schema_encode(there, &b);
    ck_assert(slice_eq(buf_slice(&a), buf_slice(&b)));
    for (size_t n = 0; n < body.len; n++) {
        struct schema *s = schema_new();
        ck_assert_int_ne(alter_apply(slice_make(body.data, n), s, NULL), 0);
        schema_free(s);
    }
    schema_free(here);
    schema_free(there);
    buf_close(&body);
    buf_close(&a);
    buf_close(&b);
}

END_TEST

TEST_MAIN("data_calls",
          test_bodies_read_and_written_again_are_the_same,
          test_bodies_cut_or_prolonged_are_refused,
          test_options_come_back_whole,
          test_a_bad_filter_is_refused,
          test_rows_come_back,
          test_rows_cut_are_refused,
          test_lookups_come_back,
          test_changes_come_back,
          test_alterations_do_the_same_there)
