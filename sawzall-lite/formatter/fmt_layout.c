/* Where tokens go: lines, indentation, spaces, comments.
 *
 * The printer walks the tokens once, with a stack of open frames: lists of
 * statements, statements, brackets. Each frame gives the indentation of a line
 * that begins inside it. Whether a line is broken depends on the structure
 * alone, or on a break in the source, which the result then has too: therefore
 * formatting a formatted text changes nothing.
 *
 * Invariant INV-1: the stack holds at least the list of the program's
 * statements, and is that alone at the end.
 */
#include "sawzall-lite/formatter/fmt_layout.h"

#include "base/core/panic.h"

#define INDENT_COLUMNS 2

enum frame_kind {
    FRAME_LIST,      /* Statements, at `indent`. */
    FRAME_SWITCH,    /* Labels at `indent`, statements one deeper. */
    FRAME_STATEMENT, /* At `indent`, continued one deeper. */
    FRAME_BRACKET,   /* ( [ or { of a literal or type: lines at `indent`. */
};

struct frame {
    enum frame_kind kind;
    unsigned indent;
    bool inline_block; /* { statement; } on one line. */
    bool padded;       /* { a: T }: blanks inside. */
};

/* A comment after code on its line, to be aligned with those of the lines
 * around it. */
struct trailing {
    size_t offset; /* In the text without the blanks before comments. */
    size_t line;
    size_t width; /* Of the code before it, in characters. */
};

struct layout {
    struct slice source;
    const struct saw_token *tok;
    const struct saw_token_marks *marks;
    size_t count;
    struct buf text;
    struct frame *frames; /* Owned, like all arrays here. */
    size_t depth;
    size_t frame_cap;
    struct trailing *trailing;
    size_t trailing_count;
    size_t trailing_cap;
    size_t line;        /* Number of the line being written. */
    size_t line_begin;  /* Offset of its first character. */
    unsigned indent;    /* Of that line. */
    bool after_comment; /* Only a new line may follow. */
    bool after_include;
};

/* --- the stack ----------------------------------------------------------- */

static struct frame *layout_top(struct layout *l)
{
    INVARIANT(l->depth > 0); /* INV-1 */
    return &l->frames[l->depth - 1];
}

static void layout_push(struct layout *l, struct frame f)
{
    if (l->depth == l->frame_cap) {
        l->frame_cap = l->frame_cap ? 2 * l->frame_cap : 64;
        l->frames = mem_realloc(l->frames, l->frame_cap * sizeof(*l->frames));
    }
    l->frames[l->depth++] = f;
}

static void layout_pop(struct layout *l)
{
    if (l->depth > 1)
        l->depth--;
}

static bool has_mark(const struct layout *l, size_t i, enum saw_mark mark)
{
    return (l->marks[i].marks & mark) != 0;
}

static enum saw_token_kind layout_kind(const struct layout *l, size_t i)
{
    return i < l->count ? l->tok[i].kind : TOK_EOF;
}

static enum saw_token_kind layout_previous(const struct layout *l, size_t i)
{
    return i > 0 ? l->tok[i - 1].kind : TOK_EOF;
}

static struct slice layout_gap(const struct layout *l, size_t i)
{
    return slice_sub(l->source, i ? l->tok[i - 1].pos.end : 0,
                     l->tok[i].pos.begin);
}

/* Whether the source breaks the line right before token @i. */
static bool layout_broken(const struct layout *l, size_t i)
{
    struct slice s = layout_gap(l, i);

    return slice_find_byte(s, '\n') < s.len;
}

/* --- text ---------------------------------------------------------------- */

static void layout_put(struct layout *l, struct slice s)
{
    size_t i;

    buf_append_slice(&l->text, s);
    for (i = 0; i < s.len; i++) {
        if (s.data[i] == '\n') {
            l->line++;
            l->line_begin = l->text.len - s.len + i + 1;
        }
    }
}

static void new_line(struct layout *l, unsigned indent, bool blank)
{
    if (l->text.len > 0) {
        layout_put(l, SLICE_LIT("\n"));
        if (blank)
            layout_put(l, SLICE_LIT("\n"));
    }
    buf_append_fill(&l->text, ' ', (size_t)indent * INDENT_COLUMNS);
    l->indent = indent;
}

static size_t layout_width(struct slice s)
{
    size_t n = 0;
    size_t i;

    for (i = 0; i < s.len; i++)
        n += (s.data[i] & 0xc0) != 0x80;
    return n;
}

static void put_trailing(struct layout *l, struct slice comment)
{
    struct slice code =
        slice_sub(buf_slice(&l->text), l->line_begin, l->text.len);

    if (l->trailing_count == l->trailing_cap) {
        l->trailing_cap = l->trailing_cap ? 2 * l->trailing_cap : 64;
        l->trailing =
            mem_realloc(l->trailing, l->trailing_cap * sizeof(*l->trailing));
    }
    l->trailing[l->trailing_count++] =
        (struct trailing){l->text.len, l->line, layout_width(code)};
    layout_put(l, comment);
}

/* Append the text, with the comments after code aligned in runs of lines. */
static void layout_align(const struct layout *l, struct buf *out)
{
    struct slice text = buf_slice(&l->text);
    size_t done = 0;
    size_t i = 0;

    while (i < l->trailing_count) {
        size_t end = i;
        size_t widest = 0;
        do {
            widest = MAX_OF(widest, l->trailing[end].width);
            end++;
        } while (end < l->trailing_count &&
                 l->trailing[end].line == l->trailing[end - 1].line + 1);
        for (; i < end; i++) {
            const struct trailing *t = &l->trailing[i];
            buf_append_slice(out, slice_sub(text, done, t->offset));
            buf_append_fill(out, ' ', widest - t->width + 2);
            done = t->offset;
        }
    }
    buf_append_slice(out, slice_sub(text, done, text.len));
}

/* --- indentation --------------------------------------------------------- */

static bool is_closer(enum saw_token_kind k)
{
    return k == TOK_RPAREN || k == TOK_RBRACK || k == TOK_RBRACE;
}

/* else, and the while of a do: they stand at their statement's margin. */
static bool continues_statement(const struct layout *l, size_t i)
{
    return layout_kind(l, i) == TOK_ELSE ||
           (layout_kind(l, i) == TOK_WHILE && !has_mark(l, i, MARK_STATEMENT));
}

static bool is_label(const struct layout *l, size_t i)
{
    return layout_kind(l, i) == TOK_CASE || layout_kind(l, i) == TOK_DEFAULT;
}

/* How far a line that begins with token @i is indented. */
static unsigned indent_of(struct layout *l, size_t i)
{
    const struct frame *f = layout_top(l);

    if (i >= l->count || has_mark(l, i, MARK_STATEMENT))
        return f->indent;
    if (is_closer(layout_kind(l, i)))
        return f->kind == FRAME_SWITCH ? f->indent
                                       : f->indent - (f->indent > 0);
    if (f->kind == FRAME_STATEMENT)
        return continues_statement(l, i) || has_mark(l, i, MARK_BLOCK)
                   ? f->indent
                   : f->indent + 1;
    return f->indent;
}

/* How far a comment before token @i is. */
static unsigned comment_indent(struct layout *l, size_t i)
{
    if (i < l->count && is_closer(layout_kind(l, i)))
        return layout_top(l)->indent + (layout_top(l)->kind == FRAME_SWITCH);
    return indent_of(l, i);
}

/* --- blanks -------------------------------------------------------------- */

static bool is_number(enum saw_token_kind k)
{
    return k == TOK_INT || k == TOK_UINT || k == TOK_FLOAT || k == TOK_TIME ||
           k == TOK_FINGERPRINT;
}

/* f(…), a[i](…), file(…), but if (…) and return (…). */
static bool is_called(const struct layout *l, size_t i)
{
    enum saw_token_kind k = layout_previous(l, i);

    return (k == TOK_IDENT && !has_mark(l, i - 1, MARK_WORD)) ||
           k == TOK_RPAREN || k == TOK_RBRACK || k == TOK_RBRACE ||
           k == TOK_FILE || k == TOK_PROC || k == TOK_FORMAT ||
           k == TOK_FUNCTION;
}

/* Two minus signs in a row must not become one "--". */
static bool blank_after_unary(enum saw_token_kind op, enum saw_token_kind k)
{
    return op == TOK_NOT ||
           (op == TOK_MINUS && (k == TOK_MINUS || k == TOK_DEC)) ||
           (op == TOK_PLUS && (k == TOK_PLUS || k == TOK_INC));
}

static bool blank_before_colon(const struct layout *l, size_t i)
{
    return layout_kind(l, i + 1) == TOK_ASSIGN && !has_mark(l, i, MARK_SLICE) &&
           layout_previous(l, i) != TOK_LBRACE;
}

/* Whether there is a blank between token @i and the one before it on its line.
 */
static bool blank_before(struct layout *l, size_t i)
{
    enum saw_token_kind k = layout_kind(l, i);
    enum saw_token_kind p = layout_previous(l, i);
    const struct frame *f = layout_top(l);

    if (p == TOK_LBRACE || k == TOK_RBRACE) {
        /* The statement in an inline block is pushed already. */
        if (f->kind == FRAME_STATEMENT && l->depth > 1)
            f--;
        return (f->inline_block || f->padded) &&
               !(p == TOK_LBRACE && k == TOK_RBRACE);
    }
    if (p == TOK_LPAREN || p == TOK_LBRACK || k == TOK_RPAREN ||
        k == TOK_RBRACK || k == TOK_COMMA || k == TOK_LBRACK || k == TOK_INC ||
        k == TOK_DEC || p == TOK_QUERY || p == TOK_PERIOD)
        return false;
    if (k == TOK_SEMICOLON)
        return p == TOK_COLON;
    if (k == TOK_PERIOD)
        return is_number(p);
    if (has_mark(l, i - 1, MARK_UNARY))
        return blank_after_unary(p, k);
    if (k == TOK_LPAREN)
        return !is_called(l, i);
    if (k == TOK_COLON)
        return blank_before_colon(l, i);
    if (p == TOK_COLON)
        return k != TOK_ASSIGN && !has_mark(l, i - 1, MARK_SLICE);
    return true;
}

/* --- line breaks --------------------------------------------------------- */

static bool breaks_before_statement(struct layout *l, size_t i)
{
    const struct frame *around = layout_top(l) - 1;

    switch (around->kind) {
    case FRAME_LIST:
        if (layout_kind(l, i) == TOK_SEMICOLON)
            return layout_broken(l, i) && !around->inline_block;
        return !around->inline_block;
    case FRAME_SWITCH:
        return layout_previous(l, i) != TOK_COLON || layout_broken(l, i);
    case FRAME_STATEMENT:
        if (has_mark(l, i, MARK_BLOCK) ||
            (layout_kind(l, i) == TOK_IF && layout_previous(l, i) == TOK_ELSE))
            return false;
        return layout_broken(l, i);
    case FRAME_BRACKET: break;
    }
    return layout_broken(l, i);
}

static bool breaks_before(struct layout *l, size_t i)
{
    enum saw_token_kind k = layout_kind(l, i);
    const struct frame *f = layout_top(l);

    if (has_mark(l, i, MARK_STATEMENT))
        return breaks_before_statement(l, i);
    if (k == TOK_RBRACE && f->kind != FRAME_BRACKET)
        return !f->inline_block;
    if (k == TOK_SEMICOLON || k == TOK_COMMA || has_mark(l, i, MARK_BLOCK))
        return false;
    if (f->kind == FRAME_SWITCH && is_label(l, i))
        return true;
    if (continues_statement(l, i) && layout_previous(l, i) == TOK_RBRACE)
        return false;
    return layout_broken(l, i);
}

/* --- what stands before a token ------------------------------------------ */

static bool follows_opener(const struct layout *l, size_t i)
{
    enum saw_token_kind p = layout_previous(l, i);

    return i == 0 || p == TOK_LBRACE || p == TOK_LPAREN || p == TOK_LBRACK;
}

/* A comment or an include clause before token @i. */
static void
put_piece(struct layout *l, size_t i, const struct saw_gap_piece *p, bool first)
{
    bool comment = p->kind == GAP_COMMENT;
    bool blank = p->newlines > 1 && !(first && follows_opener(l, i));

    if (comment && p->newlines == 0 && l->text.len > 0 && !l->after_comment)
        put_trailing(l, p->text);
    else {
        new_line(l, comment_indent(l, i), blank);
        layout_put(l, p->text);
    }
    l->after_comment = comment;
    l->after_include = !comment;
}

/* Everything between token @i - 1 and token @i, the blank or the new line right
 * before it included. */
static void put_gap(struct layout *l, size_t i)
{
    struct saw_gap g = {.text = layout_gap(l, i)};
    struct saw_gap_piece p = saw_gap_next(&g);
    bool first = true;
    bool breaks;
    bool blank;

    for (; p.kind != GAP_END; p = saw_gap_next(&g)) {
        put_piece(l, i, &p, first);
        first = false;
    }
    if (i >= l->count)
        return;
    breaks = l->after_comment || breaks_before(l, i);
    if (l->after_include)
        breaks = layout_kind(l, i) != TOK_SEMICOLON || p.newlines > 0;
    blank = p.newlines > 1 && !(first && follows_opener(l, i)) &&
            !is_closer(layout_kind(l, i)) && !continues_statement(l, i);
    if (i == 0 && first)
        l->indent = 0;
    else if (breaks)
        new_line(l, indent_of(l, i), blank);
    else if (i > 0 && blank_before(l, i))
        layout_put(l, SLICE_LIT(" "));
    l->after_comment = false;
    l->after_include = false;
}

/* --- tokens -------------------------------------------------------------- */

static void begin_statement(struct layout *l, size_t i)
{
    const struct frame *f = layout_top(l);
    unsigned indent = f->indent;

    if (f->kind == FRAME_SWITCH)
        indent++;
    if (f->kind == FRAME_STATEMENT && !has_mark(l, i, MARK_BLOCK) &&
        !(layout_kind(l, i) == TOK_IF && layout_previous(l, i) == TOK_ELSE))
        indent++;
    layout_push(l, (struct frame){.kind = FRAME_STATEMENT, .indent = indent});
}

/* Whether nothing but white space is between @i - 1 and @i. */
static bool gap_is_blank(const struct layout *l, size_t i)
{
    struct saw_gap g = {.text = layout_gap(l, i)};

    return saw_gap_next(&g).kind == GAP_END;
}

/* A block stays on one line if it was on one and holds one statement. */
static bool is_inline(const struct layout *l, size_t open)
{
    unsigned depth = 1;
    unsigned statements = 0;
    size_t i;

    for (i = open + 1; i < l->count; i++) {
        enum saw_token_kind k = l->tok[i].kind;
        if (k == TOK_RBRACE && --depth == 0)
            break;
        depth += k == TOK_LBRACE;
        statements += has_mark(l, i, MARK_STATEMENT);
        if (statements > 1)
            return false;
    }
    if (i == l->count)
        return false;
    if (i == open + 1)
        return gap_is_blank(l, i);
    return memchr(l->source.data + l->tok[open].pos.begin, '\n',
                  l->tok[i].pos.end - l->tok[open].pos.begin) == NULL;
}

static void open_block(struct layout *l, size_t i)
{
    unsigned base = layout_top(l)->kind == FRAME_STATEMENT
                        ? layout_top(l)->indent
                        : l->indent;
    bool labels = i + 1 < l->count && is_label(l, i + 1);

    if (labels)
        layout_push(l, (struct frame){.kind = FRAME_SWITCH, .indent = base});
    else
        layout_push(l, (struct frame){.kind = FRAME_LIST,
                                      .indent = base + 1,
                                      .inline_block = is_inline(l, i)});
}

static void put_token(struct layout *l, size_t i)
{
    struct slice text =
        slice_sub(l->source, l->tok[i].pos.begin, l->tok[i].pos.end);
    enum saw_token_kind k = layout_kind(l, i);
    unsigned n;

    if (has_mark(l, i, MARK_STATEMENT))
        begin_statement(l, i);
    put_gap(l, i);
    layout_put(l, text);
    if (is_closer(k))
        layout_pop(l);
    else if (k == TOK_LBRACE && has_mark(l, i, MARK_BLOCK))
        open_block(l, i);
    else if (k == TOK_LBRACE || k == TOK_LPAREN || k == TOK_LBRACK)
        layout_push(l, (struct frame){.kind = FRAME_BRACKET,
                                      .indent = l->indent + 1,
                                      .padded = has_mark(l, i, MARK_TYPE)});
    for (n = l->marks[i].ends; n > 0; n--)
        layout_pop(l);
}

void saw_layout(struct slice source,
                const struct saw_tokens *tokens,
                const struct saw_token_marks *marks,
                struct buf *out)
{
    struct layout l = {.source = source,
                       .tok = tokens->at,
                       .marks = marks,
                       .count = tokens->count - 1};
    size_t i;

    PRE(tokens->count > 0 && tokens->at[l.count].kind == TOK_EOF);
    layout_push(&l, (struct frame){.kind = FRAME_LIST});
    for (i = 0; i < l.count; i++)
        put_token(&l, i);
    ASSERT_SLOW(l.depth == 1); /* INV-1 */
    put_gap(&l, l.count);
    if (l.text.len > 0)
        layout_put(&l, SLICE_LIT("\n"));
    layout_align(&l, out);
    mem_free(l.frames);
    mem_free(l.trailing);
    buf_close(&l.text);
}
