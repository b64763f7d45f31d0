/* URLs that differ in their query alone, in a way that does not matter: what
 * stands in for a URL that was not captured. Pages put the time, or a number by
 * chance, into the URLs of files that they embed ("app.css?1393844276741"), so
 * that the ones a browser asks for were never crawled. The rules are those that
 * pywb has for all sites.
 *
 * Pure.
 */
#ifndef WEB_REPLAY_SIMILAR_URL_H
#define WEB_REPLAY_SIMILAR_URL_H

#include <stdbool.h>

#include "base/core/buf.h"
#include "base/core/slice.h"

/* Is @url of a file, by the extension of its path: one that no program makes?
 * Of such a file any query will do. */
bool similar_url_is_file(struct slice url);
/* Is it by its media type: films in pieces, and Flash? */
bool similar_url_is_stream(struct slice media);
/* Append @surt without the arguments that browsers are to be kept from caching
 * by (_, cb, uncache, with a number), and without those that count visitors
 * (utm_…). */
void similar_url_plain(struct slice surt, struct buf *out);

#endif /* WEB_REPLAY_SIMILAR_URL_H */
