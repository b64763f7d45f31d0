/* Dates of archives as microseconds since 1970, and back.
 *
 * WARC-Date: year, month, day, minute or second precision, up to nine digits of
 * a fraction, with Z, an offset or nothing behind; the 14 digits of ARC and
 * CDX, also cut short or with a fraction stuck on; HTTP's three forms of dates.
 * Years 1 to 9999. Pure.
 */
#ifndef MAPREDUCE_WARC_DATE_H
#define MAPREDUCE_WARC_DATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/slice.h"

/* ISO 8601 as above or digits alone. Missing parts count as their first value.
 * False: it is not a date, and *@us is untouched. */
bool date_parse(struct slice s, int64_t *us);

/* As date_parse; *@span_us is the length of the time it names: a second, a day,
 * a year, 1 for a full microsecond. */
bool date_parse_span(struct slice s, int64_t *us, int64_t *span_us);

/* "Sun, 06 Nov 1994 08:49:37 GMT", the RFC 850 form and asctime's. */
bool date_parse_http(struct slice s, int64_t *us);

/* "06/Nov/1994:08:49:37 +0100" of access logs. */
bool date_parse_log(struct slice s, int64_t *us);

#define DATE_TEXT_BYTES 32

/* "2014-01-26T20:06:24Z", with a fraction of six digits if there is one. */
size_t date_format(int64_t us, char out[DATE_TEXT_BYTES]);
/* Always with the six digits. */
size_t date_format_us(int64_t us, char out[DATE_TEXT_BYTES]);
/* "20140126200624" */
void date_format_14(int64_t us, char out[DATE_TEXT_BYTES]);

#endif /* MAPREDUCE_WARC_DATE_H */
