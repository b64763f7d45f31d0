/* The formatter: one layout for all programs.
 *
 * It sets white space and nothing else: the tokens of the result are those of
 * the source, with the comments and include clauses between them, so the
 * program means the same. Lines are broken where statements and blocks need
 * it, and otherwise where the author broke them (fmt_layout.c). Before the
 * text is returned, its tokens are compared with those of the source.
 */
#include "base/core/arena.h"
#include "base/core/panic.h"
#include "sawzall-lite/formatter/fmt_layout.h"
#include "sawzall-lite/sawzall.h"

/* --- between tokens ------------------------------------------------------ */

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Where the string that begins at @at ends, quotes included. */
static size_t string_end(struct slice s, size_t at)
{
    char quote = at < s.len ? s.data[at] : '\0';

    if (quote != '"' && quote != '`')
        return at;
    for (at++; at < s.len && s.data[at] != quote; at++)
        at += quote == '"' && s.data[at] == '\\';
    return MIN_OF(at + 1, s.len);
}

/* The include clause at @at: the word, blanks and the name. */
static size_t include_end(struct slice s, size_t at)
{
    at += strlen("include");
    while (at < s.len && (is_blank(s.data[at]) || s.data[at] == '#')) {
        if (s.data[at] == '#')
            at += slice_find_byte(slice_sub(s, at, s.len), '\n');
        else
            at++;
    }
    return string_end(s, MIN_OF(at, s.len));
}

struct saw_gap_piece saw_gap_next(struct saw_gap *g)
{
    struct saw_gap_piece p = {.kind = GAP_END};
    size_t begin;

    for (; g->at < g->text.len && is_blank(g->text.data[g->at]); g->at++)
        p.newlines += g->text.data[g->at] == '\n';
    begin = g->at;
    if (begin == g->text.len)
        return p;
    if (g->text.data[begin] == '#') {
        p.kind = GAP_COMMENT;
        g->at += slice_find_byte(slice_sub(g->text, begin, g->text.len), '\n');
    } else {
        p.kind = GAP_INCLUDE;
        g->at = include_end(g->text, begin);
    }
    p.text = slice_sub(g->text, begin, g->at);
    while (p.text.len > 0 && is_blank(p.text.data[p.text.len - 1]))
        p.text.len--;
    return p;
}

/* --- tokens and what lies between them ----------------------------------- */

/* Included files are not read: they are formatted on their own. */
static int
no_include(void *ctx, const char *path, struct buf *text, struct err *err)
{
    (void)ctx;
    (void)path;
    (void)text;
    (void)err;
    return 0;
}

static void fmt_lex(struct arena *a,
                    struct slice source,
                    const char *name,
                    struct saw_diag *d,
                    struct saw_tokens *out)
{
    struct saw_compile_options opts = {.read_include = no_include};

    saw_lex(a, &opts, name, source, d, out);
}

static struct slice gap_before(const struct saw_tokens *t, size_t i)
{
    struct slice text = t->at[i].pos.source->text;

    return slice_sub(text, i ? t->at[i - 1].pos.end : 0, t->at[i].pos.begin);
}

static struct slice token_text(const struct saw_token *t)
{
    return slice_sub(t->pos.source->text, t->pos.begin, t->pos.end);
}

static bool same_gaps(struct slice a, struct slice b)
{
    struct saw_gap g = {.text = a};
    struct saw_gap h = {.text = b};
    struct saw_gap_piece p;
    struct saw_gap_piece q;

    do {
        p = saw_gap_next(&g);
        q = saw_gap_next(&h);
        if (p.kind != q.kind || !slice_eq(p.text, q.text))
            return false;
    } while (p.kind != GAP_END);
    return true;
}

static bool same_program(const struct saw_tokens *a, const struct saw_tokens *b)
{
    size_t i;

    if (a->count != b->count)
        return false;
    for (i = 0; i < a->count; i++) {
        if (a->at[i].kind != b->at[i].kind ||
            !slice_eq(token_text(&a->at[i]), token_text(&b->at[i])) ||
            !same_gaps(gap_before(a, i), gap_before(b, i)))
            return false;
    }
    return true;
}

/* --- all of it ----------------------------------------------------------- */

static void fmt_format(struct arena *a,
                       const struct saw_tokens *tokens,
                       const struct saw_token_marks *marks,
                       struct buf *out)
{
    struct slice source = tokens->at[0].pos.source->text;
    struct buf ignored = BUF_INIT;
    struct saw_diag d = {.out = &ignored};
    struct saw_tokens again;
    struct buf text = BUF_INIT;

    saw_layout(source, tokens, marks, &text);
    fmt_lex(a, buf_slice(&text), "formatted", &d, &again);
    INVARIANT(same_program(tokens, &again));
    buf_append_slice(out, buf_slice(&text));
    mem_free(again.at);
    buf_close(&text);
    buf_close(&ignored);
}

int saw_format(struct slice source,
               const char *name,
               struct buf *out,
               struct buf *diagnostics)
{
    struct buf messages = BUF_INIT;
    struct saw_diag d = {.out = &messages, .errors_max = SAW_ERRORS_DEFAULT};
    struct saw_token_marks *marks;
    struct saw_tokens tokens;
    struct arena a;
    int rc = 0;

    if (source.len > SAW_SOURCE_BYTES_MAX) {
        buf_printf(diagnostics, "%s: error: the program is too long\n", name);
        return ERR_INVALID;
    }
    arena_init(&a);
    fmt_lex(&a, source, name, &d, &tokens);
    marks = mem_zalloc(tokens.count, sizeof(*marks));
    saw_parse_marked(&a, &tokens, &d, marks);
    if (d.error_count > 0) {
        buf_append_slice(diagnostics, buf_slice(&messages));
        rc = ERR_INVALID;
    } else {
        fmt_format(&a, &tokens, marks, out);
    }
    mem_free(marks);
    mem_free(tokens.at);
    buf_close(&messages);
    arena_close(&a);
    return rc;
}
