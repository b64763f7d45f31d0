/* Text between tags; tags of blocks end lines. Markup is not parsed into a
 * tree: lines need only its tokens, in their order.
 */
#include "web/replay/page_text.h"

#include "base/core/macros.h"
#include "mapreduce/warc/html_text.h"
#include "mapreduce/warc/html_token.h"

/* Tags that do not end a line. */
static bool is_inline(struct slice name)
{
    static const char *const names[] = {
        "a",    "abbr",  "b",    "bdi",    "big",  "cite",  "code", "em",
        "font", "i",     "img",  "input",  "kbd",  "mark",  "q",    "s",
        "samp", "small", "span", "strong", "sub",  "sup",   "tt",   "u",
        "var",  "wbr",   "td",   "th",     "time", "label", "del",  "ins"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (html_name_is(name, names[i]))
            return true;
    return false;
}

static void end_line(struct buf *line, size_t bytes_max, struct buf *out)
{
    struct slice text = slice_trim(buf_slice(line));
    if (text.len && out->len + text.len < bytes_max) {
        buf_append_slice(out, text);
        buf_append_byte(out, '\n');
    }
    buf_clear(line);
}

void page_text_append(struct slice html, size_t bytes_max, struct buf *out)
{
    struct html_tokens tokens = {.html = html, .raw = SLICE_EMPTY};
    struct html_token token;
    struct buf line = BUF_INIT;
    while (out->len < bytes_max && html_token_next(&tokens, &token)) {
        bool is_text = token.kind == HTML_TOKEN_TEXT ||
                       (token.kind == HTML_TOKEN_RAW &&
                        (html_name_is(token.name, "title") ||
                         html_name_is(token.name, "textarea")));
        bool is_tag =
            token.kind == HTML_TOKEN_START || token.kind == HTML_TOKEN_END;
        if (is_text)
            html_text_append(&line, token.bytes, true, bytes_max);
        else if (is_tag && !is_inline(token.name))
            end_line(&line, bytes_max, out);
        else if (is_tag && (html_name_is(token.name, "td") ||
                            html_name_is(token.name, "th")))
            buf_append_byte(&line, ' ');
    }
    end_line(&line, bytes_max, out);
    buf_close(&line);
}
