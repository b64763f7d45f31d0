/* Registrable domains by the Public Suffix List (https://publicsuffix.org/): of
 * www.bbc.co.uk it is bbc.co.uk, because anyone may register below co.uk. The
 * list is libpsl's: the system's copy where it is newer than the built-in one.
 *
 * Threads: a list is immutable; any. Nothing waits but public_suffixes_new(),
 * which reads the system's copy.
 */
#ifndef MAPREDUCE_WARC_PUBLIC_SUFFIX_H
#define MAPREDUCE_WARC_PUBLIC_SUFFIX_H

#include "base/core/slice.h"

struct public_suffixes;

/* Owned: public_suffixes_free(). */
struct public_suffixes *public_suffixes_new(void);
void public_suffixes_free(struct public_suffixes *p); /* NULL is allowed. */

/* The registrable domain of @reversed ("uk.co.bbc.www"), reversed as well
 * ("uk.co.bbc"): a prefix of it. Itself where there is none: an address, a
 * public suffix, a name of one label or of more bytes than names have. */
struct slice public_suffixes_domain(const struct public_suffixes *p,
                                    struct slice reversed);

#endif /* MAPREDUCE_WARC_PUBLIC_SUFFIX_H */
