/* Decoding of literals for the lexer: numbers, characters, strings, bytes.
 *
 * Each function reads the literal at offset @at of @s, fills the token's value
 * (and, for numbers, its kind) and returns the offset after it. An error in a
 * literal is reported to @d, and the token gets some value all the same, so
 * that parsing continues.
 */
#ifndef SAWZALL_LITE_FRONT_LITERAL_H
#define SAWZALL_LITE_FRONT_LITERAL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/core/arena.h"
#include "sawzall-lite/front/lexer.h"

/* 12, 0x1f, 0b101, 017, 1.5e3, 12U, 12T, 0xabP. */
size_t saw_literal_number(struct saw_diag *d,
                          struct saw_source *s,
                          size_t at,
                          struct saw_token *t);
/* 'x', '\n', '\u00e9': an int. */
size_t saw_literal_char(struct saw_diag *d,
                        struct saw_source *s,
                        size_t at,
                        struct saw_token *t);
/* "with\tescapes" or `raw`; of bytes, every character is one byte. */
size_t saw_literal_string(struct arena *a,
                          struct saw_diag *d,
                          struct saw_source *s,
                          size_t at,
                          bool bytes,
                          struct saw_token *t);
/* X"0aff". */
size_t saw_literal_hex(struct arena *a,
                       struct saw_diag *d,
                       struct saw_source *s,
                       size_t at,
                       struct saw_token *t);

#endif /* SAWZALL_LITE_FRONT_LITERAL_H */
