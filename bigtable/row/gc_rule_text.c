/* Rules as text: the small language of gc_rule.h.
 *
 *     rule   = term { ("||" | "or") term }
 *     term   = factor { ("&&" | "and") factor }
 *     factor = "(" rule ")" | name "=" word
 */
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "bigtable/row/gc_rule.h"

struct unit {
    const char *name;
    uint64_t us;
};

/* From the largest: the first that divides a duration prints it. */
static const struct unit units[] = {
    {"y", UINT64_C(365) * 86400 * 1000000},
    {"w", UINT64_C(7) * 86400 * 1000000},
    {"d", UINT64_C(86400) * 1000000},
    {"h", UINT64_C(3600) * 1000000},
    {"m", UINT64_C(60) * 1000000},
    {"s", UINT64_C(1000000)},
    {"ms", UINT64_C(1000)},
    {"us", UINT64_C(1)},
};

static bool take_number(struct slice *s, uint64_t *value)
{
    size_t n = 0;
    uint64_t v = 0;
    while (n < s->len && s->data[n] >= '0' && s->data[n] <= '9') {
        uint64_t digit = (uint64_t)(s->data[n] - '0');
        if (v > (UINT64_MAX - digit) / 10)
            return false;
        v = v * 10 + digit;
        n++;
    }
    *value = v;
    *s = slice_sub(*s, n, s->len);
    return n > 0;
}

int gc_duration_parse(struct slice text, uint64_t *us, struct err *err)
{
    struct slice rest = text;
    uint64_t n;
    if (take_number(&rest, &n))
        for (size_t i = 0; i < ARRAY_LEN(units); i++)
            if (slice_eq_str(rest, units[i].name) &&
                n <= (uint64_t)INT64_MAX / units[i].us) {
                *us = n * units[i].us;
                return 0;
            }
    err_set(err, ERR_INVALID, "%.*s is not a duration", SLICE_ARG(text));
    err_hint(err, "a number and one of us, ms, s, m, h, d, w, y: 7d");
    return ERR_INVALID;
}

struct parser {
    struct slice rest; /* Text not read yet. */
    unsigned depth;    /* Open parentheses. */
    struct err *err;
};

static int parse_rule(struct parser *p, struct gc_rule **out);

static bool is_word_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '_';
}

static struct slice take_word(struct parser *p)
{
    struct slice s = slice_trim(p->rest);
    size_t n = 0;
    while (n < s.len && is_word_byte(s.data[n]))
        n++;
    p->rest = slice_sub(s, n, s.len);
    return slice_sub(s, 0, n);
}

/* Read @symbol or the word @word if it comes next; either may be NULL. */
static bool
gc_rule_text_accept(struct parser *p, const char *symbol, const char *word)
{
    struct slice s = slice_trim(p->rest);
    struct parser ahead = *p;
    if (slice_starts_with(s, slice_str(symbol))) {
        p->rest = slice_sub(s, strlen(symbol), s.len);
        return true;
    }
    if (!word || !slice_eq_str(take_word(&ahead), word))
        return false;
    *p = ahead;
    return true;
}

static int bad_rule(struct parser *p, struct slice at)
{
    if (at.len)
        err_set(p->err, ERR_INVALID, "GC rule: \"%.*s\" is not understood",
                SLICE_ARG(at));
    else
        err_set(p->err, ERR_INVALID, "GC rule: it ends too soon");
    err_hint(p->err, "versions=N, ttl=DURATION, and && || ( ) between them");
    return ERR_INVALID;
}

static int parse_versions(struct parser *p, struct gc_rule **out)
{
    struct slice word = take_word(p);
    struct slice rest = word;
    uint64_t n;
    if (!take_number(&rest, &n) || rest.len || n == 0 || n > UINT32_MAX) {
        err_set(p->err, ERR_INVALID,
                "GC rule: versions=%.*s is not a number of at least 1",
                SLICE_ARG(word));
        return ERR_INVALID;
    }
    *out = gc_rule_versions((uint32_t)n);
    return 0;
}

static int parse_age(struct parser *p, struct gc_rule **out)
{
    uint64_t us;
    int rc = gc_duration_parse(take_word(p), &us, p->err);
    if (rc) {
        err_wrap(p->err, "GC rule: ttl");
        return rc;
    }
    *out = gc_rule_age(us);
    return 0;
}

static int parse_group(struct parser *p, struct gc_rule **out)
{
    int rc;
    if (++p->depth > GC_RULE_DEPTH_MAX)
        return err_set(p->err, ERR_TOOBIG,
                       "GC rule: more than %d nested parentheses",
                       GC_RULE_DEPTH_MAX);
    rc = parse_rule(p, out);
    p->depth--;
    if (rc)
        return rc;
    if (gc_rule_text_accept(p, ")", NULL))
        return 0;
    gc_rule_free(*out);
    *out = NULL;
    return bad_rule(p, slice_trim(p->rest));
}

static int parse_factor(struct parser *p, struct gc_rule **out)
{
    struct slice before = slice_trim(p->rest);
    struct slice name;
    if (gc_rule_text_accept(p, "(", NULL))
        return parse_group(p, out);
    name = take_word(p);
    if (!gc_rule_text_accept(p, "=", NULL))
        return bad_rule(p, before);
    if (slice_eq_str(name, "versions") || slice_eq_str(name, "maxversions"))
        return parse_versions(p, out);
    if (slice_eq_str(name, "ttl") || slice_eq_str(name, "maxage"))
        return parse_age(p, out);
    return bad_rule(p, before);
}

/* One level of the grammar: @next { symbol-or-word @next }. */
static int
parse_list(struct parser *p, enum gc_rule_kind kind, struct gc_rule **out)
{
    struct gc_rule *parts[GC_RULE_PARTS_MAX];
    bool is_union = kind == GC_RULE_UNION;
    size_t n = 0;
    int rc;
    do {
        if (n == GC_RULE_PARTS_MAX)
            rc = err_set(p->err, ERR_TOOBIG, "GC rule: more than %d parts",
                         GC_RULE_PARTS_MAX);
        else if (is_union)
            rc = parse_list(p, GC_RULE_INTERSECTION, &parts[n]);
        else
            rc = parse_factor(p, &parts[n]);
        if (rc) {
            while (n > 0)
                gc_rule_free(parts[--n]);
            return rc;
        }
        n++;
    } while (gc_rule_text_accept(p, is_union ? "||" : "&&",
                                 is_union ? "or" : "and"));
    *out = n == 1 ? parts[0] : gc_rule_combine(kind, parts, n);
    return 0;
}

static int parse_rule(struct parser *p, struct gc_rule **out)
{
    return parse_list(p, GC_RULE_UNION, out);
}

int gc_rule_parse(struct slice text, struct gc_rule **out, struct err *err)
{
    struct parser p = {text, 0, err};
    struct gc_rule *r = NULL;
    int rc = parse_rule(&p, &r);
    *out = NULL;
    if (rc)
        return rc;
    if (slice_trim(p.rest).len) {
        gc_rule_free(r);
        return bad_rule(&p, slice_trim(p.rest));
    }
    *out = r;
    return 0;
}

void gc_duration_format(uint64_t us, struct buf *out)
{
    size_t i = 0;
    while (us % units[i].us != 0 || (us == 0 && units[i].us > 1000000))
        i++;
    buf_printf(out, "%llu%s", (unsigned long long)(us / units[i].us),
               units[i].name);
}

static void format_age(uint64_t us, struct buf *out)
{
    buf_append_str(out, "ttl=");
    gc_duration_format(us, out);
}

void gc_rule_format(const struct gc_rule *r, struct buf *out)
{
    if (!r)
        return;
    if (r->kind == GC_RULE_VERSIONS) {
        buf_printf(out, "versions=%u", r->versions);
        return;
    }
    if (r->kind == GC_RULE_AGE) {
        format_age(r->age_us, out);
        return;
    }
    for (size_t i = 0; i < r->part_count; i++) {
        const struct gc_rule *part = r->parts[i];
        bool nested = part->part_count > 0;
        if (i > 0)
            buf_append_str(out, r->kind == GC_RULE_UNION ? " || " : " && ");
        buf_append_str(out, nested ? "(" : "");
        gc_rule_format(part, out);
        buf_append_str(out, nested ? ")" : "");
    }
}
