/* The values of a JSON text as fields of a form, as pywb flattens them:
 * {"a": {"b": 1, "c": [2, true]}} is "b=1&c=2&c.2_=true". Pure. */
#ifndef MAPREDUCE_WARC_JSON_QUERY_H
#define MAPREDUCE_WARC_JSON_QUERY_H

#include <stdbool.h>

#include "base/core/buf.h"
#include "base/core/slice.h"

#define JSON_QUERY_DEPTH_MAX 256

/* Append them to @out, at most @bytes_max of them and one more. False, with
 * nothing appended: @json is no JSON, or deeper than JSON_QUERY_DEPTH_MAX. */
bool json_query_put(struct slice json, size_t bytes_max, struct buf *out);

/* Append @s as a form has it: a blank is "+", other bytes but letters, digits
 * and "_.-~" are %XX. */
void json_query_escape(struct slice s, struct buf *out);

#endif /* MAPREDUCE_WARC_JSON_QUERY_H */
