/* Values as text: as source of the language, and as results of tables. */
#ifndef SAWZALL_LITE_VALUES_VALUE_TEXT_H
#define SAWZALL_LITE_VALUES_VALUE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/slice.h"
#include "sawzall-lite/values/types.h"
#include "sawzall-lite/values/value.h"

/* How a value is written. */
enum saw_print_mode {
    SAW_PRINT_SOURCE, /* As a literal of the language: "a\n", 3.0, {1, 2}. */
    SAW_PRINT_RESULT, /* As tables print it: strings raw, floats %.15g, … */
};

/* Append @v, which is of type @t. Parts deeper than SAW_VALUE_DEPTH_MAX are
 * written as "…". */
void saw_value_print(const struct saw_type *t,
                     union saw_slot v,
                     enum saw_print_mode mode,
                     struct buf *out);

/* A form of composites: the text around them, and how a scalar is written. */
struct saw_print_style {
    const char *open, *close, *empty_map;
    void (*scalar)(const struct saw_type *t, union saw_slot v, struct buf *out);
};

/* Append @v in a form of the caller's. */
void saw_value_print_style(const struct saw_print_style *style,
                           const struct saw_type *t,
                           union saw_slot v,
                           struct buf *out);

/* Append a value that is no array, map or tuple, as source text. */
void saw_print_scalar(const struct saw_type *t,
                      union saw_slot v,
                      struct buf *out);

/* Append @x as the language writes floats: %.15g, with ".0" if it would look
 * like an int. */
void saw_print_float(double x, struct buf *out);
/* Append @s, valid UTF-8, in quotes and with escapes; at most @chars_max code
 * points of it. @ascii_only escapes code points from U+0100 on. */
void saw_print_quoted(struct slice s,
                      size_t chars_max,
                      char quote,
                      bool ascii_only,
                      struct buf *out);
/* Append an integer in lower case. PRE: @base is from 2 to 36. */
void saw_print_uint(uint64_t v, unsigned base, struct buf *out);

#endif /* SAWZALL_LITE_VALUES_VALUE_TEXT_H */
