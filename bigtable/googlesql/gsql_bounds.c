/* Conditions as intervals: AND intersects, OR takes the hull, and what is not
 * understood bounds nothing.
 */
#include "bigtable/googlesql/gsql_bounds.h"

#include <string.h>

#include "base/core/macros.h"
#include "bigtable/googlesql/gsql_lexer.h"
#include "bigtable/googlesql/gsql_scope.h"

static bool is_key(const struct gsql_node *n, struct slice alias)
{
    if (n->kind == GSQL_MEMBER)
        return n->a->kind == GSQL_NAME && gsql_same_name(n->a->text, alias) &&
               gsql_same_name(n->text, SLICE_LIT("_key"));
    return n->kind == GSQL_NAME && gsql_same_name(n->text, SLICE_LIT("_key"));
}

/* The bytes of a constant. */
static bool gsql_bounds_constant(const struct gsql_translator *t,
                                 const struct gsql_node *n,
                                 struct slice *out)
{
    const struct gsql_param *p;
    if (n->kind == GSQL_CAST &&
        (n->type->kind == GSQL_BYTES || n->type->kind == GSQL_STRING))
        n = n->a;
    *out = n->text;
    if (n->kind == GSQL_TEXT)
        return true;
    p = n->kind == GSQL_PARAM ? gsql_param_find(t, n->text) : NULL;
    if (!p || !p->has_bytes)
        return false;
    *out = p->bytes;
    return true;
}

/* The key that follows @key at once, and the first behind all that begin with
 * it (empty: there is none). */
static struct slice gsql_bounds_successor(struct gsql_translator *t,
                                          struct slice key)
{
    char *s = arena_alloc(t->arena, key.len + 1);
    if (key.len)
        memcpy(s, key.data, key.len);
    s[key.len] = '\0';
    return slice_make(s, key.len + 1);
}

static struct slice prefix_end(struct gsql_translator *t, struct slice prefix)
{
    size_t len = prefix.len;
    char *s = arena_alloc(t->arena, len + 1);
    if (len)
        memcpy(s, prefix.data, len);
    while (len && (unsigned char)s[len - 1] == 0xff)
        len--;
    if (len)
        s[len - 1]++;
    return slice_make(s, len);
}

static struct gsql_bounds one_key(struct gsql_translator *t, struct slice key)
{
    struct gsql_bounds b = {.from = key, .to = gsql_bounds_successor(t, key)};
    b.has_keys = true;
    b.keys = arena_alloc(t->arena, sizeof(*b.keys));
    b.keys[0] = key;
    b.key_count = 1;
    return b;
}

static struct gsql_bounds
of_comparison(struct gsql_translator *t, struct slice op, struct slice key)
{
    struct gsql_bounds b = {.from = SLICE_EMPTY};
    if (slice_eq_str(op, "="))
        return one_key(t, key);
    if (slice_eq_str(op, ">="))
        b.from = key;
    if (slice_eq_str(op, ">"))
        b.from = gsql_bounds_successor(t, key);
    if (slice_eq_str(op, "<"))
        b.to = key;
    if (slice_eq_str(op, "<="))
        b.to = gsql_bounds_successor(t, key);
    b.nothing = slice_eq_str(op, "<") && key.len == 0;
    return b;
}

static struct gsql_bounds of_prefix(struct gsql_translator *t,
                                    struct slice prefix)
{
    return (struct gsql_bounds){.from = prefix, .to = prefix_end(t, prefix)};
}

/* The fixed beginning of a pattern. */
static struct slice pattern_prefix(struct slice pattern)
{
    size_t n = 0;
    while (n < pattern.len && !memchr("%_\\", pattern.data[n], 3))
        n++;
    return slice_sub(pattern, 0, n);
}

/* --- sets ---------------------------------------------------------------- */

static bool gsql_bounds_holds(const struct gsql_bounds *b, struct slice key)
{
    return !b->nothing && slice_cmp(key, b->from) >= 0 &&
           (b->to.len == 0 || slice_cmp(key, b->to) < 0);
}

static bool has_key(const struct gsql_bounds *b, struct slice key)
{
    if (!gsql_bounds_holds(b, key))
        return false;
    for (size_t i = 0; b->has_keys && i < b->key_count; i++)
        if (slice_eq(b->keys[i], key))
            return true;
    return !b->has_keys;
}

static struct gsql_bounds gsql_bounds_both(struct gsql_bounds a,
                                           struct gsql_bounds b)
{
    size_t kept = 0;
    if (!a.has_keys && b.has_keys)
        return gsql_bounds_both(b, a);
    for (size_t i = 0; a.has_keys && i < a.key_count; i++)
        if (has_key(&b, a.keys[i]))
            a.keys[kept++] = a.keys[i];
    a.key_count = kept;
    if (slice_cmp(b.from, a.from) > 0)
        a.from = b.from;
    if (b.to.len && (a.to.len == 0 || slice_cmp(b.to, a.to) < 0))
        a.to = b.to;
    a.nothing |= b.nothing || (a.has_keys && kept == 0) ||
                 (a.to.len && slice_cmp(a.from, a.to) >= 0);
    return a;
}

static struct gsql_bounds gsql_bounds_either(struct gsql_translator *t,
                                             struct gsql_bounds a,
                                             struct gsql_bounds b)
{
    struct gsql_bounds out = a;
    if (a.nothing || b.nothing)
        return a.nothing ? b : a;
    if (slice_cmp(b.from, a.from) < 0)
        out.from = b.from;
    if (a.to.len && (b.to.len == 0 || slice_cmp(b.to, a.to) > 0))
        out.to = b.to;
    out.has_keys =
        a.has_keys && b.has_keys && a.key_count + b.key_count <= GSQL_KEYS_MAX;
    if (!out.has_keys)
        return out;
    out.keys =
        arena_alloc(t->arena, (a.key_count + b.key_count) * sizeof(*out.keys));
    memcpy(out.keys, a.keys, a.key_count * sizeof(*out.keys));
    for (size_t i = 0; i < b.key_count; i++)
        if (!has_key(&a, b.keys[i]))
            out.keys[out.key_count++] = b.keys[i];
    return out;
}

/* --- conditions ---------------------------------------------------------- */

static struct gsql_bounds of_binary(struct gsql_translator *t,
                                    const struct gsql_node *n,
                                    struct slice alias)
{
    static const char *const flips[][2] = {
        {"=", "="}, {"<", ">"}, {"<=", ">="}, {">", "<"}, {">=", "<="}};
    struct gsql_bounds all = {.from = SLICE_EMPTY};
    struct slice key;
    if (slice_eq_str(n->text, "AND"))
        return gsql_bounds_both(gsql_bounds_of(t, n->a, alias),
                                gsql_bounds_of(t, n->b, alias));
    if (slice_eq_str(n->text, "OR"))
        return gsql_bounds_either(t, gsql_bounds_of(t, n->a, alias),
                                  gsql_bounds_of(t, n->b, alias));
    for (size_t i = 0; i < ARRAY_LEN(flips); i++) {
        if (!slice_eq_str(n->text, flips[i][0]))
            continue;
        if (is_key(n->a, alias) && gsql_bounds_constant(t, n->b, &key))
            return of_comparison(t, n->text, key);
        if (is_key(n->b, alias) && gsql_bounds_constant(t, n->a, &key))
            return of_comparison(t, slice_str(flips[i][1]), key);
    }
    return all;
}

static struct gsql_bounds of_in(struct gsql_translator *t,
                                const struct gsql_node *n)
{
    struct gsql_bounds out = {.nothing = true};
    struct slice key;
    for (const struct gsql_node *i = n->list; i; i = i->next) {
        if (!gsql_bounds_constant(t, i, &key))
            return (struct gsql_bounds){.from = SLICE_EMPTY};
        out = gsql_bounds_either(t, out, one_key(t, key));
    }
    return out;
}

struct gsql_bounds gsql_bounds_of(struct gsql_translator *t,
                                  const struct gsql_node *n,
                                  struct slice alias)
{
    const struct gsql_bounds all = {.from = SLICE_EMPTY};
    struct slice a, b;
    if (!n)
        return all;
    if (n->kind == GSQL_BINARY)
        return of_binary(t, n, alias);
    if (n->kind == GSQL_BETWEEN && !n->flag && is_key(n->a, alias) &&
        gsql_bounds_constant(t, n->b, &a) && gsql_bounds_constant(t, n->c, &b))
        return gsql_bounds_both(of_comparison(t, SLICE_LIT(">="), a),
                                of_comparison(t, SLICE_LIT("<="), b));
    if (n->kind == GSQL_IN && !n->flag && !n->b && is_key(n->a, alias))
        return of_in(t, n);
    if (n->kind == GSQL_LIKE && !n->flag && is_key(n->a, alias) &&
        gsql_bounds_constant(t, n->b, &a))
        return of_prefix(t, pattern_prefix(a));
    if (n->kind == GSQL_CALL && n->list && n->list->next &&
        gsql_same_name(n->text, SLICE_LIT("STARTS_WITH")) &&
        is_key(n->list, alias) && gsql_bounds_constant(t, n->list->next, &a))
        return of_prefix(t, a);
    return all;
}

struct gsql_bounds gsql_bounds_after(struct gsql_translator *t,
                                     struct gsql_bounds b,
                                     struct slice key)
{
    return gsql_bounds_both(b, of_comparison(t, SLICE_LIT(">"), key));
}
