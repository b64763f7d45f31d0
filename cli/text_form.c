/* Forms of bytes: as arguments, as values
 * cut to a width (the same escapes), and in JSON and CSV, where bytes that are
 * not UTF-8 are in base64.
 */
#include "cli/text_form.h"

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/core/text.h"

void argument_unescape(struct buf *out, struct slice text)
{
    text_unescape_loose(out, text);
}

void text_put_cut(struct buf *out, struct slice s, size_t columns)
{
    size_t used = 0;
    size_t keep = out->len; /* Where the cut is made if it must be. */
    const char *end = s.data + s.len;
    for (const char *p = s.data; p < end;) {
        uint32_t code;
        size_t n = utf8_decode(p, end, &code);
        INVARIANT(n > 0);
        size_t before = out->len;
        text_put_escaped(out, slice_make(p, n), 0);
        used += utf8_columns(slice_sub(buf_slice(out), before, out->len));
        if (used > columns) {
            buf_truncate(out, keep);
            if (columns > 0)
                buf_append_str(out, "…");
            return;
        }
        if (used < columns)
            keep = out->len;
        p += n;
    }
}

void csv_put_bytes(struct buf *out, struct slice s)
{
    if (utf8_valid(s) && slice_find_byte(s, '\0') == s.len &&
        !slice_starts_with(s, SLICE_LIT(CSV_BASE64_MARK))) {
        text_put_csv(out, s);
        return;
    }
    buf_append_str(out, CSV_BASE64_MARK);
    base64_put(out, s);
}

void json_put_bytes(struct buf *out, const char *name, struct slice s)
{
    PRE(name);
    if (utf8_valid(s)) {
        buf_printf(out, "\"%s\": ", name);
        text_put_json(out, s);
        return;
    }
    buf_printf(out, "\"%s_base64\": \"", name);
    base64_put(out, s);
    buf_append_byte(out, '"');
}
