/* Text between tags; tags of blocks end lines, so that no phrase runs from one
 * paragraph into the next one's first word unseen: a line feed is a blank.
 */
#include "web/search/text/page_fields.h"

#include "base/core/macros.h"
#include "base/core/panic.h"
#include "mapreduce/warc/html_text.h"
#include "mapreduce/warc/html_token.h"

#define PAGE_TITLE_BYTES_MAX ((size_t)1024)
#define PAGE_HEADINGS_MAX    ((size_t)4096)

static bool name_in(struct slice name, const char *const *names, size_t count)
{
    char first = name.len ? (char)(name.data[0] | 0x20) : 0;
    for (size_t i = 0; i < count; i++)
        if (names[i][0] == first && html_name_is(name, names[i]))
            return true;
    return false;
}

/* Tags inside a line of text. */
static bool is_inline_tag(struct slice name)
{
    static const char *const names[] = {
        "a",    "abbr",  "b",    "bdi",    "bdo",    "big", "cite", "code",
        "data", "del",   "dfn",  "em",     "font",   "i",   "img",  "ins",
        "kbd",  "label", "mark", "q",      "rp",     "rt",  "ruby", "s",
        "samp", "small", "span", "strike", "strong", "sub", "sup",  "time",
        "tt",   "u",     "var",  "wbr"};
    return name_in(name, names, ARRAY_LEN(names));
}

static bool is_heading_tag(struct slice name)
{
    return name.len == 2 && (name.data[0] | 0x20) == 'h' &&
           name.data[1] >= '1' && name.data[1] <= '6';
}

/* Elements whose text nobody reads. */
static bool is_hidden_tag(struct slice name)
{
    static const char *const names[] = {"noscript", "template", "select",
                                        "object",   "svg",      "noframes"};
    return name_in(name, names, ARRAY_LEN(names));
}

struct field_reader {
    struct page_fields *out;
    struct slice hidden; /* The element whose text is left out; or "". */
    unsigned hidden_depth;
    bool in_heading;
};

static void end_line(struct page_fields *f)
{
    while (f->text.len && f->text.data[f->text.len - 1] == ' ')
        f->text.len--;
    if (f->text.len && f->text.data[f->text.len - 1] != '\n')
        buf_append_byte(&f->text, '\n');
}

static void begin_heading(struct field_reader *r)
{
    struct page_fields *f = r->out;
    if (f->heading_count >= PAGE_HEADINGS_MAX)
        return;
    if (f->heading_count == f->heading_cap) {
        f->heading_cap = MAX_OF(f->heading_cap * 2, 16);
        f->headings =
            mem_realloc(f->headings, f->heading_cap * sizeof(*f->headings));
    }
    f->headings[f->heading_count] =
        (struct page_heading){(uint32_t)f->text.len, (uint32_t)f->text.len};
    r->in_heading = true;
}

static void end_heading(struct field_reader *r)
{
    struct page_fields *f = r->out;
    if (!r->in_heading)
        return;
    f->headings[f->heading_count].end = (uint32_t)f->text.len;
    if (f->headings[f->heading_count].end > f->headings[f->heading_count].begin)
        f->heading_count++;
    r->in_heading = false;
}

static void field_text(struct field_reader *r, struct slice bytes)
{
    struct buf *text = &r->out->text;
    size_t from = text->len;
    if (r->hidden.len || bytes.len == 0)
        return;
    if (from && text->data[from - 1] != '\n' && text->data[from - 1] != ' ' &&
        (bytes.data[0] == ' ' || bytes.data[0] == '\n' ||
         bytes.data[0] == '\r' || bytes.data[0] == '\t'))
        buf_append_byte(text, ' ');
    html_text_append(text, bytes, true, PAGE_TEXT_BYTES_MAX);
}

static void field_tag(struct field_reader *r, const struct html_token *t)
{
    bool begins = t->kind == HTML_TOKEN_START;
    if (r->hidden.len) {
        if (!slice_eq(t->name, r->hidden))
            return;
        r->hidden_depth += begins ? 1U : 0U;
        if (!begins && --r->hidden_depth == 0)
            r->hidden = SLICE_EMPTY;
        return;
    }
    if (is_inline_tag(t->name))
        return;
    end_heading(r);
    end_line(r->out);
    if (begins && is_hidden_tag(t->name)) {
        r->hidden = t->name;
        r->hidden_depth = 1;
    } else if (begins && is_heading_tag(t->name)) {
        begin_heading(r);
    }
}

static void fields_clear(struct page_fields *f)
{
    buf_clear(&f->title);
    buf_clear(&f->text);
    f->heading_count = 0;
}

void page_fields_html(struct page_fields *out, struct slice html)
{
    struct html_tokens tokens = {.html = html, .raw = SLICE_EMPTY};
    struct html_token token;
    struct field_reader r = {.out = out, .hidden = SLICE_EMPTY};
    fields_clear(out);
    while (out->text.len < PAGE_TEXT_BYTES_MAX &&
           html_token_next(&tokens, &token)) {
        switch (token.kind) {
        case HTML_TOKEN_TEXT: field_text(&r, token.bytes); break;
        case HTML_TOKEN_START:
        case HTML_TOKEN_END: field_tag(&r, &token); break;
        case HTML_TOKEN_RAW:
            if (html_name_is(token.name, "title") && out->title.len == 0 &&
                r.hidden.len == 0)
                html_text_append(&out->title, token.bytes, true,
                                 PAGE_TITLE_BYTES_MAX);
            else if (html_name_is(token.name, "textarea"))
                field_text(&r, token.bytes);
            break;
        case HTML_TOKEN_COMMENT: break;
        }
    }
    end_heading(&r);
    end_line(out);
    html_text_fix(&out->title, 0);
}

void page_fields_plain(struct page_fields *out, struct slice text)
{
    fields_clear(out);
    buf_append_slice(&out->text, slice_sub(text, 0, PAGE_TEXT_BYTES_MAX));
}

void page_fields_close(struct page_fields *f)
{
    buf_close(&f->title);
    buf_close(&f->text);
    mem_free(f->headings);
    *f = (struct page_fields){.headings = NULL};
}
