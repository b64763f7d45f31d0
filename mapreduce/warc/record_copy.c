/* Records that outlive the reader's memory: segments that wait for others, and
 * answers that wait for their requests. */
#include "base/core/arena.h"
#include "mapreduce/warc/archive_reader.h"

void warc_record_copy(const struct warc_record *rec,
                      struct arena *arena,
                      struct warc_record *out)
{
    struct slice *const slices[] = {
        &out->version,
        &out->type_name,
        &out->uri,
        &out->date,
        &out->id,
        &out->content_type,
        &out->ip,
        &out->block_digest,
        &out->payload_digest,
        &out->truncated,
        &out->profile,
        &out->refers_to,
        &out->refers_to_uri,
        &out->refers_to_date,
        &out->segment_origin,
    };
    struct warc_header *headers;
    *out = *rec;
    for (size_t i = 0; i < ARRAY_LEN(slices); i++)
        *slices[i] = arena_dup(arena, *slices[i]);
    headers = arena_alloc(arena, sizeof(*headers) * (rec->header_count + 1));
    for (size_t i = 0; i < rec->header_count; i++) {
        headers[i].name = arena_dup(arena, rec->headers[i].name);
        headers[i].value = arena_dup(arena, rec->headers[i].value);
    }
    out->headers = headers;
    out->block = SLICE_EMPTY;
}
