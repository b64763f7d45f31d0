/* Words of the index near to what somebody typed. They park; errors: those of
 * reading. */
#ifndef WEB_SEARCH_QUERY_TERM_SUGGESTION_H
#define WEB_SEARCH_QUERY_TERM_SUGGESTION_H

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct index_view;

/* The term that was perhaps meant by @term, which @documents have: one or two
 * characters differ, and far more documents have it. "" into @out: none. Terms
 * that begin with the same byte are looked at. */
MUST_CHECK int term_suggestion_near(const struct index_view *view,
                                    struct slice term,
                                    uint64_t documents,
                                    struct buf *out,
                                    struct err *err);

/* The terms of most documents that begin with @prefix, at most @limit, appended
 * to @out with a line feed each. */
MUST_CHECK int term_suggestion_prefix(const struct index_view *view,
                                      struct slice prefix,
                                      size_t limit,
                                      struct buf *out,
                                      struct err *err);

#endif /* WEB_SEARCH_QUERY_TERM_SUGGESTION_H */
