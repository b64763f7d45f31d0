/* Chains: a parser of the patterns that are one, and the search; see
 * regex_chain.h.
 *
 * The parser knows a part of RE2's syntax and refuses everything else, so what
 * it takes must mean the same there. It runs after RE2 has accepted a pattern.
 */
#include "base/regex/regex_chain.h"

#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/core/macros.h"
#include "base/core/panic.h"

#define OPS_MAX     96
#define CLASSES_MAX 16
#define TEXT_MAX    256 /* Bytes of literals. */
#define CHOICES_MAX 8   /* Texts of one choice. */
#define DEPTH_MAX   8
#define COUNT_MAX   1000 /* RE2's limit of {n}. */
#define NO_LIMIT    UINT32_MAX

/* Attempts may look at a text this many times before RE2 takes over. */
#define PASSES_MAX 4

enum chain_kind {
    CHAIN_BYTE,
    CHAIN_TEXT,
    CHAIN_CHOICE, /* The CHAIN_TEXT ops that follow: one of them. */
    CHAIN_CLASS,  /* min to max bytes of a class. */
    CHAIN_UNTIL,  /* min or more bytes, up to one byte. */
    CHAIN_OPEN,
    CHAIN_CLOSE,
    CHAIN_END, /* $ */
    CHAIN_DONE,
};

/* The answer of a class about a byte. */
enum {
    OUTSIDE,
    INSIDE,
    PERHAPS, /* Part of a code point that RE2 must look at. */
};

struct chain_class {
    uint8_t of[256];
};

struct chain_op {
    uint8_t kind;  /* enum chain_kind. */
    char byte;     /* Of BYTE; where UNTIL ends. */
    uint8_t class; /* Of CLASS. */
    uint8_t count; /* Of CHOICE: how many texts. */
    uint16_t text; /* Of TEXT: offset in texts, */
    uint16_t len;  /* and bytes. */
    uint32_t min;
    uint32_t max;
    uint32_t group;
};

struct regex_chain {
    struct chain_op ops[OPS_MAX];
    size_t op_count;
    struct chain_class classes[CLASSES_MAX];
    size_t class_count;
    char texts[TEXT_MAX];
    size_t text_len;
    struct chain_class first; /* Bytes that a match can begin with. */
    bool nullable;            /* A match may be empty: begin anywhere. */
    bool one_first;           /* Only one byte begins a match: */
    char first_byte;          /* this one. */
    bool utf8;
    bool at_begin; /* ^ */
};

/* --- the parser ---------------------------------------------------------- */

struct chain_parser {
    struct regex_chain *c;
    const char *p;
    const char *end;
    uint32_t groups;          /* Opened so far. */
    uint32_t open[DEPTH_MAX]; /* Groups to be closed; 0: (?: */
    size_t depth;
};

static bool chain_peek(const struct chain_parser *s, char c)
{
    return s->p < s->end && *s->p == c;
}

static struct chain_op *chain_put(struct chain_parser *s, enum chain_kind kind)
{
    struct regex_chain *c = s->c;
    if (c->op_count + 1 >= OPS_MAX) /* One is kept for DONE. */
        return NULL;
    c->ops[c->op_count] = (struct chain_op){.kind = (uint8_t)kind};
    return &c->ops[c->op_count++];
}

static bool is_plain(char ch)
{
    return ch >= ' ' && ch <= '~' && !strchr("\\.+*?()|[]{}^$", ch);
}

/* The byte that an escape stands for: \n, \t, \r or any punctuation. */
static bool escaped_byte(char ch, char *byte)
{
    if (ch == 'n' || ch == 't' || ch == 'r') {
        *byte = ch == 'n' ? '\n' : ch == 't' ? '\t' : '\r';
        return true;
    }
    *byte = ch;
    return ch > ' ' && ch <= '~' && ch != '_' && !(ch >= '0' && ch <= '9') &&
           !(ch >= 'a' && ch <= 'z') && !(ch >= 'A' && ch <= 'Z');
}

static void class_add(struct chain_class *k, unsigned from, unsigned to)
{
    for (unsigned b = from; b <= to; b++)
        k->of[b] = INSIDE;
}

/* All but what is in @k; beyond ASCII as the encoding says. */
static void class_negate(const struct regex_chain *c, struct chain_class *k)
{
    for (unsigned b = 0; b < 256; b++)
        k->of[b] = k->of[b] ? OUTSIDE : b < 128 || !c->utf8 ? INSIDE : PERHAPS;
}

/* \d \w \s and their opposites, added to @k. */
static bool
class_perl(const struct regex_chain *c, char letter, struct chain_class *k)
{
    struct chain_class part = {{0}};
    switch (letter) {
    case 'd':
    case 'D': class_add(&part, '0', '9'); break;
    case 'w':
    case 'W':
        class_add(&part, '0', '9');
        class_add(&part, 'A', 'Z');
        class_add(&part, 'a', 'z');
        class_add(&part, '_', '_');
        break;
    case 's':
    case 'S':
        class_add(&part, '\t', '\n');
        class_add(&part, '\f', '\r');
        class_add(&part, ' ', ' ');
        break;
    default: return false;
    }
    if (letter < 'a')
        class_negate(c, &part);
    for (unsigned b = 0; b < 256; b++)
        k->of[b] = part.of[b] ? part.of[b] : k->of[b];
    return true;
}

/* One byte inside of brackets; false: none that is understood. */
static bool bracket_byte(struct chain_parser *s, char *byte)
{
    if (s->p == s->end)
        return false;
    *byte = *s->p++;
    if (*byte == '\\')
        return s->p < s->end && escaped_byte(*s->p++, byte);
    return *byte >= ' ' && *byte <= '~' && *byte != '[' && *byte != ']';
}

/* A range, or one byte; a hyphen stands for itself at the end only. */
static bool bracket_item(struct chain_parser *s, struct chain_class *k)
{
    char from;
    char to;
    if (s->end - s->p >= 2 && s->p[0] == '\\' && class_perl(s->c, s->p[1], k)) {
        s->p += 2;
        return !chain_peek(s, '-');
    }
    if (chain_peek(s, '-') && !(s->end - s->p >= 2 && s->p[1] == ']'))
        return false;
    if (!bracket_byte(s, &from))
        return false;
    to = from;
    if (s->end - s->p >= 2 && s->p[0] == '-' && s->p[1] != ']') {
        s->p++;
        if (chain_peek(s, '-') || !bracket_byte(s, &to) || to < from)
            return false;
    }
    class_add(k, (unsigned char)from, (unsigned char)to);
    return true;
}

/* The rest of a class, behind its bracket. */
static bool parse_bracket(struct chain_parser *s, struct chain_class *k)
{
    bool negated = chain_peek(s, '^');
    s->p += negated;
    if (chain_peek(s, ']'))
        return false;
    while (!chain_peek(s, ']')) {
        if (!bracket_item(s, k))
            return false;
    }
    s->p++;
    if (negated) {
        /* Parts of \D and the like beyond ASCII: too rare. */
        if (k->of[128])
            return false;
        class_negate(s->c, k);
    }
    return true;
}

static bool parse_number(struct chain_parser *s, uint32_t *n)
{
    const char *begin = s->p;
    *n = 0;
    while (s->p < s->end && *s->p >= '0' && *s->p <= '9' && *n <= COUNT_MAX)
        *n = *n * 10 + (uint32_t)(*s->p++ - '0');
    return s->p > begin && *n <= COUNT_MAX;
}

/* {n}, {n,} or {n,m}, behind the brace. */
static bool parse_counts(struct chain_parser *s, uint32_t *min, uint32_t *max)
{
    if (!parse_number(s, min))
        return false;
    *max = *min;
    if (chain_peek(s, ',')) {
        s->p++;
        *max = NO_LIMIT;
        if (!chain_peek(s, '}') && !parse_number(s, max))
            return false;
    }
    if (!chain_peek(s, '}'))
        return false;
    s->p++;
    return *max > 0;
}

/* How often, behind an item. Lazy and possessive ones are refused. */
static bool parse_repeat(struct chain_parser *s, uint32_t *min, uint32_t *max)
{
    *min = 1;
    *max = 1;
    if (s->p == s->end || !strchr("+*?{", *s->p) || *s->p == '\0')
        return true;
    switch (*s->p++) {
    case '+': *max = NO_LIMIT; break;
    case '*':
        *min = 0;
        *max = NO_LIMIT;
        break;
    case '?': *min = 0; break;
    default:
        if (!parse_counts(s, min, max))
            return false;
    }
    return s->p == s->end || *s->p == '\0' || !strchr("+*?{", *s->p);
}

/* The one byte that is not inside of @k, if it is only one. */
static bool excludes_one(const struct chain_class *k, char *byte)
{
    unsigned count = 0;
    for (unsigned b = 0; b < 256; b++) {
        if (k->of[b] == OUTSIDE) {
            *byte = (char)b;
            count++;
        }
    }
    return count == 1;
}

/* The number of @k among the classes. */
static bool
intern_class(struct regex_chain *c, const struct chain_class *k, uint8_t *out)
{
    size_t i = 0;
    while (i < c->class_count && memcmp(&c->classes[i], k, sizeof(*k)) != 0)
        i++;
    if (i == CLASSES_MAX)
        return false;
    if (i == c->class_count)
        c->classes[c->class_count++] = *k;
    *out = (uint8_t)i;
    return true;
}

static bool put_class(struct chain_parser *s,
                      const struct chain_class *k,
                      uint32_t min,
                      uint32_t max)
{
    struct chain_op *op = chain_put(s, CHAIN_CLASS);
    if (!op || !intern_class(s->c, k, &op->class))
        return false;
    op->min = min;
    op->max = max;
    if (max == NO_LIMIT && excludes_one(k, &op->byte))
        op->kind = CHAIN_UNTIL;
    return true;
}

/* A byte, which may be repeated. */
static bool put_byte(struct chain_parser *s, char byte)
{
    struct chain_class k = {{0}};
    struct chain_op *op;
    uint32_t min;
    uint32_t max;
    if (!parse_repeat(s, &min, &max))
        return false;
    if (min != 1 || max != 1) {
        k.of[(unsigned char)byte] = INSIDE;
        return put_class(s, &k, min, max);
    }
    op = chain_put(s, CHAIN_BYTE);
    if (op)
        op->byte = byte;
    return op != NULL;
}

static bool parse_class(struct chain_parser *s, struct chain_class *k)
{
    uint32_t min;
    uint32_t max;
    return parse_repeat(s, &min, &max) && put_class(s, k, min, max);
}

static bool parse_escape(struct chain_parser *s)
{
    struct chain_class k = {{0}};
    char byte;
    if (s->p == s->end)
        return false;
    if (class_perl(s->c, *s->p, &k)) {
        s->p++;
        return parse_class(s, &k);
    }
    return escaped_byte(*s->p++, &byte) && put_byte(s, byte);
}

/* --- choices ------------------------------------------------------------- */

/* One text of a choice, up to | or ). */
static bool parse_text(struct chain_parser *s)
{
    struct regex_chain *c = s->c;
    struct chain_op *op = chain_put(s, CHAIN_TEXT);
    size_t begin = c->text_len;
    if (!op)
        return false;
    while (s->p < s->end && *s->p != '|' && *s->p != ')') {
        char byte = *s->p++;
        if (byte == '\\' && s->p < s->end) {
            if (!escaped_byte(*s->p++, &byte))
                return false;
        } else if (!is_plain(byte)) {
            return false;
        }
        if (c->text_len == TEXT_MAX)
            return false;
        c->texts[c->text_len++] = byte;
    }
    op->text = (uint16_t)begin;
    op->len = (uint16_t)(c->text_len - begin);
    return op->len > 0;
}

static struct slice text_of(const struct regex_chain *c,
                            const struct chain_op *op)
{
    return slice_make(c->texts + op->text, op->len);
}

/* No text begins another, so at most one of them matches. */
static bool is_exclusive(const struct regex_chain *c,
                         const struct chain_op *texts,
                         size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < count; k++) {
            if (i != k &&
                slice_starts_with(text_of(c, &texts[i]), text_of(c, &texts[k])))
                return false;
        }
    }
    return true;
}

/* Whether the group that begins here has a | of its own. */
static bool has_choice(const struct chain_parser *s)
{
    for (const char *p = s->p; p < s->end && *p != ')' && *p != '('; p++) {
        if (*p == '|')
            return true;
        if (*p == '[') /* Not texts alone. */
            return false;
        p += *p == '\\';
    }
    return false;
}

static bool parse_choice(struct chain_parser *s)
{
    struct chain_op *op = chain_put(s, CHAIN_CHOICE);
    size_t first = s->c->op_count;
    size_t count = 0;
    if (!op)
        return false;
    do {
        if (count == CHOICES_MAX || !parse_text(s))
            return false;
        count++;
    } while (chain_peek(s, '|') && s->p++);
    op->count = (uint8_t)count;
    return is_exclusive(s->c, &s->c->ops[first], count);
}

/* --- groups -------------------------------------------------------------- */

static bool put_group(struct chain_parser *s, enum chain_kind kind, uint32_t n)
{
    struct chain_op *op;
    if (n == 0)
        return true;
    op = chain_put(s, kind);
    if (op)
        op->group = n;
    return op != NULL;
}

static bool parse_open(struct chain_parser *s)
{
    bool counted = !chain_peek(s, '?');
    if (!counted) {
        if (s->end - s->p < 2 || s->p[1] != ':')
            return false;
        s->p += 2;
    }
    if (s->depth == DEPTH_MAX || chain_peek(s, ')'))
        return false;
    s->open[s->depth] = counted ? ++s->groups : 0;
    if (!put_group(s, CHAIN_OPEN, s->open[s->depth++]))
        return false;
    return !has_choice(s) || parse_choice(s);
}

/* Repeated groups are refused. */
static bool parse_close(struct chain_parser *s)
{
    if (s->depth == 0 || !put_group(s, CHAIN_CLOSE, s->open[--s->depth]))
        return false;
    return s->p == s->end || *s->p == '\0' || !strchr("+*?{", *s->p);
}

static bool parse_item(struct chain_parser *s)
{
    struct chain_class k = {{0}};
    char ch = *s->p++;
    switch (ch) {
    case '(': return parse_open(s);
    case ')': return parse_close(s);
    case '[': return parse_bracket(s, &k) && parse_class(s, &k);
    case '\\': return parse_escape(s);
    case '.':
        k.of['\n'] = INSIDE;
        class_negate(s->c, &k);
        return parse_class(s, &k);
    case '$': return s->p == s->end && s->depth == 0 && chain_put(s, CHAIN_END);
    default: return is_plain(ch) && put_byte(s, ch);
    }
}

/* --- what may follow ----------------------------------------------------- */

static bool classes_meet(const struct chain_class *a,
                         const struct chain_class *b)
{
    for (unsigned i = 0; i < 256; i++) {
        if (a->of[i] && b->of[i])
            return true;
    }
    return false;
}

/* Make @first the bytes that a match of @op and what follows begins with. False
 * if the op could end at several places. */
static bool chain_precede(struct regex_chain *c,
                          const struct chain_op *op,
                          struct chain_class *first)
{
    const struct chain_class *k = &c->classes[op->class];
    switch ((enum chain_kind)op->kind) {
    case CHAIN_CLASS:
    case CHAIN_UNTIL:
        if (op->min != op->max && classes_meet(k, first))
            return false;
        c->nullable = c->nullable && op->min == 0;
        if (op->min > 0)
            memset(first, 0, sizeof(*first));
        for (unsigned b = 0; b < 256; b++)
            first->of[b] = k->of[b] ? k->of[b] : first->of[b];
        return true;
    case CHAIN_BYTE:
        memset(first, 0, sizeof(*first));
        first->of[(unsigned char)op->byte] = INSIDE;
        c->nullable = false;
        return true;
    case CHAIN_CHOICE:
        memset(first, 0, sizeof(*first));
        for (size_t i = 1; i <= op->count; i++)
            first->of[(unsigned char)c->texts[op[i].text]] = INSIDE;
        c->nullable = false;
        return true;
    case CHAIN_END:
        /* It tries at every place: the end may be the only one. */
        c->nullable = true;
        return true;
    case CHAIN_TEXT: /* Part of a choice. */
    case CHAIN_OPEN:
    case CHAIN_CLOSE:
    case CHAIN_DONE: return true;
    }
    return true;
}

/* The one byte inside of @k, if it is only one and nothing is doubtful. */
static bool includes_one(const struct chain_class *k, char *byte)
{
    unsigned count = 0;
    for (unsigned b = 0; b < 256; b++) {
        if (k->of[b] == OUTSIDE)
            continue;
        *byte = (char)b;
        count += k->of[b] == INSIDE ? 1 : 2;
    }
    return count == 1;
}

static bool chain_is_certain(struct regex_chain *c)
{
    c->nullable = true;
    for (size_t i = c->op_count; i-- > 0;) {
        if (!chain_precede(c, &c->ops[i], &c->first)) /* INV-2 */
            return false;
    }
    c->one_first = !c->nullable && includes_one(&c->first, &c->first_byte);
    return true;
}

static bool chain_parse(struct chain_parser *s)
{
    if (chain_peek(s, '^')) {
        s->c->at_begin = true;
        s->p++;
    }
    while (s->p < s->end) {
        if (!parse_item(s))
            return false;
    }
    return s->depth == 0 && s->c->op_count > 0;
}

struct regex_chain *regex_chain_new(struct slice pattern, bool utf8)
{
    struct regex_chain *c = mem_zalloc(1, sizeof(*c));
    struct chain_parser s = {
        .c = c, .p = pattern.data, .end = pattern.data + pattern.len};
    c->utf8 = utf8;
    if (pattern.len == 0 || !chain_parse(&s) || !chain_is_certain(c)) {
        regex_chain_free(c);
        return NULL;
    }
    c->ops[c->op_count] = (struct chain_op){.kind = CHAIN_DONE}; /* INV-1 */
    return c;
}

void regex_chain_free(struct regex_chain *c)
{
    mem_free(c);
}

/* --- the search ---------------------------------------------------------- */

/* The first byte of [@p, @end) that is @byte or, with @high 0x80, beyond
 * ASCII. */
static const char *
find_stop(const char *p, const char *end, char byte, unsigned char high)
{
#ifdef __SSE2__
    __m128i want = _mm_set1_epi8(byte);
    __m128i mask = _mm_set1_epi8((char)high);
    for (; end - p >= 16; p += 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
        int bits = _mm_movemask_epi8(
            _mm_or_si128(_mm_cmpeq_epi8(v, want), _mm_and_si128(v, mask)));
        if (bits)
            return p + __builtin_ctz((unsigned)bits);
    }
#endif
    while (p < end && *p != byte && !((unsigned char)*p & high))
        p++;
    return p;
}

/* One attempt: where it stands. */
struct chain_walk {
    const struct regex_chain *c;
    const char *p;
    const char *end;
    struct slice *groups;
    size_t group_count;
};

static enum regex_chain_outcome walk_class(struct chain_walk *w,
                                           const struct chain_op *op)
{
    const uint8_t *of = w->c->classes[op->class].of;
    const char *begin = w->p;
    const char *end = w->end;
    const char *p = begin;
    if (op->max < (size_t)(end - p))
        end = p + op->max;
    while (p < end && of[(unsigned char)*p] == INSIDE)
        p++;
    w->p = p;
    if (p < end && of[(unsigned char)*p] == PERHAPS)
        return REGEX_CHAIN_UNSURE;
    return (size_t)(p - begin) >= op->min ? REGEX_CHAIN_FOUND
                                          : REGEX_CHAIN_ABSENT;
}

static enum regex_chain_outcome walk_until(struct chain_walk *w,
                                           const struct chain_op *op)
{
    const char *begin = w->p;
    const char *p = find_stop(begin, w->end, op->byte, w->c->utf8 ? 0x80 : 0);
    w->p = p;
    if (p < w->end && *p != op->byte)
        return REGEX_CHAIN_UNSURE;
    return (size_t)(p - begin) >= op->min ? REGEX_CHAIN_FOUND
                                          : REGEX_CHAIN_ABSENT;
}

static bool walk_choice(struct chain_walk *w, const struct chain_op *op)
{
    struct slice rest = slice_make(w->p, (size_t)(w->end - w->p));
    for (size_t i = 1; i <= op->count; i++) {
        if (slice_starts_with(rest, text_of(w->c, &op[i]))) {
            w->p += op[i].len;
            return true;
        }
    }
    return false;
}

/* Does a match begin at w->p? It ends at w->p then. */
static enum regex_chain_outcome chain_walk_all(struct chain_walk *w)
{
    const struct chain_op *op = w->c->ops;
    for (;; op++) {
        enum regex_chain_outcome o = REGEX_CHAIN_FOUND;
        switch ((enum chain_kind)op->kind) {
        case CHAIN_BYTE:
            if (w->p == w->end || *w->p != op->byte)
                return REGEX_CHAIN_ABSENT;
            w->p++;
            break;
        case CHAIN_CLASS: o = walk_class(w, op); break;
        case CHAIN_UNTIL: o = walk_until(w, op); break;
        case CHAIN_CHOICE:
            if (!walk_choice(w, op))
                return REGEX_CHAIN_ABSENT;
            op += op->count;
            break;
        case CHAIN_OPEN:
            if (op->group < w->group_count)
                w->groups[op->group].data = w->p;
            break;
        case CHAIN_CLOSE:
            if (op->group < w->group_count)
                w->groups[op->group].len =
                    (size_t)(w->p - w->groups[op->group].data);
            break;
        case CHAIN_END:
            if (w->p != w->end)
                return REGEX_CHAIN_ABSENT;
            break;
        case CHAIN_TEXT: break;
        case CHAIN_DONE: return REGEX_CHAIN_FOUND;
        }
        if (o != REGEX_CHAIN_FOUND)
            return o;
    }
}

/* The next place where a match can begin, or NULL; *@unsure: RE2 must say. */
static const char *next_begin(const struct regex_chain *c,
                              const char *p,
                              const char *end,
                              bool *unsure)
{
    if (c->nullable)
        return p;
    if (c->one_first)
        return p < end ? memchr(p, c->first_byte, (size_t)(end - p)) : NULL;
    while (p < end && c->first.of[(unsigned char)*p] == OUTSIDE)
        p++;
    if (p == end)
        return NULL;
    *unsure = c->first.of[(unsigned char)*p] == PERHAPS;
    return *unsure ? NULL : p;
}

static void fill_groups(const struct chain_walk *w, const char *begin)
{
    if (w->group_count > 0)
        w->groups[0] = slice_make(begin, (size_t)(w->p - begin));
}

enum regex_chain_outcome regex_chain_search(const struct regex_chain *c,
                                            struct slice text,
                                            size_t start,
                                            struct slice *groups,
                                            size_t group_count)
{
    const char *begin = text.data ? text.data : "";
    struct chain_walk w = {.c = c,
                           .end = begin + text.len,
                           .groups = groups,
                           .group_count = group_count};
    size_t budget = PASSES_MAX * text.len + 256;
    const char *p = begin + MIN_OF(start, text.len);
    bool unsure = false;
    for (size_t i = 0; i < group_count; i++)
        groups[i] = slice_make(NULL, 0);
    if (start > text.len || (c->at_begin && start > 0))
        return REGEX_CHAIN_ABSENT;
    for (; p <= w.end; p++) {
        enum regex_chain_outcome o;
        if (!c->at_begin)
            p = next_begin(c, p, w.end, &unsure);
        if (!p)
            break;
        w.p = p;
        o = chain_walk_all(&w);
        if (o == REGEX_CHAIN_FOUND)
            fill_groups(&w, p);
        if (o != REGEX_CHAIN_ABSENT || c->at_begin)
            return o;
        if ((size_t)(w.p - p) + 1 > budget)
            return REGEX_CHAIN_UNSURE;
        budget -= (size_t)(w.p - p) + 1;
    }
    return unsure ? REGEX_CHAIN_UNSURE : REGEX_CHAIN_ABSENT;
}
