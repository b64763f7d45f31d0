/* Parsing of times: dates, the digits of captures, ages ("2h"), "now", @SECONDS
 * and microseconds since 1970. A number that looks like seconds or milliseconds
 * is refused.
 */
#include "cli/time_form.h"

#include <stdio.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/core/text.h"

#define CAPTURE_DIGITS 14
/* As µs these would be hours and weeks of 1970. */
#define SECONDS_DIGITS    10
#define MS_DIGITS         13
#define EPOCH_SECONDS_MAX INT64_C(253402300800)

/* "20240501102030" as RFC 3339. */
static int parse_capture(const char *s, int64_t *out_us)
{
    char text[32];
    PRE(strlen(s) == CAPTURE_DIGITS);
    snprintf(text, sizeof(text), "%.4s-%.2s-%.2sT%.2s:%.2s:%.2sZ", s, s + 4,
             s + 6, s + 8, s + 10, s + 12);
    return text_parse_time(slice_str(text), out_us, NULL);
}

/* Seconds since 1970, as date(1) writes and reads them. */
static int parse_epoch(const char *s, int64_t *out_us)
{
    int64_t seconds;
    PRE(s);
    if (text_parse_i64(slice_str(s), &seconds, NULL) ||
        seconds > EPOCH_SECONDS_MAX || seconds < -EPOCH_SECONDS_MAX)
        return ERR_INVALID;
    *out_us = seconds * 1000000;
    return ERR_OK;
}

int time_parse(const char *text,
               int64_t now_us,
               int64_t *out_us,
               struct err *err)
{
    struct slice s = slice_str(text);
    uint64_t age;
    bool digits = s.len > 0 && strspn(text, "0123456789") == s.len;
    if (*text == '@' && !parse_epoch(text + 1, out_us))
        return ERR_OK;
    if (strcmp(text, "now") == 0) {
        *out_us = now_us;
        return ERR_OK;
    }
    if (digits && s.len == CAPTURE_DIGITS && !parse_capture(text, out_us))
        return ERR_OK;
    if (digits && (s.len == SECONDS_DIGITS || s.len == MS_DIGITS)) {
        err_set(err, ERR_INVALID,
                "'%s' looks like %s since 1970, and µs are meant", text,
                s.len == SECONDS_DIGITS ? "seconds" : "ms");
        err_hint(err, "write @%.10s for seconds, or a date", text);
        return ERR_INVALID;
    }
    if (!text_parse_i64(s, out_us, NULL) || !text_parse_time(s, out_us, NULL))
        return ERR_OK;
    if (!text_parse_duration(s, &age, NULL) && age <= (uint64_t)INT64_MAX) {
        *out_us = now_us - (int64_t)age;
        return ERR_OK;
    }
    return err_set(err, ERR_INVALID,
                   "'%s' is no time: write 2024-05-01, 2024-05-01T10:20:30Z, "
                   "20240501102030, an age like 7d or 3h, @SECONDS or µs since "
                   "1970",
                   text);
}
