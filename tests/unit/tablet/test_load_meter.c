/* Rates over the last minute, by the clock of the test. */
#include <stdbool.h>

#include "bigtable/tablet/load_meter.h"
#include "tests/lib/check_main.h"

#define S UINT64_C(1000000000)

/* A clock that has gone for a while, and not in whole slots. */
#define BEGIN (12345 * S + S / 3)

static struct load_meter meter;

static void begin(void)
{
    load_meter_init(&meter, BEGIN);
}

static bool about(double a, double b)
{
    return a > b * 0.93 && a < b * 1.07;
}

START_TEST(test_nothing)
{
    struct load_rates r;
    begin();
    r = load_meter_rates(&meter, BEGIN);
    ck_assert(r.reads <= 0 && r.writes <= 0 && r.bytes <= 0);
}

END_TEST

START_TEST(test_steady)
{
    /* Ten reads of 100 bytes and five writes a second, for three minutes. */
    begin();
    for (uint64_t t = 0; t < 180; t++) {
        struct load_rates r;
        load_meter_add(&meter, LOAD_READS, 10, 1000, BEGIN + t * S);
        load_meter_add(&meter, LOAD_WRITES, 5, 500, BEGIN + t * S + S / 2);
        if (t < 20)
            continue;
        r = load_meter_rates(&meter, BEGIN + t * S + S / 2);
        ck_assert(about(r.reads, 10));
        ck_assert(about(r.writes, 5));
        ck_assert(about(r.bytes, 1500));
    }
}

END_TEST

START_TEST(test_young)
{
    /* A meter that began a moment ago counts by the time it has; what came in
     * the first second counts as a second's. */
    struct load_rates r;
    begin();
    load_meter_add(&meter, LOAD_READS, 50, 0, BEGIN);
    r = load_meter_rates(&meter, BEGIN);
    ck_assert(about(r.reads, 50));
    r = load_meter_rates(&meter, BEGIN + 10 * S);
    ck_assert(about(r.reads, 5));
}

END_TEST

START_TEST(test_past)
{
    /* A load that ended is forgotten within a minute and a slot, not before. */
    struct load_rates r;
    begin();
    load_meter_add(&meter, LOAD_WRITES, 600, 60, BEGIN + 100 * S);
    r = load_meter_rates(&meter, BEGIN + 155 * S);
    ck_assert(about(r.writes, 10));
    r = load_meter_rates(&meter, BEGIN + 165 * S);
    ck_assert(r.writes <= 0 && r.bytes <= 0);
    /* Its slot is taken over. */
    load_meter_add(&meter, LOAD_WRITES, 60, 6, BEGIN + 164 * S);
    r = load_meter_rates(&meter, BEGIN + 165 * S);
    ck_assert(about(r.writes, 1));
}

END_TEST

START_TEST(test_far_times)
{
    /* Clocks may have gone for years; nothing old comes back. */
    uint64_t later = BEGIN + UINT64_C(40) * 365 * 86400 * S;
    struct load_rates r;
    begin();
    load_meter_add(&meter, LOAD_READS, 600, 0, BEGIN);
    r = load_meter_rates(&meter, later);
    ck_assert(r.reads <= 0);
    load_meter_add(&meter, LOAD_READS, 600, 0, later);
    r = load_meter_rates(&meter, later + 30 * S);
    ck_assert(about(r.reads, 10));
}

END_TEST

TEST_MAIN("load meter",
          test_nothing,
          test_steady,
          test_young,
          test_past,
          test_far_times)
