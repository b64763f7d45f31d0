/* Figures as people read them: "1.5 GiB", "12.3k/s", "850 µs", "3 min", and
 * exactly: "1,610,612,736 bytes". The unit is told by the end of a field's
 * name, as in all documents.
 *
 * Pure. Threads: any.
 */
#ifndef CLI_CONSOLE_PAGES_HUMANE_H
#define CLI_CONSOLE_PAGES_HUMANE_H

#include "base/core/buf.h"

enum humane_unit {
    HUMANE_COUNT,
    HUMANE_RATE,       /* Things a second. */
    HUMANE_BYTES,      /* In powers of 1,024. */
    HUMANE_BYTES_RATE, /* Bytes a second. */
    HUMANE_DURATION,   /* µs. */
    HUMANE_TIME,       /* µs since the epoch. */
};

/* "used_bytes": bytes; "…bytes_per_s", "…_per_s", "…at_us", "…_us". */
enum humane_unit humane_unit_of(const char *field);

/* Append @value, short: three digits or a little more. A value that is no
 * number is "–". A time is UTC: "2026-01-31 12:00:00 UTC". */
void humane_put(struct buf *out, enum humane_unit unit, double value);
/* Append all digits of @value, with the unit in words. */
void humane_put_exact(struct buf *out, enum humane_unit unit, double value);

#endif /* CLI_CONSOLE_PAGES_HUMANE_H */
