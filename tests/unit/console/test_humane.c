/* Figures are short for eyes and exact in titles, and no value breaks them. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "cli/console/pages/humane.h"
#include "tests/lib/check_main.h"

struct example {
    const char *field;
    double value;
    const char *text, *exact;
};

static const struct example examples[] = {
    {"tablets", 0, "0", "0"},
    {"tablets", 9999, "9,999", "9,999"},
    {"tablets", 12345, "12.3k", "12,345"},
    {"tablets", 999999, "1M", "999,999"},
    {"cpu_cores", 1.25, "1.25", "1.250"},
    {"cpu_cores", 0.04, "0.04", "0.040"},
    {"reads_per_s", 48213.2, "48.2k/s", "48,213.200 a second"},
    {"reads_per_s", 0, "0/s", "0 a second"},
    {"bytes", 1023, "1023 B", "1,023 bytes"},
    {"bytes", 1024 * 1024 - 1, "1 MiB", "1,048,575 bytes"},
    {"disk_used_bytes", 1610612736, "1.5 GiB", "1,610,612,736 bytes"},
    {"bytes_per_s", 2048, "2 KiB/s", "2,048 bytes a second"},
    {"p99_us", 850, "850 µs", "850 µs"},
    {"p99_us", 12500, "12.5 ms", "12,500 µs"},
    {"up_us", 125e6, "2 min 5 s", "125,000,000 µs"},
    {"up_us", 11520e6, "3 h 12 min", "11,520,000,000 µs"},
    {"up_us", 8640000e6, "100 d", "8,640,000,000,000 µs"},
    {"clock_offset_us", -120, "−120 µs", "−120 µs"},
    {"begun_at_us", 1700000000e6, "2023-11-14 22:13:20 UTC",
     "2023-11-14 22:13:20 UTC"},
};

/* A figure has the unit that its field's name ends in. */
START_TEST(test_units)
{
    for (size_t i = 0; i < sizeof(examples) / sizeof(*examples); i++) {
        struct buf text = BUF_INIT, exact = BUF_INIT;
        const struct example *e = &examples[i];
        enum humane_unit unit = humane_unit_of(e->field);
        humane_put(&text, unit, e->value);
        humane_put_exact(&exact, unit, e->value);
        ck_assert_str_eq(buf_cstr(&text), e->text);
        ck_assert_str_eq(buf_cstr(&exact), e->exact);
        buf_close(&text);
        buf_close(&exact);
    }
}

END_TEST

/* Whatever a document holds, the text is a few characters. */
START_TEST(test_extremes)
{
    static const double values[] = {NAN,     INFINITY, -INFINITY, DBL_MAX,
                                    DBL_MIN, 9e15,     -9e15,     1e300};
    for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
        for (int unit = HUMANE_COUNT; unit <= HUMANE_TIME; unit++) {
            struct buf b = BUF_INIT;
            humane_put(&b, (enum humane_unit)unit, values[i]);
            humane_put_exact(&b, (enum humane_unit)unit, values[i]);
            ck_assert_uint_gt(b.len, 0);
            ck_assert_uint_lt(b.len, 100);
            buf_close(&b);
        }
}

END_TEST

/* Of two figures the greater never looks smaller. */
START_TEST(test_monotone)
{
    double before = 0;
    for (double v = 1; v < 1e14; v *= 1.07) {
        struct buf b = BUF_INIT;
        double number;
        char unit[8] = "";
        humane_put(&b, HUMANE_BYTES, v);
        ck_assert_int_eq(sscanf(buf_cstr(&b), "%lf %7s", &number, unit), 2);
        number *= pow(1024, (double)(strchr("BKMGTP", unit[0]) - "BKMGTP"));
        ck_assert(number >= before);
        ck_assert(fabs(number - v) < 0.06 * v + 1);
        before = number;
        buf_close(&b);
    }
}

END_TEST

TEST_MAIN("humane", test_units, test_extremes, test_monotone)
