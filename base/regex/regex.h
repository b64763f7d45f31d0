/* Regular expressions in time linear in the text: RE2 behind a C interface.
 *
 * Used where a pattern comes from a user: row filters, Sawzall, the command
 * line. This syntax has no back-references and no look-around, which makes
 * hostile patterns harmless (https://swtch.com/~rsc/regexp/).
 *
 * Threads: a compiled regex is immutable; matching is any thread.
 */
#ifndef BASE_REGEX_REGEX_H
#define BASE_REGEX_REGEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/slice.h"

struct regex;

enum regex_encoding {
    REGEX_UTF8,  /* '.' is a code point; text that is not UTF-8 still works. */
    REGEX_BYTES, /* '.' is a byte (Latin-1), as Bigtable filters want. */
};

/* Memory one pattern may use, compiled and while matching. */
#define REGEX_BYTES_MAX (8 << 20)

/* Compile @pattern. *@out is owned; NULL on failure.
 * Errors: ERR_INVALID with RE2's text and the offending piece. */
MUST_CHECK int regex_new(struct slice pattern,
                         enum regex_encoding encoding,
                         struct regex **out,
                         struct err *err);
void regex_free(struct regex *r); /* NULL is allowed. */

/* Groups, the whole match not counted. */
int regex_group_count(const struct regex *r);

/* True if the pattern matches all of @text. */
bool regex_full_match(const struct regex *r, struct slice text);

/* Find the leftmost match at or after @start. @groups (borrowed from @text)
 * gets the whole match and then the groups, up to @group_count of them; a group
 * that took no part has data NULL. @group_count 0 is the fastest. */
bool regex_search(const struct regex *r,
                  struct slice text,
                  size_t start,
                  struct slice *groups,
                  size_t group_count);

enum regex_outcome {
    REGEX_FOUND,
    REGEX_ABSENT,
    REGEX_TOO_DEAR, /* It would take more steps than are left. */
};

/* regex_search() within a budget: *@steps, of one or two machine instructions
 * each, is the budget and becomes the rest of it.
 *
 * Time is linear in the text for every pattern, but the factor is not the same:
 * a pattern whose automaton explodes (`(a|b)*a(a|b){300}`) costs thousands
 * of times more per byte. Such a search is abandoned unless the budget
 * allows it. */
enum regex_outcome regex_search_within(const struct regex *r,
                                       struct slice text,
                                       size_t start,
                                       struct slice *groups,
                                       size_t group_count,
                                       uint64_t *steps);

/* Approximate least number of steps to search @len bytes. */
uint64_t regex_search_steps(const struct regex *r, size_t len);

/* Approximate number of steps that compiling it took. */
uint64_t regex_compile_steps(const struct regex *r);

#endif /* BASE_REGEX_REGEX_H */
