/* Values as string() writes them: like source text, but with dates for times,
 * with "U" after a uint and with blanks inside of braces, as the published
 * interpreter does.
 */
#include "sawzall-lite/builtins/private.h"
#include "sawzall-lite/builtins/time.h"
#include "sawzall-lite/values/value_text.h"

static void format_bytes(struct slice s, struct buf *out)
{
    bool printable = true;
    for (size_t i = 0; i < s.len; i++)
        printable &= s.data[i] >= ' ' && s.data[i] <= '~';
    if (printable) {
        buf_append_byte(out, 'B');
        saw_print_quoted(s, SIZE_MAX, '"', false, out);
        return;
    }
    buf_append_str(out, "X\"");
    for (size_t i = 0; i < s.len; i++)
        buf_printf(out, "%02X", (unsigned)(unsigned char)s.data[i]);
    buf_append_byte(out, '"');
}

static void format_time(uint64_t t, struct buf *out)
{
    struct buf text = BUF_INIT;
    if (saw_time_print(NULL, t, SLICE_EMPTY, &text))
        saw_print_quoted(buf_slice(&text), SIZE_MAX, '"', false, out);
    else
        buf_append_str(out, SAW_TIME_INVALID);
    buf_close(&text);
}

static void
format_scalar(const struct saw_type *t, union saw_slot v, struct buf *out)
{
    if (t->kind == SAW_TIME)
        format_time(v.u, out);
    else if (t->kind == SAW_BYTES)
        format_bytes(saw_str_slice(v.s), out);
    else
        saw_print_scalar(t, v, out);
    if (t->kind == SAW_UINT)
        buf_append_byte(out, 'U');
}

static const struct saw_print_style formatted = {"{ ", " }", "{ : }",
                                                 format_scalar};

void saw_value_format(const struct saw_type *t,
                      union saw_slot v,
                      struct buf *out)
{
    saw_value_print_style(&formatted, t, v, out);
}
