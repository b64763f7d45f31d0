/* Tokens; see lexer.h. Literals are decoded by literal.c.
 *
 * Every function takes the offset of the first byte of its token and returns
 * the offset after it. Includes are spliced in by calling the lexer on the
 * included text, to a bounded depth; a file is included once.
 */
#include "sawzall-lite/front/lexer.h"

#include "base/core/panic.h"
#include "sawzall-lite/front/literal.h"
#include "sawzall-lite/sawzall.h"

struct lexer {
    struct arena *arena;
    const struct saw_compile_options *opts;
    struct saw_diag *diag;
    struct saw_tokens *out;
    size_t cap;
    struct saw_source *included[256]; /* Each file is included once. */
    size_t included_count;
    unsigned depth;
    bool full;
};

static const char *const names[] = {
#define X(name, text) [TOK_##name] = text,
    SAW_TOKENS(X)
#undef X
};

const char *saw_token_name(enum saw_token_kind kind)
{
    return names[kind];
}

struct saw_source *
saw_source_new(struct arena *a, struct slice name, struct slice text)
{
    struct saw_source *s = arena_zalloc(a, sizeof(*s));
    uint32_t count = 1;
    size_t i;

    PRE(text.len <= SAW_SOURCE_BYTES_MAX);
    s->name = arena_dup(a, name).data;
    s->text = arena_dup(a, text);
    for (i = 0; i < text.len; i++)
        count += text.data[i] == '\n';
    s->line_starts = arena_alloc(a, count * sizeof(uint32_t));
    s->line_starts[0] = 0;
    s->line_count = 1;
    for (i = 0; i < text.len; i++) {
        if (text.data[i] == '\n')
            s->line_starts[s->line_count++] = (uint32_t)(i + 1);
    }
    return s;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* The kind of @word: a keyword or TOK_IDENT. */
static enum saw_token_kind lexer_keyword(struct slice word)
{
    int low = TOK_ALL;
    int high = (int)ARRAY_LEN(names);

    while (low < high) {
        int mid = (low + high) / 2;
        struct slice k = slice_str(names[mid] + 1);
        int c;
        k.len--; /* The closing quote. */
        c = slice_cmp(word, k);
        if (c == 0)
            return (enum saw_token_kind)mid;
        if (c < 0)
            high = mid;
        else
            low = mid + 1;
    }
    return TOK_IDENT;
}

static struct saw_token *lexer_push(struct lexer *l, struct saw_pos pos)
{
    struct saw_tokens *t = l->out;

    if (t->count == l->cap) {
        l->cap = l->cap ? l->cap * 2 : 256;
        t->at = mem_realloc(t->at, l->cap * sizeof(*t->at));
    }
    t->at[t->count] = (struct saw_token){.kind = TOK_EOF, .pos = pos};
    return &t->at[t->count++];
}

/* The offset after the comment or white space at @at. */
static size_t skip_blank(struct slice s, size_t at)
{
    while (at < s.len) {
        if (is_space(s.data[at])) {
            at++;
        } else if (s.data[at] == '#') {
            while (at < s.len && s.data[at] != '\n')
                at++;
        } else {
            break;
        }
    }
    return at;
}

static enum saw_token_kind lexer_two(char c, char next)
{
    switch (c) {
    case '!': return next == '=' ? TOK_NEQ : TOK_EOF;
    case '&': return next == '&' ? TOK_CONDAND : TOK_EOF;
    case '|': return next == '|' ? TOK_CONDOR : TOK_EOF;
    case '+': return next == '+' ? TOK_INC : TOK_EOF;
    case '-': return next == '-' ? TOK_DEC : TOK_EOF;
    case '=': return next == '=' ? TOK_EQL : TOK_EOF;
    case '<':
        if (next == '-')
            return TOK_LARROW;
        return next == '=' ? TOK_LEQ : next == '<' ? TOK_SHL : TOK_EOF;
    case '>': return next == '=' ? TOK_GEQ : next == '>' ? TOK_SHR : TOK_EOF;
    default: return TOK_EOF;
    }
}

static enum saw_token_kind lexer_one(char c)
{
    static const char chars[] = "!$%&()*+,-./:;<=>@?[]^{|}~";
    static const uint8_t kinds[] = {
        TOK_BANG,   TOK_DOLLAR, TOK_MOD,    TOK_BITAND,    TOK_LPAREN,
        TOK_RPAREN, TOK_TIMES,  TOK_PLUS,   TOK_COMMA,     TOK_MINUS,
        TOK_PERIOD, TOK_DIV,    TOK_COLON,  TOK_SEMICOLON, TOK_LSS,
        TOK_ASSIGN, TOK_GTR,    TOK_AT,     TOK_QUERY,     TOK_LBRACK,
        TOK_RBRACK, TOK_BITXOR, TOK_LBRACE, TOK_BITOR,     TOK_RBRACE,
        TOK_BITNOT};
    const char *p = c ? strchr(chars, c) : NULL;
    STATIC_ASSERT(ARRAY_LEN(kinds) == sizeof(chars) - 1, "one kind per char");
    return p ? (enum saw_token_kind)kinds[p - chars] : TOK_EOF;
}

static void lex_source(struct lexer *l, struct saw_source *s);

/* Whether @path, included from @s, is the file that was included as @name. */
static bool
same_file(const struct saw_source *s, struct slice path, const char *name)
{
    const char *slash = strrchr(s->name, '/');
    size_t dir = slash ? (size_t)(slash - s->name) + 1 : 0;

    if (slice_eq_str(path, name))
        return true;
    return strlen(name) == dir + path.len && memcmp(name, s->name, dir) == 0 &&
           memcmp(name + dir, path.data, path.len) == 0;
}

/* Splice in the file named by the string at @at; returns the end of the
 * clause. */
static size_t lexer_include(struct lexer *l,
                            struct saw_source *s,
                            struct saw_pos pos,
                            size_t at)
{
    struct saw_token name = {.pos = {s, 0, 0}};
    struct buf text = BUF_INIT;
    struct err err = ERR_INIT;
    struct slice beside;
    const char *slash;
    size_t i;
    int rc = ERR_NOTFOUND;

    at = skip_blank(s->text, at);
    if (at >= s->text.len ||
        (s->text.data[at] != '"' && s->text.data[at] != '`')) {
        saw_error(l->diag, pos, "include expects a file name in quotes");
        return at;
    }
    at = saw_literal_string(l->arena, l->diag, s, at, false, &name);
    for (i = 0; i < l->included_count; i++) {
        if (same_file(s, name.v.text, l->included[i]->name))
            return at;
    }
    if (l->depth >= SAW_INCLUDE_DEPTH_MAX ||
        l->included_count == ARRAY_LEN(l->included)) {
        saw_error(l->diag, pos,
                  "too many includes (a file that includes "
                  "itself?)");
        return at;
    }
    if (!l->opts->read_include) {
        saw_error(l->diag, pos, "include is not allowed here");
        return at;
    }
    slash = strrchr(s->name, '/');
    if (slash && name.v.text.len && name.v.text.data[0] != '/') {
        beside = slice_str(arena_printf(l->arena, "%.*s/%.*s",
                                        (int)(slash - s->name), s->name,
                                        SLICE_ARG(name.v.text)));
        rc = l->opts->read_include(l->opts->ctx, beside.data, &text, &err);
        if (rc == 0)
            name.v.text = beside;
    }
    if (rc != 0)
        rc = l->opts->read_include(
            l->opts->ctx, arena_dup(l->arena, name.v.text).data, &text, &err);
    if (rc == 0 && text.len > SAW_SOURCE_BYTES_MAX)
        rc = err_set(&err, ERR_TOOBIG, "over %zu bytes", SAW_SOURCE_BYTES_MAX);
    if (rc != 0) {
        saw_error(l->diag, pos, "cannot include \"%.*s\": %s",
                  SLICE_ARG(name.v.text), err.text);
    } else {
        struct saw_source *inner =
            saw_source_new(l->arena, name.v.text, buf_slice(&text));
        l->included[l->included_count++] = inner;
        l->depth++;
        lex_source(l, inner);
        l->depth--;
    }
    buf_close(&text);
    return at;
}

/* A word, or one of T"…", B"…", X"…". */
static size_t lex_word(struct lexer *l, struct saw_source *s, size_t at)
{
    struct slice text = s->text;
    size_t end = at;
    struct slice word;
    struct saw_token *t;
    char quote;

    while (end < text.len &&
           (is_letter(text.data[end]) || is_digit(text.data[end])))
        end++;
    word = slice_sub(text, at, end);
    quote = end < text.len ? text.data[end] : '\0';
    if (word.len == 1 && (quote == '"' || quote == '`') &&
        strchr("TBX", word.data[0])) {
        t = lexer_push(l, (struct saw_pos){s, (uint32_t)at, (uint32_t)end});
        if (word.data[0] == 'T')
            end = saw_literal_string(l->arena, l->diag, s, end, false, t);
        else if (word.data[0] == 'B')
            end = saw_literal_string(l->arena, l->diag, s, end, true, t);
        else
            end = saw_literal_hex(l->arena, l->diag, s, end, t);
        t->kind = word.data[0] == 'T' ? TOK_TIME_TEXT : TOK_BYTES;
        t->pos.end = (uint32_t)end;
        return end;
    }
    if (lexer_keyword(word) == TOK_INCLUDE)
        return lexer_include(
            l, s, (struct saw_pos){s, (uint32_t)at, (uint32_t)end}, end);
    t = lexer_push(l, (struct saw_pos){s, (uint32_t)at, (uint32_t)end});
    t->kind = lexer_keyword(word);
    t->v.text = word;
    return end;
}

static size_t lex_symbol(struct lexer *l, struct saw_source *s, size_t at)
{
    char c = s->text.data[at];
    char next = at + 1 < s->text.len ? s->text.data[at + 1] : '\0';
    enum saw_token_kind kind = lexer_two(c, next);
    size_t len = 2;
    struct saw_pos pos;

    if (kind == TOK_EOF) {
        kind = lexer_one(c);
        len = 1;
    }
    pos = (struct saw_pos){s, (uint32_t)at, (uint32_t)(at + len)};
    if (kind != TOK_EOF) {
        lexer_push(l, pos)->kind = kind;
        return at + len;
    }
    while ((s->text.data[at + 1] & 0xc0) == 0x80 && at + 1 < s->text.len)
        at++;
    pos.end = (uint32_t)(at + 1);
    if (c < ' ' || c == 0x7f)
        saw_error(l->diag, pos, "illegal character 0x%02x", (unsigned char)c);
    else
        saw_error(l->diag, pos, "illegal character '%.*s'",
                  (int)(pos.end - pos.begin), s->text.data + pos.begin);
    return at + 1;
}

/* The token at @at, which is neither blank nor the end; returns its end. */
static size_t lex_token(struct lexer *l, struct saw_source *s, size_t at)
{
    char c = s->text.data[at];
    char next = at + 1 < s->text.len ? s->text.data[at + 1] : '\0';
    struct saw_pos pos = {s, (uint32_t)at, (uint32_t)at};
    struct saw_token *t;
    size_t end;

    if (is_letter(c))
        return lex_word(l, s, at);
    if (is_digit(c) || (c == '.' && is_digit(next))) {
        t = lexer_push(l, pos);
        end = saw_literal_number(l->diag, s, at, t);
    } else if (c == '"' || c == '`') {
        t = lexer_push(l, pos);
        t->kind = TOK_STRING;
        end = saw_literal_string(l->arena, l->diag, s, at, false, t);
    } else if (c == '\'') {
        t = lexer_push(l, pos);
        end = saw_literal_char(l->diag, s, at, t);
    } else {
        return lex_symbol(l, s, at);
    }
    t->pos.end = (uint32_t)end;
    return end;
}

static void lex_source(struct lexer *l, struct saw_source *s)
{
    size_t at = skip_blank(s->text, 0);

    while (at < s->text.len && !l->full) {
        if (l->out->count >= SAW_TOKENS_MAX) {
            saw_error(l->diag, (struct saw_pos){s, (uint32_t)at, (uint32_t)at},
                      "the program is too long");
            l->full = true;
            break;
        }
        at = skip_blank(s->text, lex_token(l, s, at));
    }
}

void saw_lex(struct arena *a,
             const struct saw_compile_options *opts,
             const char *name,
             struct slice text,
             struct saw_diag *d,
             struct saw_tokens *out)
{
    struct lexer *l = mem_zalloc(1, sizeof(*l));
    struct saw_source *s = saw_source_new(a, slice_str(name), text);
    uint32_t end = (uint32_t)s->text.len;

    *out = (struct saw_tokens){0};
    l->arena = a;
    l->opts = opts;
    l->diag = d;
    l->out = out;
    lex_source(l, s);
    lexer_push(l, (struct saw_pos){s, end, end});
    mem_free(l);
}
