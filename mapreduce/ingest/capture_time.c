/* Filling the digits below the precision of a date from a hash of the capture's
 * identity, so that a second import gives the same times. */
#include "mapreduce/ingest/capture_time.h"

#include "base/core/hash.h"
#include "mapreduce/warc/date.h"

#define SECOND_US INT64_C(1000000)

uint64_t capture_identity_of(struct slice id)
{
    id = slice_trim(id);
    if (id.len > 1 && id.data[0] == '<' && id.data[id.len - 1] == '>')
        id = slice_sub(id, 1, id.len - 1);
    return hash64_slice(id);
}

uint64_t capture_identity(const struct warc_record *rec)
{
    return rec->id.len ? capture_identity_of(rec->id)
                       : hash64_slice(rec->block);
}

int64_t capture_time(struct slice date, int64_t us, uint64_t identity)
{
    int64_t start;
    int64_t span;
    /* The server's Date, or no date at all: as good as the second. */
    if (!date_parse_span(date, &start, &span) || start != us ||
        span > SECOND_US)
        span = SECOND_US;
    return us + (int64_t)(identity % (uint64_t)span);
}
