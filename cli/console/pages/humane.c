/* Figures as people read them: steps of units, then digits enough to tell two
 * neighbours apart. */
#include "cli/console/pages/humane.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/core/macros.h"
#include "base/core/slice.h"
#include "base/core/text.h"

/* Past this a double has no place for ones: nothing in a document is. */
#define HUMANE_MAX 9e15

static bool humane_ends(const char *field, const char *end)
{
    return slice_ends_with(slice_str(field), slice_str(end));
}

enum humane_unit humane_unit_of(const char *field)
{
    if (humane_ends(field, "bytes_per_s"))
        return HUMANE_BYTES_RATE;
    if (humane_ends(field, "_per_s"))
        return HUMANE_RATE;
    if (humane_ends(field, "bytes"))
        return HUMANE_BYTES;
    if (humane_ends(field, "at_us"))
        return HUMANE_TIME;
    if (humane_ends(field, "_us"))
        return HUMANE_DURATION;
    return HUMANE_COUNT;
}

/* @v < 1,000 or so, with about three digits: "0.25", "1.5", "12.3", "123". */
static void humane_put_digits(struct buf *out, double v)
{
    char text[400]; /* The longest double, for the compiler. */
    int digits = v >= 99.95 ? 0 : v >= 9.995 ? 1 : 2;
    size_t len = (size_t)snprintf(text, sizeof(text), "%.*f", digits, v);
    while (digits && text[len - 1] == '0')
        len--;
    if (text[len - 1] == '.')
        len--;
    buf_append(out, text, len);
}

/* @v, divided by @base as often as it has units in @names (NULL ends them). */
static void humane_put_steps(struct buf *out,
                             double v,
                             double base,
                             const char *const *names)
{
    while (v >= base * 0.9995 && names[1]) {
        v /= base;
        names++;
    }
    humane_put_digits(out, v);
    buf_append_str(out, *names);
}

static void humane_put_count(struct buf *out, double v)
{
    static const char *const names[] = {"", "k", "M", "G", "T", NULL};
    if (v < 10000 && floor(v) >= v)
        text_put_count(out, (uint64_t)v);
    else
        humane_put_steps(out, v, 1000, names);
}

static void humane_put_bytes(struct buf *out, double v)
{
    static const char *const names[] = {" B",   " KiB", " MiB", " GiB",
                                        " TiB", " PiB", NULL};
    humane_put_steps(out, v, 1024, names);
}

/* Two units, the greater first: "3 h 12 min". */
static void humane_put_pair(struct buf *out,
                            double us,
                            double big,
                            const char *big_name,
                            double small,
                            const char *small_name)
{
    uint64_t whole = (uint64_t)(us / big);
    uint64_t rest = (uint64_t)(fmod(us, big) / small);
    text_put_count(out, whole);
    buf_append_str(out, big_name);
    if (rest && whole < 100)
        buf_printf(out, " %d%s", (int)rest, small_name);
}

static void humane_put_duration(struct buf *out, double us)
{
    static const char *const names[] = {" µs", " ms", " s", NULL};
    const double s = 1e6, min = 60 * s, hour = 60 * min, day = 24 * hour;
    if (us < min)
        humane_put_steps(out, us, 1000, names);
    else if (us < hour)
        humane_put_pair(out, us, min, " min", s, " s");
    else if (us < day)
        humane_put_pair(out, us, hour, " h", min, " min");
    else
        humane_put_pair(out, us, day, " d", hour, " h");
}

/* "2026-01-31 12:00:00 UTC", of "2026-01-31T12:00:00.5Z". */
static void humane_put_time(struct buf *out, double us)
{
    struct buf b = BUF_INIT;
    text_put_time(&b, (int64_t)us);
    if (b.len >= 20 && b.data[10] == 'T')
        buf_printf(out, "%.10s %.8s UTC", b.data, b.data + 11);
    else
        buf_append_slice(out, buf_slice(&b));
    buf_close(&b);
}

static bool humane_is_number(double v)
{
    return isfinite(v) && fabs(v) <= HUMANE_MAX;
}

void humane_put(struct buf *out, enum humane_unit unit, double value)
{
    double v = fabs(value);
    if (!humane_is_number(value)) {
        buf_append_str(out, "–");
        return;
    }
    if (unit == HUMANE_TIME) {
        humane_put_time(out, value);
        return;
    }
    if (value < 0)
        buf_append_str(out, "−");
    switch (unit) {
    case HUMANE_COUNT:
    case HUMANE_RATE: humane_put_count(out, v); break;
    case HUMANE_BYTES:
    case HUMANE_BYTES_RATE: humane_put_bytes(out, v); break;
    case HUMANE_DURATION:
    case HUMANE_TIME: humane_put_duration(out, v); break;
    }
    if (unit == HUMANE_RATE || unit == HUMANE_BYTES_RATE)
        buf_append_str(out, "/s");
}

void humane_put_exact(struct buf *out, enum humane_unit unit, double value)
{
    static const char *const words[] = {
        [HUMANE_COUNT] = "",       [HUMANE_RATE] = " a second",
        [HUMANE_BYTES] = " bytes", [HUMANE_BYTES_RATE] = " bytes a second",
        [HUMANE_DURATION] = " µs", [HUMANE_TIME] = "",
    };
    double thousandths;
    if (!humane_is_number(value) || unit == HUMANE_TIME) {
        humane_put(out, unit, value);
        return;
    }
    if (value < 0)
        buf_append_str(out, "−");
    thousandths = round(fabs(value) * 1000);
    text_put_count(out, (uint64_t)(thousandths / 1000));
    if (fmod(thousandths, 1000) >= 1)
        buf_printf(out, ".%03d", (int)fmod(thousandths, 1000));
    buf_append_str(out, words[unit]);
}
