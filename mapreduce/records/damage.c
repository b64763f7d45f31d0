/* Damage counted, and the first places kept in words: a file of noise must not
 * fill memory with sentences about it. */
#include "mapreduce/records/damage.h"

#include <stdarg.h>

#include "base/core/coding.h"
#include "base/core/panic.h"

void damage_close(struct damage *d)
{
    buf_close(&d->texts);
    d->kept = 0;
}

void damage_add(struct damage *d, uint64_t records, const char *fmt, ...)
{
    struct buf text = BUF_INIT;
    va_list ap;
    d->places++;
    d->records += records;
    if (d->kept == DAMAGE_KEPT_MAX)
        return;
    d->kept++;
    va_start(ap, fmt);
    buf_vprintf(&text, fmt, ap);
    va_end(ap);
    buf_put_lslice(&d->texts, buf_slice(&text));
    INVARIANT(d->kept <= DAMAGE_KEPT_MAX);
    buf_close(&text);
}

void damage_merge(struct damage *d, const struct damage *from)
{
    struct cursor in = cursor_make(buf_slice(&from->texts));
    d->places += from->places;
    d->records += from->records;
    d->expected |= from->expected;
    while (cursor_left(&in) > 0 && !in.bad && d->kept < DAMAGE_KEPT_MAX) {
        buf_put_lslice(&d->texts, cursor_lslice(&in));
        d->kept++;
    }
}
