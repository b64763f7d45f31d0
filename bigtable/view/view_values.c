/* Values as data of the language and back. Keys of groups and sums are made of
 * them: what is stored of a view, and what its readers get, is in the
 * language's own encoding, so that its tables can merge it.
 */
#include "bigtable/view/view_values.h"

#include "base/core/coding.h"
#include "base/core/panic.h"
#include "sawzall-lite/values/datum.h"

static struct slice
keep_text(struct slice datum, struct arena *arena, struct buf *scratch)
{
    buf_clear(scratch);
    saw_datum_text(datum, scratch);
    return arena_dup(arena, buf_slice(scratch));
}

int view_value_read(struct slice datum,
                    struct arena *arena,
                    struct buf *scratch,
                    struct quarry_view_value *out,
                    struct err *err)
{
    const uint8_t tag = saw_datum_tag(datum);
    out->null = false;
    if (tag == SAW_DATUM_INT)
        out->integer = saw_datum_int(datum);
    else if (tag == SAW_DATUM_BOOL && datum.len > 1)
        out->integer = datum.data[1];
    else if (tag == SAW_DATUM_FLOAT)
        out->real = saw_datum_float(datum);
    else if (tag == SAW_DATUM_STRING || tag == SAW_DATUM_BYTES)
        out->bytes = keep_text(datum, arena, scratch);
    else
        return err_set(err, ERR_CORRUPT, "a value of the view is damaged");
    return 0;
}

struct slice view_value_field(struct slice datum, unsigned at)
{
    struct cursor c = cursor_make(slice_sub(datum, 1, datum.len));
    struct slice field = datum;
    if (saw_datum_tag(datum) != SAW_DATUM_TUPLE)
        return at ? SLICE_EMPTY : datum;
    for (unsigned i = 0; i <= at && !c.bad; i++) {
        if (cursor_left(&c) == 0 || *c.p == SAW_DATUM_END)
            return SLICE_EMPTY;
        field = saw_datum_skip(&c);
    }
    return c.bad ? SLICE_EMPTY : field;
}

void view_value_bound(struct buf *out,
                      const struct quarry_view_value *v,
                      enum quarry_view_type type,
                      bool last)
{
    saw_datum_put_open(out, SAW_DATUM_TUPLE);
    saw_datum_put_bool(out, false);
    switch (type) {
    case QUARRY_VIEW_INT:
    case QUARRY_VIEW_TIME: saw_datum_put_int(out, v->integer); break;
    case QUARRY_VIEW_FLOAT: saw_datum_put_float(out, v->real); break;
    case QUARRY_VIEW_BOOL: saw_datum_put_bool(out, v->integer != 0); break;
    case QUARRY_VIEW_TEXT:
    case QUARRY_VIEW_BYTES:
        saw_datum_put_text(
            out, type == QUARRY_VIEW_TEXT ? SAW_DATUM_STRING : SAW_DATUM_BYTES,
            v->bytes);
        if (last)
            buf_truncate(out, out->len - 2);
        break;
    }
    if (!last)
        saw_datum_put_end(out);
}

void quarry_view_value_put(const struct quarry_view_value *v,
                           enum quarry_view_type type,
                           struct buf *out)
{
    PRE(!v->null);
    switch (type) {
    case QUARRY_VIEW_TEXT:
    case QUARRY_VIEW_BYTES: buf_append_slice(out, v->bytes); break;
    case QUARRY_VIEW_FLOAT: buf_printf(out, "%.15g", v->real); break;
    case QUARRY_VIEW_BOOL:
        buf_append_str(out, v->integer ? "true" : "false");
        break;
    case QUARRY_VIEW_INT:
    case QUARRY_VIEW_TIME:
        buf_printf(out, "%lld", (long long)v->integer);
        break;
    }
}
