/* How much a word in a document is worth: its BM25F part w / (k1 + w), where w
 * adds its occurrences up, each field's by its weight and divided by how long
 * the field is against a fixed usual length (Robertson, Zaragoza, Taylor 2004).
 *
 * The usual lengths are constants and not averages of the collection, so that a
 * weight is a property of the document alone: it need not change when others
 * come and go. Pure.
 */
#ifndef WEB_SEARCH_BUILD_WORD_WEIGHTS_H
#define WEB_SEARCH_BUILD_WORD_WEIGHTS_H

#include <stdint.h>

/* Kinds of occurrences: the fields of a document, and headings, which are words
 * of the body that count more. */
enum word_kind {
    WORD_TITLE,
    WORD_URL,
    WORD_ANCHOR,
    WORD_BODY,
    WORD_HEADING,
    WORD_KIND_COUNT
};

/* The part of w that one occurrence in a field of @length words adds. */
double word_kind_part(enum word_kind kind, uint32_t length);
/* w / (k1 + w) in steps from 1 to SEGMENT_WEIGHT_MAX. */
uint8_t word_weight(double w);

#endif /* WEB_SEARCH_BUILD_WORD_WEIGHTS_H */
