/* The bytes of tokens of JavaScript: where a literal, a name or a comment ends.
 *
 * Each function takes the text, which is in UTF-8 or another charset whose
 * ASCII bytes mean ASCII, and the place of the first byte. Pure; linear in what
 * it passes.
 */
#ifndef WEB_REPLAY_JS_LITERAL_H
#define WEB_REPLAY_JS_LITERAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/slice.h"

/* "There is no end": the text is none of JavaScript, or was not understood. */
#define JS_NO_END SIZE_MAX

bool js_is_digit(unsigned char c);
/* Escapes (\\u0061) count as part of a name; it is none that matters then. */
bool js_is_name_start(unsigned char c);
/* The byte at @at; 0 behind the end. */
unsigned char js_byte(struct slice js, size_t at);

/* Behind blanks and comments. *@lines is set if a line ended in them, and says,
 * where it is set before, that the first byte stands at the start of a line.
 * "<!--" and "-->" are comments of scripts, not of modules. */
size_t js_blanks_end(struct slice js, size_t at, bool is_module, bool *lines);

/* The ends of literals; JS_NO_END. */
size_t js_string_end(struct slice js, size_t at);
size_t js_regex_end(struct slice js, size_t at);
/* Of a part of a template, @at behind what begins it; *@opens: it ends in "${".
 */
size_t js_template_end(struct slice js, size_t at, bool *opens);

size_t js_number_end(struct slice js, size_t at);
size_t js_name_end(struct slice js, size_t at);
size_t js_punctuator_end(struct slice js, size_t at);

#endif /* WEB_REPLAY_JS_LITERAL_H */
