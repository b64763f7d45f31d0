/* A request by another method than GET as part of a URL, so that archives can
 * look its answer up: "?__wb_method=POST&" and what its body says, as pywb and
 * warcio have it.
 *
 *     application/x-www-form-urlencoded    its text, decoded
 *     multipart/form-data                  NAME=VALUE of each part
 *     application/json, text/plain         NAME=VALUE of each value that has a
 *                                          name, in order; the second of a name
 *                                          is NAME.2_
 *     else, and what is none of these      __wb_post_data=BASE64
 *
 * At most METHOD_QUERY_MAX characters. Anybody may send bodies: the work is
 * linear in them but for names that repeat, of which 4,096 characters hold few.
 *
 * Pure. Any thread.
 */
#ifndef MAPREDUCE_WARC_METHOD_QUERY_H
#define MAPREDUCE_WARC_METHOD_QUERY_H

#include <stdbool.h>

#include "base/core/buf.h"
#include "base/core/slice.h"

#define METHOD_QUERY_MAX ((size_t)4096)

/* Does an answer to @method belong to another place than that of the page? */
bool method_is_other(struct slice method);

/* Append what the body of a request says: nothing for methods other than POST
 * and PUT, and for an empty body. @type is its Content-Type, or "". */
void method_query_put(struct slice method,
                      struct slice type,
                      struct slice body,
                      struct buf *out);

/* Append @url with the method and @query, which method_query_put() made. */
void method_query_url(struct slice url,
                      struct slice method,
                      struct slice query,
                      struct buf *out);

/* The method that the URL or SURT @url was given so; "" for none. Borrowed. */
struct slice method_query_of(struct slice url);

#endif /* MAPREDUCE_WARC_METHOD_QUERY_H */
