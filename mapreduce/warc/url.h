/* URIs: split, resolved (RFC 3986), brought to one form, and turned into the
 * row keys of a Webtable.
 *
 * The row key of http://www.cnn.com/path?query is "com.cnn.www/path?query": the
 * host's labels reversed, so that pages of a domain lie together; then the port
 * unless it is the scheme's own; then path and query. http and https share a
 * row. Another scheme follows the host: "org.gnu.ftp:ftp/pub". IP addresses are
 * not reversed. Users, passwords and fragments are left out. A URI without a
 * host ("urn:…", "mailto:…", "file:///…") is its own key, except dns:HOST,
 * which is HOST reversed and ":dns". docs/crawl.md tells why.
 *
 * Case of path and query, "www." and percent escapes stay as they are: two
 * pages a server may tell apart are never merged. Pure; nothing waits.
 */
#ifndef MAPREDUCE_WARC_URL_H
#define MAPREDUCE_WARC_URL_H

#include <stdbool.h>

#include "base/core/buf.h"
#include "base/core/slice.h"

/* Longer ones are refused: a row key has 64 KiB. */
#define URL_BYTES_MAX ((size_t)60 << 10)

struct url {
    struct slice scheme; /* Without ':'. */
    struct slice userinfo;
    struct slice host;
    struct slice port;
    struct slice path;
    struct slice query;    /* Without '?'. */
    struct slice fragment; /* Without '#'. */
    bool has_authority;
    bool has_query;
    bool has_fragment;
};

/* Split any string: nothing is checked. Slices are borrowed from @s. */
void url_split(struct slice s, struct url *u);

/* Put the parts together again, appended to @out. */
void url_join(const struct url *u, struct buf *out);

/* @ref as seen from @base, appended to @out: RFC 3986, 5.2, strict. */
void url_resolve(const struct url *base, struct slice ref, struct buf *out);

/* The URI as a browser would request it, appended to @out: blanks around
 * trimmed, line ends and tabs removed, scheme and host in lower case, the
 * default port and the fragment dropped, dot segments resolved, "/" for an
 * empty path, and bytes that a URI may not contain (blanks, controls,
 * non-ASCII, quotes, <>) percent-escaped. False, and nothing appended: not an
 * absolute URI, or too long. */
bool url_normalise(struct slice s, struct buf *out);

/* For an absolute URI that url_normalise() refuses because its host is invalid:
 * the whole of it with blanks, controls and the like percent-escaped, appended
 * to @out. It is its own row key. False: it has no scheme or is too long. */
bool url_escape_whole(struct slice s, struct buf *out);

/* The row key of a normalised URI, appended to @out. */
bool url_row_key(struct slice normalised, struct buf *out);
/* url_normalise and url_row_key in one. */
bool url_key(struct slice uri, struct buf *out);

/* A URI with the row key @key, appended to @out: "http://…" where the key does
 * not name a scheme. */
void url_of_row_key(struct slice key, struct buf *out);

/* "www.cnn.com" to "com.cnn.www" and back, appended to @out. */
void url_reverse_host(struct slice host, struct buf *out);

/* The host part of a row key, still reversed; borrowed. */
struct slice url_key_host(struct slice key);

/* IPv4 in dots, or IPv6 in brackets. */
bool url_is_ip(struct slice host);

#endif /* MAPREDUCE_WARC_URL_H */
