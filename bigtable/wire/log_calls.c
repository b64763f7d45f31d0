/* Messages about logs of dead servers. Holders are not MessagePack: a list of
 * them is cut at any holder when it grows too long. */
#include "bigtable/wire/log_calls.h"

#include "base/core/coding.h"
#include "bigtable/wire/message.h"

void log_holder_put(const struct log_holder *h, struct buf *out)
{
    buf_put_varint(out, h->log);
    buf_put_varint(out, h->server);
    buf_put_lslice(out, h->segment);
    buf_put_lslice(out, h->address);
}

bool log_holder_next(struct cursor *c, struct log_holder *h)
{
    if (c->bad || c->p == c->end)
        return false;
    h->log = cursor_varint(c);
    h->server = cursor_varint(c);
    h->segment = cursor_lslice(c);
    h->address = cursor_lslice(c);
    return !c->bad;
}
