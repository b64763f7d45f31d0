/* A datum: one value of the language as self-describing bytes whose memcmp
 * order is the language's order.
 *
 * Tables see values only in this form: index keys, elements, weights and the
 * partial states that travel between workers. Equal values have equal bytes, so
 * a key is hashed and compared without knowing its type, and results come out
 * sorted by sorting bytes. Each datum begins with its tag:
 *
 *     tag   value         bytes that follow
 *     0x10  bool          1: 0 or 1
 *     0x11  int           8, big-endian, sign bit flipped
 *     0x12  uint          8, big-endian
 *     0x13  float         8, big-endian, mapped so that order is numeric
 *     0x14  time          8, big-endian (microseconds)
 *     0x15  fingerprint   8, big-endian
 *     0x16  string        text with 00 written as 00 ff, then 00 01
 *     0x17  bytes         the same
 *     0x20  array         its elements, then 01
 *     0x21  tuple         its fields, then 01
 *     0x22  map           key and value in turn, keys ascending, then 01
 *
 * The terminator sorts below every tag, so a shorter array is less than a
 * longer one that begins with it. Several data written one after the other are
 * ordered like a tuple; an index key of several columns is such a sequence.
 *
 * Reading is safe on bytes from an untrusted source: nesting deeper than
 * SAW_DATUM_DEPTH_MAX and anything cut or malformed is refused.
 */
#ifndef SAWZALL_LITE_VALUES_DATUM_H
#define SAWZALL_LITE_VALUES_DATUM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "sawzall-lite/values/value.h"

enum saw_datum_tag {
    SAW_DATUM_END = 0x01,
    SAW_DATUM_BOOL = 0x10,
    SAW_DATUM_INT = 0x11,
    SAW_DATUM_UINT = 0x12,
    SAW_DATUM_FLOAT = 0x13,
    SAW_DATUM_TIME = 0x14,
    SAW_DATUM_FINGERPRINT = 0x15,
    SAW_DATUM_STRING = 0x16,
    SAW_DATUM_BYTES = 0x17,
    SAW_DATUM_ARRAY = 0x20,
    SAW_DATUM_TUPLE = 0x21,
    SAW_DATUM_MAP = 0x22,
};

/* Deeper values are refused when read, so that walking one may recurse. */
#define SAW_DATUM_DEPTH_MAX 128

/* Bytes of a datum of 8-byte payload, its tag included. */
#define SAW_DATUM_WORD_BYTES 9

/* --- writing: each appends one datum to @b ------------------------------- */

void saw_datum_put_bool(struct buf *b, bool v);
void saw_datum_put_int(struct buf *b, int64_t v);
/* Every NaN becomes the same datum, which sorts first. */
void saw_datum_put_float(struct buf *b, double v);
/* @tag is SAW_DATUM_UINT, SAW_DATUM_TIME or SAW_DATUM_FINGERPRINT. */
void saw_datum_put_word(struct buf *b, enum saw_datum_tag tag, uint64_t v);
/* @tag is SAW_DATUM_STRING or SAW_DATUM_BYTES. */
void saw_datum_put_text(struct buf *b, enum saw_datum_tag tag, struct slice s);
/* Any value of the language, by its type. Equal values have equal bytes: a
 * map's entries are sorted. Parts nested deeper than readers accept become "…".
 */
void saw_value_encode(const struct saw_type *t,
                      union saw_slot v,
                      struct buf *out);
/* Begin an array, tuple or map (the writer sorts a map's entries by the bytes
 * of their keys); saw_datum_put_end() closes it. */
void saw_datum_put_open(struct buf *b, enum saw_datum_tag tag);
void saw_datum_put_end(struct buf *b);

/* --- reading ------------------------------------------------------------- */

/* Skip one datum, checking all of it; returns its bytes, tag included, borrowed
 * from the cursor's memory. c->bad is set when it is malformed. */
struct slice saw_datum_skip(struct cursor *c);

/* True if @s is exactly one well-formed datum. */
bool saw_datum_valid(struct slice s);

/* The 8-byte payload at @d, which is a valid datum of that kind. */
int64_t saw_datum_int(struct slice d);
double saw_datum_float(struct slice d);
uint64_t saw_datum_word(struct slice d);

/* Append the text of a string or bytes datum @d (valid) with its escapes
 * undone. */
void saw_datum_text(struct slice d, struct buf *out);

static inline uint8_t saw_datum_tag(struct slice d)
{
    return d.len ? (uint8_t)d.data[0] : 0;
}

/* An int, uint, time or float as a double; 0 for any other datum. */
double saw_datum_number(struct slice d);

/* --- computing ----------------------------------------------------------- */

/* Append a + b to @out: numbers and times add, tuples and arrays field by
 * field, maps entry by entry, keeping keys that only one has. False, with @out
 * as it was, when the two differ in structure or hold a part that cannot be
 * added. PRE: both are valid. */
MUST_CHECK bool saw_datum_add(struct slice a, struct slice b, struct buf *out);

/* Append -@d, so that saw_datum_add() of both gives zeros: ints, uints, times,
 * and tuples of them. False, with a part of it appended, when @d is another or
 * malformed. */
MUST_CHECK bool saw_datum_negate(struct slice d, struct buf *out);

/* Append a zero in the shape of @d: numbers 0, maps and texts empty, bools
 * false. PRE: @d is valid. */
void saw_datum_zero(struct slice d, struct buf *out);

/* Append the datum as the published interpreter prints results: strings raw,
 * floats %.15g, times and fingerprints as decimal numbers, arrays and tuples
 * `{ a, b }`, maps `{ k: v }`; the fields of an outermost tuple without braces.
 * PRE: @d is valid. */
void saw_datum_print(struct slice d, struct buf *out);

#endif /* SAWZALL_LITE_VALUES_DATUM_H */
