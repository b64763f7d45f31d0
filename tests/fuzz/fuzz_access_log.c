/* Any bytes taken as a line of an access log: the parts lie inside it. */
#include <stdlib.h>

#include "mapreduce/ingest/log_line.h"

static void inside(struct slice part, struct slice all)
{
    if (part.len &&
        (part.data < all.data || part.data + part.len > all.data + all.len))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice all = slice_make(data, size);
    struct log_line l;
    if (!log_line_parse(all, &l))
        return 0;
    if (l.client.len == 0 || l.status.len == 0)
        abort();
    inside(l.vhost, all);
    inside(l.client, all);
    inside(l.user, all);
    inside(l.request, all);
    inside(l.method, all);
    inside(l.path, all);
    inside(l.protocol, all);
    inside(l.status, all);
    inside(l.bytes, all);
    inside(l.referer, all);
    inside(l.agent, all);
    return 0;
}
