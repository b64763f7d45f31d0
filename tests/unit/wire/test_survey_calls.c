/* Surveys and examinations of tablets are read as they were written, and
 * hostile bytes are refused without memory being taken for them. */
#include <string.h>

#include "base/core/arena.h"
#include "base/core/rand.h"
#include "bigtable/wire/survey_calls.h"
#include "tests/lib/check_main.h"

static struct rand_gen rand_state;
static char bytes[64];

static uint64_t number(void)
{
    return rand_u64(&rand_state) >> rand_below(&rand_state, 64);
}

static struct slice text(void)
{
    return slice_make(bytes, rand_below(&rand_state, sizeof(bytes)));
}

static struct surveyed_tablet any_tablet(void)
{
    return (struct surveyed_tablet){
        .id = number(),
        .table = text(),
        .start = text(),
        .end = text(),
        .phase = (enum tablet_phase)(1 + rand_below(&rand_state, 3)),
        .bytes = number(),
        .memory_bytes = number(),
        .file_count = number(),
        .debt_bytes = number(),
        .milli_reads_per_s = number(),
        .milli_writes_per_s = number(),
        .milli_bytes_per_s = number(),
        .loaded_at_us = number(),
        .is_busy = rand_one_in(&rand_state, 2)};
}

/* Every shorter text is refused. */
static void check_cut(struct slice whole, bool is_survey)
{
    struct arena a;
    arena_init(&a);
    for (size_t n = 0; n < whole.len; n++) {
        struct slice part = slice_sub(whole, 0, n);
        struct survey s;
        struct examination e;
        ck_assert_int_eq(is_survey ? survey_get(part, &a, &s, NULL)
                                   : examination_get(part, &a, &e, NULL),
                         ERR_CORRUPT);
        arena_reset(&a);
    }
    arena_close(&a);
}

START_TEST(test_survey_round_trip)
{
    struct surveyed_tablet tablets[8];
    struct buf b = BUF_INIT;
    struct buf again = BUF_INIT;
    struct arena a;
    rand_init(&rand_state, test_seed());
    memset(bytes, 'k', sizeof(bytes));
    arena_init(&a);
    for (int i = 0; i < 50; i++) {
        struct survey s = {.server = number(),
                           .more = rand_one_in(&rand_state, 2),
                           .tablet_count = rand_below(&rand_state, 8),
                           .tablets = tablets};
        struct survey read;
        for (size_t k = 0; k < s.tablet_count; k++)
            tablets[k] = any_tablet();
        buf_clear(&b);
        buf_clear(&again);
        survey_put(&s, &b);
        ck_assert_int_eq(survey_get(buf_slice(&b), &a, &read, NULL), 0);
        ck_assert_uint_eq(read.tablet_count, s.tablet_count);
        survey_put(&read, &again);
        ck_assert(slice_eq(buf_slice(&b), buf_slice(&again)));
        if (i < 5)
            check_cut(buf_slice(&b), true);
    }
    arena_close(&a);
    buf_close(&again);
    buf_close(&b);
}

END_TEST

START_TEST(test_examination_round_trip)
{
    struct examined_file files[4];
    struct examined_group groups[3];
    struct buf b = BUF_INIT;
    struct buf again = BUF_INIT;
    struct arena a;
    rand_init(&rand_state, test_seed());
    memset(bytes, 'k', sizeof(bytes));
    arena_init(&a);
    for (int i = 0; i < 50; i++) {
        struct examination e = {.tablet = any_tablet(),
                                .table = number(),
                                .epoch = number(),
                                .group_count = rand_below(&rand_state, 4),
                                .groups = groups};
        struct examination read;
        for (size_t k = 0; k < 4; k++)
            files[k] =
                (struct examined_file){number(), (uint32_t)number(), number(),
                                       number(), number(),           text(),
                                       text()};
        for (size_t k = 0; k < e.group_count; k++)
            groups[k] =
                (struct examined_group){text(),   number(),
                                        number(), number(),
                                        true,     rand_one_in(&rand_state, 2),
                                        number(), rand_below(&rand_state, 5),
                                        files};
        buf_clear(&b);
        buf_clear(&again);
        examination_put(&e, &b);
        ck_assert_int_eq(examination_get(buf_slice(&b), &a, &read, NULL), 0);
        examination_put(&read, &again);
        ck_assert(slice_eq(buf_slice(&b), buf_slice(&again)));
        if (i < 5)
            check_cut(buf_slice(&b), false);
    }
    arena_close(&a);
    buf_close(&again);
    buf_close(&b);
}

END_TEST

/* More tablets than there may be, or a phase there is not. */
START_TEST(test_hostile_survey)
{
    static const char many[] = "\x93\x01\xc2\xdd\xff\xff\xff\xff";
    static const char phase[] =
        "\x93\x01\xc2\x91\x9e\x01\xa0\xc4\x00\xc4\x00\x09"
        "\x00\x00\x00\x00\x00\x00\x00\x00\xc2";
    struct survey s;
    struct arena a;
    arena_init(&a);
    ck_assert_int_eq(
        survey_get(slice_make(many, sizeof(many) - 1), &a, &s, NULL),
        ERR_CORRUPT);
    ck_assert_uint_le(a.reserved_bytes, 1 << 20);
    ck_assert_int_eq(
        survey_get(slice_make(phase, sizeof(phase) - 1), &a, &s, NULL),
        ERR_CORRUPT);
    arena_close(&a);
}

END_TEST

TEST_MAIN("survey_calls",
          test_survey_round_trip,
          test_examination_round_trip,
          test_hostile_survey)
