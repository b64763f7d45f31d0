/* The sort key of web archives' indexes: "org,archive)/goo?a=1&a=2&b" for
 * http://www.archive.org/goo/?a=2&b&a=1, as the canonicaliser of the Internet
 * Archive makes it: www and session ids dropped, case folded, arguments sorted.
 * It merges pages that differ; row keys do not (see url.h). Pure. */
#ifndef MAPREDUCE_WARC_SURT_H
#define MAPREDUCE_WARC_SURT_H

#include "base/core/buf.h"
#include "base/core/slice.h"

/* Append the key of @uri to @out. URIs that name no host (dns:, warcinfo:,
 * filedesc:, mailto:) are their own key. */
void surt_key(struct slice uri, struct buf *out);

#endif /* MAPREDUCE_WARC_SURT_H */
