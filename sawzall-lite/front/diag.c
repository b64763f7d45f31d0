/* Printing of messages; see diag.h. Lines are found by a binary search over
 * the offsets that the lexer notes, so a position is only two offsets. */
#include "sawzall-lite/front/diag.h"

#include <stdio.h>

/* Of a longer line only the part around the caret is shown. */
#define LINE_BYTES_SHOWN 160

uint32_t saw_pos_line(struct saw_pos pos)
{
    const struct saw_source *s = pos.source;
    uint32_t low = 0;
    uint32_t high;

    if (!s || s->line_count == 0)
        return 0;
    high = s->line_count;
    while (high - low > 1) {
        uint32_t mid = low + (high - low) / 2;
        if (s->line_starts[mid] <= pos.begin)
            low = mid;
        else
            high = mid;
    }
    return low + 1;
}

uint32_t saw_pos_column(struct saw_pos pos)
{
    uint32_t line = saw_pos_line(pos);
    return line ? pos.begin - pos.source->line_starts[line - 1] + 1 : 0;
}

void saw_pos_print(struct saw_pos pos, bool semicolon, struct buf *out)
{
    struct slice text;
    size_t end = pos.end;

    if (!pos.source)
        return;
    text = pos.source->text;
    while (semicolon && end < text.len && text.data[end] != ';' &&
           strchr(" \t\r\n", text.data[end]))
        end++;
    if (semicolon && end < text.len && text.data[end] == ';')
        end++;
    buf_append_slice(out, slice_sub(text, pos.begin, end));
}

struct saw_pos saw_pos_join(struct saw_pos a, struct saw_pos b)
{
    if (a.source != b.source || b.end < a.begin)
        return a;
    return (struct saw_pos){a.source, a.begin, b.end};
}

static struct slice line_text(const struct saw_source *s, uint32_t line)
{
    size_t begin = s->line_starts[line - 1];
    struct slice rest = slice_sub(s->text, begin, s->text.len);
    struct slice text = slice_sub(rest, 0, slice_find_byte(rest, '\n'));
    if (text.len && text.data[text.len - 1] == '\r')
        text.len--;
    return text;
}

/* The line with a caret below. Tabs are kept, so that both lines agree. */
static void print_excerpt(struct buf *out, struct saw_pos pos, uint32_t line)
{
    struct slice text = line_text(pos.source, line);
    size_t at = pos.begin - pos.source->line_starts[line - 1];
    size_t len = pos.end > pos.begin ? pos.end - pos.begin : 1;
    size_t from = 0;
    size_t i;

    if (at > text.len)
        at = text.len;
    if (at > LINE_BYTES_SHOWN / 2)
        from = at - LINE_BYTES_SHOWN / 2;
    text = slice_sub(text, from, from + LINE_BYTES_SHOWN);
    at -= from;
    if (len > text.len - at)
        len = text.len > at ? text.len - at : 1;
    buf_append_str(out, "    ");
    for (i = 0; i < text.len; i++) {
        char c = text.data[i];
        buf_append_byte(out, c == '\0' ? '?' : c);
    }
    buf_append_str(out, "\n    ");
    for (i = 0; i < at; i++) {
        if (((unsigned char)text.data[i] & 0xc0) != 0x80)
            buf_append_byte(out, text.data[i] == '\t' ? '\t' : ' ');
    }
    buf_append_byte(out, '^');
    for (i = 1; i < len; i++) {
        if (((unsigned char)text.data[at + i] & 0xc0) != 0x80)
            buf_append_byte(out, '~');
    }
    buf_append_byte(out, '\n');
}

static void PRINTF_LIKE(4, 0) report(struct saw_diag *d,
                                     struct saw_pos pos,
                                     const char *kind,
                                     const char *fmt,
                                     va_list ap)
{
    uint32_t line = saw_pos_line(pos);

    if (line)
        buf_printf(d->out, "%s:%u:%u: ", pos.source->name, line,
                   saw_pos_column(pos));
    buf_printf(d->out, "%s: ", kind);
    buf_vprintf(d->out, fmt, ap);
    buf_append_byte(d->out, '\n');
    if (line)
        print_excerpt(d->out, pos, line);
}

void saw_error(struct saw_diag *d, struct saw_pos pos, const char *fmt, ...)
{
    uint32_t line = saw_pos_line(pos);
    va_list ap;

    if (line && pos.source->last_error_line == line)
        return;
    if (line)
        pos.source->last_error_line = line;
    if (++d->error_count > d->errors_max)
        return;
    va_start(ap, fmt);
    report(d, pos, "error", fmt, ap);
    va_end(ap);
}

void saw_warning(struct saw_diag *d, struct saw_pos pos, const char *fmt, ...)
{
    va_list ap;

    if (++d->warning_count > d->errors_max)
        return;
    va_start(ap, fmt);
    report(d, pos, "warning", fmt, ap);
    va_end(ap);
}

void saw_note(struct saw_diag *d, struct saw_pos pos, const char *fmt, ...)
{
    va_list ap;

    if (d->error_count > d->errors_max)
        return;
    va_start(ap, fmt);
    report(d, pos, "note", fmt, ap);
    va_end(ap);
}
