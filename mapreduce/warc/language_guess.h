/* The language of a text by its letters: CLD2, which counts groups of four
 * letters in 80 languages (https://github.com/CLD2Owners/cld2).
 *
 * Pure; threads: any. Nothing waits.
 */
#ifndef MAPREDUCE_WARC_LANGUAGE_GUESS_H
#define MAPREDUCE_WARC_LANGUAGE_GUESS_H

#include <stdbool.h>

#include "base/core/slice.h"

/* With its NUL: "zh-Hant", "sr-ME". */
#define LANGUAGE_CODE_BYTES 16

/* The language of most of @text, which is UTF-8 without markup, as a code of
 * BCP 47 in lower case ("de", "zh-hant") in @code. @declared is what the page
 * claims ("en-us", or ""), a hint between languages that look alike. False, and
 * @code "": too short, mixed, not UTF-8 or no language. Of a long text the
 * first 256 KiB are read. */
bool language_guess(struct slice text,
                    struct slice declared,
                    char code[LANGUAGE_CODE_BYTES]);

/* The code of ISO 639-3 for one of those: "deu" for "de", as WET files have it;
 * itself where there is none. Static or @code. */
const char *language_code_of_3(const char *code);

#endif /* MAPREDUCE_WARC_LANGUAGE_GUESS_H */
