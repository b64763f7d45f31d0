/* Text that people read and write: numbers, sizes, durations, times, UTF-8,
 * escapes.
 *
 * Parsers take all of the slice or fail with ERR_INVALID and a message that
 * quotes the text and names the accepted forms; *out is untouched then. Nothing
 * depends on the locale. Printers append to a buffer.
 */
#ifndef BASE_CORE_TEXT_H
#define BASE_CORE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/slice.h"

struct buf;

/* --- numbers ------------------------------------------------------------- */

/* Decimal digits alone: no sign, no spaces. */
MUST_CHECK int text_parse_u64(struct slice s, uint64_t *out, struct err *err);
/* As text_parse_u64(), with an optional '-' or '+'. */
MUST_CHECK int text_parse_i64(struct slice s, int64_t *out, struct err *err);
/* on, off, true, false, yes, no, 1, 0. */
MUST_CHECK int text_parse_bool(struct slice s, bool *out, struct err *err);

/* Append 1234567 as "1,234,567". */
void text_put_count(struct buf *b, uint64_t n);

/* --- sizes and durations ------------------------------------------------- */

/* Bytes: "4096", "64KiB", "1.5GiB", "10MB"; units B, kB (1000), KiB (1024) to
 * E and Ei, letter case ignored, one space allowed; "64k" is 64 KiB. */
MUST_CHECK int text_parse_bytes(struct slice s, uint64_t *out, struct err *err);
/* A form that text_parse_bytes() reads: "64 KiB", "1.5 GiB". */
void text_put_bytes(struct buf *b, uint64_t bytes);

/* Microseconds: "7d", "1h30m", "250ms", "0.5s"; units us, ms, s, m, h, d, w.
 * A number without a unit is an error, but "0" is not. */
MUST_CHECK int
text_parse_duration(struct slice s, uint64_t *us, struct err *err);
/* "850us", "12.5ms", "3.25s", "2m05s", "3h12m", "4d02h". */
void text_put_duration(struct buf *b, uint64_t us);

/* --- time ---------------------------------------------------------------- */

/* µs since 1970 from RFC 3339 ("2024-01-31T12:00:00.5Z", "…+02:00", also with a
 * space for the T), a date alone ("2024-01-31", midnight UTC), or "@" and
 * seconds ("@1700000000.25"). */
MUST_CHECK int text_parse_time(struct slice s, int64_t *us, struct err *err);
/* "2024-01-31T12:00:00.000000Z"; the fraction is left out when it is zero.
 * Outside the years 0 to 9999: "@" and seconds. */
void text_put_time(struct buf *b, int64_t us);

/* Days since 1970-01-01 of a day of the Gregorian calendar, and back. Months
 * are 1 to 12; a day past the month's end counts into the next. */
int64_t text_days_from_date(int64_t year, unsigned month, unsigned day);
void text_date_from_days(int64_t days,
                         int64_t *year,
                         unsigned *month,
                         unsigned *day);

/* --- UTF-8 --------------------------------------------------------------- */

/* Replaces bytes that are not UTF-8. */
#define UTF8_REPLACEMENT UINT32_C(0xfffd)

/* Decode one code point of [p, end), p < end. Returns the bytes it takes; for
 * bytes that are not UTF-8 (RFC 3629: no surrogates, no overlong forms) that is
 * 1, with *code UTF8_REPLACEMENT. */
size_t utf8_decode(const char *p, const char *end, uint32_t *code);
/* Write @code (a value that is no code point becomes U+FFFD) to @p, which
 * has room for 4 bytes; returns the bytes written. */
size_t utf8_encode(char *p, uint32_t code);
/* True if all of @s is UTF-8. */
bool utf8_valid(struct slice s);
/* Columns @s takes on a terminal: wide East Asian characters and emoji take
 * two, combining marks and control characters none. */
size_t utf8_columns(struct slice s);

/* --- escapes ------------------------------------------------------------- */

/* Printable UTF-8 unchanged; \\ \n \r \t and \xHH for the rest, and a
 * backslash before @quote (0 for none). text_unescape() gives the same bytes
 * back. */
void text_put_escaped(struct buf *b, struct slice s, char quote);
/* Append the bytes @s stands for: \\ \n \r \t \0 \" \' and \xHH, \uHHHH.
 * Errors: ERR_INVALID with the position of a broken escape. */
MUST_CHECK int text_unescape(struct slice s, struct buf *out, struct err *err);
/* The same of what people type: \xNN, \n, \t, \r and \\ are read, a backslash
 * before anything else is itself, as in "C:\dir". */
void text_unescape_loose(struct buf *out, struct slice s);
/* A JSON string with its quotes. Bytes that are not UTF-8 become U+FFFD. */
void text_put_json(struct buf *b, struct slice s);
/* A CSV field (RFC 4180), quoted only where it must be. */
void text_put_csv(struct buf *b, struct slice s);

/* --- misspelt names ------------------------------------------------------ */

/* The entry of @names nearest to @word, for messages about misspelt names;
 * NULL when none is near (more than a third of its letters, at least one,
 * changed, added, lost or swapped). */
const char *
text_nearest(struct slice word, const char *const *names, size_t count);

#endif /* BASE_CORE_TEXT_H */
