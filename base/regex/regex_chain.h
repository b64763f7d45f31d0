/* Patterns that are a chain: items one after the other, each of which can match
 * in one way only. They need no automaton.
 *
 *     ^([^ ]+) [^ ]+ "(GET|POST) ([^ ]+) HTTP/1\.[01]" (\d{3}) (\d+)
 *
 * Items are bytes, classes, repeated classes, groups of items, and choices
 * between texts. A repeated class is taken whole: nothing that may follow it
 * begins with a byte of the class, so a match can end it nowhere else, and the
 * result is RE2's (leftmost, greedy). Classes that exclude a single byte, such
 * as [^ ], are searched by vectors.
 *
 * Invariants
 *     INV-1. The last op is CHAIN_DONE; groups open and close in pairs.
 *     INV-2. A repeated class of no fixed count and the bytes that may follow
 *            it have no byte in common.
 *
 * Threads: immutable once made; any thread.
 */
#ifndef BASE_REGEX_REGEX_CHAIN_H
#define BASE_REGEX_REGEX_CHAIN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/core/slice.h"

#ifdef __cplusplus
extern "C" {
#endif

struct regex_chain;

/* @pattern as a chain, owned, or NULL if it is none; RE2 has accepted it.
 * @utf8: texts are UTF-8, else bytes. */
struct regex_chain *regex_chain_new(struct slice pattern, bool utf8);
void regex_chain_free(struct regex_chain *c); /* NULL is allowed. */

enum regex_chain_outcome {
    REGEX_CHAIN_FOUND,
    REGEX_CHAIN_ABSENT,
    /* RE2 must say: bytes beyond ASCII where a class may match them, or more
     * attempts than keep the time linear in the text. */
    REGEX_CHAIN_UNSURE,
};

/* As regex_search(). @groups is undefined unless found. */
enum regex_chain_outcome regex_chain_search(const struct regex_chain *c,
                                            struct slice text,
                                            size_t start,
                                            struct slice *groups,
                                            size_t group_count);

#ifdef __cplusplus
}
#endif

#endif /* BASE_REGEX_REGEX_CHAIN_H */
