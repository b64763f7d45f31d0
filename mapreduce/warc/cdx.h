/* Index lines of web archives (CDXJ): "surt SP 14 digits SP {json}", one for
 * each response, resource and revisit. Pure. */
#ifndef MAPREDUCE_WARC_CDX_H
#define MAPREDUCE_WARC_CDX_H

#include <stdbool.h>

#include "base/core/buf.h"
#include "mapreduce/warc/archive_reader.h"
#include "mapreduce/warc/archived_http.h"

/* The fields of a line; empty ones and zeros are left out. */
struct cdx_entry {
    struct slice uri;
    int64_t time_us;
    struct slice mime;
    unsigned status;
    struct slice digest;
    uint64_t length;
    bool has_offset;
    uint64_t offset;
    struct slice file_name;
    struct slice method; /* Of the request, if it is not GET, */
    struct slice query;  /* and what its body says (method_query.h). */
};

/* Append the line of @e, with its end, to @out. */
void cdx_put(const struct cdx_entry *e, struct buf *out);

/* Append the line of @rec, with its end, to @out; false: records of its type
 * have none. @m is its HTTP head, or NULL. */
bool cdx_line(const struct warc_record *rec,
              const struct http_message *m,
              const char *file_name,
              struct buf *out);

/* Append @s as a JSON string in quotes; bytes that are not UTF-8 are taken as
 * windows-1252. */
void cdx_json_string(struct slice s, struct buf *out);

#endif /* MAPREDUCE_WARC_CDX_H */
