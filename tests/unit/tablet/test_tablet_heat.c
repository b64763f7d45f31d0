/* Heat: what is counted by ranges and minutes is what was done, whatever ranges
 * the tablet is cut into and however often, within the error that is stated.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/core/macros.h"
#include "base/core/panic.h"
#include "base/core/rand.h"
#include "bigtable/tablet/heat_matrix.h"
#include "bigtable/tablet/tablet_heat.h"
#include "tests/lib/check_main.h"

#define KEYS    1000
#define MINUTES 64
#define START   UINT32_C(28333334) /* A minute since the epoch. */

/* --- Fixture ------------------------------------------------------------- */

static struct heat_log *heat_log;
static struct rand_gen r;
static char text[16];

static void before(void)
{
    heat_log = heat_log_new(HEAT_BYTES_MAX);
    rand_init(&r, test_seed());
}

static void after(void)
{
    heat_log_free(heat_log);
}

/* --- Helpers ------------------------------------------------------------- */

static struct slice key_of(unsigned n)
{
    snprintf(text, sizeof(text), "row%03u", n);
    return slice_str(text);
}

static struct heat_place place_of(const char *start, const char *end)
{
    return (struct heat_place){"t", slice_str(start), slice_str(end)};
}

static uint64_t time_us(unsigned minute)
{
    return (START + minute) * HEAT_MINUTE_US + 1;
}

static void add(struct tablet_heat *h,
                const struct heat_place *place,
                enum load_kind kind,
                unsigned key,
                unsigned minute)
{
    const struct heat_operation op = {kind, key_of(key), 1, 100};
    tablet_heat_add(h, heat_log, place, &op, time_us(minute));
}

/* The picture of @what by steps of a minute, in the ranges between the keys of
 * @cuts. */
struct picture {
    struct heat_matrix matrix;
    struct slice bounds[8];
};

static void draw(struct picture *p,
                 struct tablet_heat *h,
                 const struct heat_place *place,
                 enum load_kind what,
                 const char *const *cuts)
{
    size_t n = 0;
    p->bounds[n++] = SLICE_EMPTY;
    for (; *cuts; cuts++)
        p->bounds[n++] = slice_str(*cuts);
    p->bounds[n] = SLICE_EMPTY;
    p->matrix = (struct heat_matrix){.table = SLICE_LIT("t"),
                                     .what = what,
                                     .from = START,
                                     .step = 1,
                                     .times = MINUTES,
                                     .bounds = p->bounds,
                                     .ranges = n};
    heat_matrix_init(&p->matrix);
    if (h)
        tablet_heat_look(h, heat_log, place, heat_matrix_add, &p->matrix);
    heat_log_each(heat_log, START, START + MINUTES, heat_matrix_add,
                  &p->matrix);
}

static double cell(const struct picture *p, unsigned minute, size_t range)
{
    return p->matrix.values[minute * p->matrix.ranges + range];
}

static double sum(const struct picture *p)
{
    double out = 0;
    for (size_t i = 0; i < p->matrix.times * p->matrix.ranges; i++)
        out += p->matrix.values[i];
    return out;
}

static void undraw(struct picture *p)
{
    heat_matrix_close(&p->matrix);
}

static const char *const whole[] = {NULL};

/* --- Layouts ------------------------------------------------------------- */

/* Bounds ascend strictly, a key is found in the range that has it, and one that
 * fills a sixteenth of the sample has a range for itself. */
START_TEST(test_layout)
{
    before();
    for (int round = 0; round < 500; round++) {
        const struct heat_place place = place_of("row100", "row900");
        struct slice samples[HEAT_SAMPLES];
        char keys[HEAT_SAMPLES][16];
        unsigned hot = 100 + (unsigned)rand_below(&r, 800);
        size_t count = 8 + (size_t)rand_below(&r, HEAT_SAMPLES - 7);
        struct heat_layout *l;
        for (size_t i = 0; i < count; i++) {
            unsigned n =
                rand_one_in(&r, 3) ? hot : 100 + (unsigned)rand_below(&r, 800);
            snprintf(keys[i], sizeof(keys[i]), "row%03u", n);
            samples[i] = slice_str(keys[i]);
        }
        l = heat_layout_new(&place, samples, count, NULL);
        ck_assert_uint_le(l->count, HEAT_RANGES_MAX);
        for (size_t i = 0; i < l->count; i++)
            ck_assert(slice_cmp(l->bounds[i], l->bounds[i + 1]) < 0);
        for (unsigned n = 100; n < 900; n++) {
            size_t at = heat_layout_find(l, key_of(n));
            ck_assert(slice_cmp(l->bounds[at], key_of(n)) <= 0);
            ck_assert(slice_cmp(key_of(n), l->bounds[at + 1]) < 0);
        }
        if (count == HEAT_SAMPLES) {
            size_t at = heat_layout_find(l, key_of(hot));
            ck_assert(slice_eq(l->bounds[at], key_of(hot)));
            ck_assert_uint_eq(l->bounds[at + 1].len, strlen("row100") + 1);
        }
        heat_layout_unref(l);
    }
    after();
}

END_TEST

/* A sample that is one key leaves the other cuts where they were. */
START_TEST(test_layout_keeps_cuts)
{
    const struct heat_place place = place_of("", "");
    struct slice samples[HEAT_SAMPLES];
    char keys[HEAT_SAMPLES][16];
    struct heat_layout *first, *second;
    before();
    for (unsigned i = 0; i < HEAT_SAMPLES; i++) {
        snprintf(keys[i], sizeof(keys[i]), "row%03u", i * 10);
        samples[i] = slice_str(keys[i]);
    }
    first = heat_layout_new(&place, samples, HEAT_SAMPLES, NULL);
    for (unsigned i = 0; i < HEAT_SAMPLES; i++)
        samples[i] = SLICE_LIT("row077");
    second = heat_layout_new(&place, samples, HEAT_SAMPLES, first);
    ck_assert_uint_ge(second->count, 14);
    for (size_t i = 1; i + 1 < second->count; i++)
        ck_assert(slice_cmp(second->bounds[i], second->bounds[i + 1]) < 0);
    ck_assert(slice_eq_str(
        second->bounds[heat_layout_find(second, SLICE_LIT("row077"))],
        "row077"));
    heat_layout_unref(first);
    heat_layout_unref(second);
    after();
}

END_TEST

/* Keys are put into the right range though they are longer than cuts may be. */
START_TEST(test_long_keys)
{
    char longs[4][300];
    struct slice samples[4];
    struct heat_place place = {"t", SLICE_EMPTY, SLICE_EMPTY};
    struct heat_layout *l;
    before();
    for (unsigned i = 0; i < 4; i++) {
        memset(longs[i], 'a', sizeof(longs[i]));
        longs[i][HEAT_KEY_BYTES_MAX - 1] = (char)('a' + i);
        samples[i] = slice_make(longs[i], sizeof(longs[i]));
    }
    l = heat_layout_new(&place, samples, 4, NULL);
    ck_assert_uint_ge(l->count, 4);
    for (unsigned i = 1; i < 4; i++) {
        struct slice key = slice_make(longs[i], sizeof(longs[i]));
        ck_assert_uint_eq(heat_layout_find(l, key),
                          heat_layout_find(l, heat_key(key)));
        ck_assert_uint_gt(
            heat_layout_find(l, key),
            heat_layout_find(l, slice_make(longs[i - 1], sizeof(longs[0]))));
    }
    heat_layout_unref(l);
    after();
}

END_TEST

/* --- Counts -------------------------------------------------------------- */

/* Nothing is lost or made up when each operation is counted: the sums of every
 * minute are exact, over cuts, records and the minute under way, for each kind.
 */
START_TEST(test_sums_are_those_of_the_model)
{
    static const enum load_kind kinds[] = {LOAD_READS, LOAD_WRITES};
    const struct heat_place place = place_of("", "");
    uint64_t model[2][MINUTES] = {{0}};
    struct tablet_heat h;
    before();
    tablet_heat_init(&h);
    for (unsigned minute = 0; minute < MINUTES; minute++) {
        unsigned base = (unsigned)rand_below(&r, KEYS - 100);
        for (uint64_t n = rand_below(&r, 2000); n > 0; n--) {
            unsigned k = (unsigned)rand_below(&r, 2);
            unsigned key = base + (unsigned)rand_below(&r, 100);
            add(&h, &place, kinds[k], key, minute);
            model[k][minute]++;
        }
    }
    for (unsigned k = 0; k < 2; k++) {
        struct picture p;
        draw(&p, &h, &place, kinds[k], whole);
        for (unsigned minute = 0; minute < MINUTES; minute++)
            ck_assert_msg(
                fabs(cell(&p, minute, 0) - (double)model[k][minute]) < 1e-6,
                "minute %u: %g, not %llu", minute, cell(&p, minute, 0),
                (unsigned long long)model[k][minute]);
        undraw(&p);
    }
    tablet_heat_close(&h, heat_log);
    after();
}

END_TEST

/* A hot key has a range of its own, and in the minutes after it was found the
 * counts of its range are what was done. */
START_TEST(test_hot_key)
{
    static const char *const cuts[] = {"row500", "row501", NULL};
    const struct heat_place place = place_of("", "");
    struct tablet_heat h;
    struct picture p;
    before();
    tablet_heat_init(&h);
    for (unsigned minute = 0; minute < 3; minute++)
        for (unsigned n = 0; n < 1000; n++)
            add(&h, &place, LOAD_READS,
                n % 2 ? 500 : (unsigned)rand_below(&r, KEYS), minute);
    draw(&p, &h, &place, LOAD_READS, cuts);
    for (unsigned minute = 0; minute < 3; minute++)
        ck_assert_msg(fabs(cell(&p, minute, 1) - 500) < 100, "minute %u: %g",
                      minute, cell(&p, minute, 1));
    ck_assert(fabs(cell(&p, 2, 0) + cell(&p, 2, 2) - 500) < 60);
    undraw(&p);
    /* Another key becomes hot: it is found in the same minute. */
    for (unsigned n = 0; n < 1000; n++)
        add(&h, &place, LOAD_READS, n % 4 ? 123 : 500, 3);
    draw(&p, &h, &place, LOAD_READS,
         (const char *const[]){"row123", "row124", NULL});
    ck_assert_msg(fabs(cell(&p, 3, 1) - 750) < 150, "%g", cell(&p, 3, 1));
    undraw(&p);
    tablet_heat_close(&h, heat_log);
    after();
}

END_TEST

/* Sampled operations count once on average, also when their keys come in a
 * pattern whose period divides the weight. */
START_TEST(test_weights)
{
    static const char *const cuts[] = {"row001", "row002", "row003", NULL};
    const struct heat_place place = place_of("", "");
    struct load_meter meter;
    struct tablet_heat h;
    struct picture p;
    const unsigned count = 400000;
    before();
    tablet_heat_init(&h);
    load_meter_init(&meter, 1);
    for (unsigned n = 0; n < count; n++) {
        uint64_t now_ns = 1 + n * UINT64_C(100000); /* 40 s. */
        uint64_t metered = load_meter_add(&meter, LOAD_READS, 1, 0, now_ns);
        unsigned weight = heat_weight(metered);
        const struct heat_operation op = {LOAD_READS, key_of(n % 4), weight,
                                          weight};
        if (weight)
            tablet_heat_add(&h, heat_log, &place, &op, time_us(0));
    }
    draw(&p, &h, &place, LOAD_READS, cuts);
    for (size_t i = 0; i < 4; i++) {
        double want = count / 4.0;
        double error = 3 * 4 / sqrt(want);
        ck_assert_msg(fabs(cell(&p, 0, i) / want - 1) < error, "key %zu: %g", i,
                      cell(&p, 0, i));
    }
    undraw(&p);
    tablet_heat_close(&h, heat_log);
    after();
}

END_TEST

/* The counts of a tablet stay when it is split or leaves, and what its halves
 * count is put beside it. */
START_TEST(test_splits)
{
    static const char *const cuts[] = {"row500", NULL};
    const struct heat_place all = place_of("", "");
    const struct heat_place left = place_of("", "row500");
    const struct heat_place right = place_of("row500", "");
    struct tablet_heat h, low, high;
    struct picture p;
    before();
    tablet_heat_init(&h);
    for (unsigned n = 0; n < 300; n++)
        add(&h, &all, LOAD_WRITES, n % 2 ? 100 : 700, 0);
    tablet_heat_close(&h, heat_log);
    tablet_heat_init(&low);
    tablet_heat_init(&high);
    for (unsigned n = 0; n < 200; n++)
        add(&low, &left, LOAD_WRITES, 1 + n % 2, 1);
    for (unsigned n = 0; n < 400; n++)
        add(&high, &right, LOAD_WRITES, 999, 1);
    tablet_heat_close(&high, heat_log);
    draw(&p, &low, &left, LOAD_WRITES, cuts);
    ck_assert(fabs(cell(&p, 0, 0) - 150) < 10);
    ck_assert(fabs(cell(&p, 0, 1) - 150) < 10);
    ck_assert(fabs(cell(&p, 1, 0) - 200) < 1e-6);
    ck_assert(fabs(cell(&p, 1, 1) - 400) < 1e-6);
    undraw(&p);
    draw(&p, &low, &left, LOAD_BYTES, whole);
    ck_assert(fabs(sum(&p) - 90000) < 1e-6);
    undraw(&p);
    tablet_heat_close(&low, heat_log);
    after();
}

END_TEST

/* Ranges of the picture that cut those of the records get equal parts, and what
 * is outside of the picture is left out. */
START_TEST(test_matrix_spreads)
{
    const struct heat_place place = place_of("", "");
    const struct slice bounds[] = {SLICE_LIT("b"), SLICE_LIT("c"),
                                   SLICE_LIT("d")};
    struct heat_record record = {.minute = START + 1, .span = 2};
    struct heat_matrix m = {.table = SLICE_LIT("t"),
                            .what = LOAD_READS,
                            .from = START,
                            .step = 2,
                            .times = 2,
                            .bounds = bounds,
                            .ranges = 2};
    before();
    record.layout = heat_layout_new(&place, NULL, 0, NULL);
    record.counts[0][LOAD_READS] = 80;
    heat_matrix_init(&m);
    heat_matrix_add(&m, &record);
    for (size_t i = 0; i < 4; i++) /* A quarter is on each side outside. */
        ck_assert_msg(fabs(m.values[i] - 10) < 1e-9, "%g", m.values[i]);
    heat_matrix_close(&m);
    heat_layout_unref(record.layout);
    after();
}

END_TEST

/* Bounds are those inside of the rows, once each, ascending; too many are
 * thinned out. */
START_TEST(test_bounds)
{
    struct heat_bounds *b;
    const struct slice *list;
    size_t count;
    before();
    b = heat_bounds_new(SLICE_LIT("t"), SLICE_LIT("row100"),
                        SLICE_LIT("row200"));
    for (unsigned i = 0; i < 3000; i++)
        heat_bounds_add_key(b, key_of((unsigned)rand_below(&r, KEYS)));
    list = heat_bounds_list(b, 1000, &count);
    ck_assert_uint_le(count, 99);
    ck_assert_uint_gt(count, 80);
    for (size_t i = 0; i < count; i++) {
        ck_assert(slice_cmp(list[i], SLICE_LIT("row100")) > 0);
        ck_assert(slice_cmp(list[i], SLICE_LIT("row200")) < 0);
        ck_assert(i == 0 || slice_cmp(list[i - 1], list[i]) < 0);
    }
    list = heat_bounds_list(b, 10, &count);
    ck_assert_uint_eq(count, 10);
    for (size_t i = 1; i < count; i++)
        ck_assert(slice_cmp(list[i - 1], list[i]) < 0);
    heat_bounds_free(b);
    after();
}

END_TEST

/* --- Memory -------------------------------------------------------------- */

static void count_record(void *ctx, const struct heat_record *record)
{
    uint64_t *sums = ctx;
    for (size_t i = 0; i < record->layout->count; i++)
        sums[record->layout->bounds[0].len ? 1 : 0] +=
            record->counts[i][LOAD_READS];
}

/* The log keeps to its memory. Tablets that are used little lose their ranges
 * and share records first; the hot one keeps a record of every minute. */
START_TEST(test_bounded)
{
    enum {
        TABLETS = 300,
        HOURS = 20
    };
    struct tablet_heat *cold = mem_zalloc(TABLETS, sizeof(*cold));
    const struct heat_place hot_place = place_of("", "row000");
    const struct heat_place cold_place = place_of("row000", "");
    struct tablet_heat hot;
    uint64_t sums[2] = {0, 0};
    const size_t bytes_max = 4 << 20;
    before();
    heat_log_free(heat_log);
    heat_log = heat_log_new(bytes_max);
    tablet_heat_init(&hot);
    for (int i = 0; i < TABLETS; i++)
        tablet_heat_init(&cold[i]);
    for (unsigned minute = 0; minute < HOURS * 60; minute++) {
        for (int i = 0; i < TABLETS; i++)
            for (int n = 0; n < 8; n++)
                add(&cold[i], &cold_place, LOAD_READS,
                    (unsigned)rand_below(&r, KEYS), minute);
        for (unsigned n = 0; n < 100; n++) {
            const struct heat_operation op = {LOAD_READS, SLICE_LIT("a"), 1000,
                                              1};
            tablet_heat_add(&hot, heat_log, &hot_place, &op, time_us(minute));
        }
        ck_assert_uint_le(heat_log_bytes(heat_log), bytes_max + (64 << 10));
    }
    ck_assert_uint_gt(heat_log_threshold(heat_log), 0);
    heat_log_each(heat_log, START + HOURS * 60 - 600, START + HOURS * 60,
                  count_record, sums);
    ck_assert_uint_ge(sums[0], UINT64_C(598) * 100 * 1000);
    ck_assert_uint_ge(sums[1], UINT64_C(580) * TABLETS * 8);
    for (int i = 0; i < TABLETS; i++)
        tablet_heat_close(&cold[i], heat_log);
    tablet_heat_close(&hot, heat_log);
    mem_free(cold);
    after();
}

END_TEST

/* A tablet that nobody uses takes nothing, and records are gone after a day. */
START_TEST(test_idle_and_old)
{
    const struct heat_place place = place_of("", "");
    struct tablet_heat h;
    uint64_t sums[2] = {0, 0};
    before();
    tablet_heat_init(&h);
    ck_assert_uint_eq(heat_log_bytes(heat_log), 0);
    for (unsigned minute = 0; minute < 3 * HEAT_DAY; minute++)
        for (unsigned n = 0; n < 40; n++)
            add(&h, &place, LOAD_READS, (unsigned)rand_below(&r, KEYS), minute);
    heat_log_each(heat_log, START, START + HEAT_DAY, count_record, sums);
    ck_assert_uint_eq(sums[0], 0);
    heat_log_each(heat_log, START + 2 * HEAT_DAY, START + 3 * HEAT_DAY,
                  count_record, sums);
    ck_assert_uint_ge(sums[0], (HEAT_DAY - 2) * 40);
    ck_assert_uint_le(heat_log_bytes(heat_log), 400 << 10);
    tablet_heat_close(&h, heat_log);
    after();
}

END_TEST

/* A clock that is set back or forward loses no counts. */
START_TEST(test_clock)
{
    const struct heat_place place = place_of("", "");
    struct tablet_heat h;
    struct picture p;
    before();
    tablet_heat_init(&h);
    for (unsigned n = 0; n < 50; n++)
        add(&h, &place, LOAD_READS, n, 20 + n % 3 * 5);
    draw(&p, &h, &place, LOAD_READS, whole);
    ck_assert(fabs(sum(&p) - 50) < 1e-6);
    ck_assert(fabs(cell(&p, 20, 0) - 17) < 1e-6);
    ck_assert(fabs(cell(&p, 30, 0) - 16) < 1e-6);
    undraw(&p);
    tablet_heat_close(&h, heat_log);
    after();
}

END_TEST

TEST_MAIN("tablet heat",
          test_layout,
          test_layout_keeps_cuts,
          test_long_keys,
          test_sums_are_those_of_the_model,
          test_hot_key,
          test_weights,
          test_splits,
          test_matrix_spreads,
          test_bounds,
          test_bounded,
          test_idle_and_old,
          test_clock)
