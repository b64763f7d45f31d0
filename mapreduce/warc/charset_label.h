/* Labels of encodings as pages write them. Pure. */
#ifndef MAPREDUCE_WARC_CHARSET_LABEL_H
#define MAPREDUCE_WARC_CHARSET_LABEL_H

#include "base/core/slice.h"

struct charset_encoding {
    const char *name;  /* Of the Encoding Standard, in lower case. */
    const char *iconv; /* The same, for iconv. */
};

extern const struct charset_encoding charset_utf8;
extern const struct charset_encoding charset_utf16le;
extern const struct charset_encoding charset_utf16be;
extern const struct charset_encoding charset_windows_1252;

/* The encoding of @label; NULL: the Standard has no such label. */
const struct charset_encoding *charset_of_label(struct slice label);

/* The charset that the first bytes of a page declare in a <meta>, or "".
 * Borrowed from @html. */
struct slice charset_prescan(struct slice html);

#endif /* MAPREDUCE_WARC_CHARSET_LABEL_H */
