/* Possessive quantifiers, rewritten as greedy ones where both match the same;
 * see possessive.h. Patterns are scanned atom by atom, without a parser of the
 * whole syntax: where in doubt, the answer is no. */
#include "sawzall-lite/builtins/possessive.h"

#include <string.h>

/* One atom of a pattern: a literal, an escape, a class, a group. */
struct atom {
    size_t begin;
    size_t end;
    unsigned char literal; /* The byte it stands for; 0: something else. */
};

/* The offset after the class that begins at @at with '['. */
static size_t class_end(struct slice p, size_t at)
{
    size_t i = at + 1;

    if (i < p.len && p.data[i] == '^')
        i++;
    if (i < p.len && p.data[i] == ']')
        i++;
    while (i < p.len && p.data[i] != ']')
        i += p.data[i] == '\\' ? 2 : 1;
    return i < p.len ? i + 1 : p.len;
}

static struct atom atom_at(struct slice p, size_t at)
{
    struct atom a = {.begin = at, .end = at + 1};
    unsigned char c = (unsigned char)p.data[at];

    if (c == '\\' && at + 1 < p.len) {
        a.end = at + 2;
        if (strchr("\\.+*?()|[]{}^$/-", p.data[at + 1]))
            a.literal = (unsigned char)p.data[at + 1];
    } else if (c == '[') {
        a.end = class_end(p, at);
    } else if (!strchr(".()|^$", c)) {
        a.literal = c;
    }
    return a;
}

/* The offset after the quantifier at @at; @at if there is none. */
static size_t quantifier_end(struct slice p, size_t at)
{
    size_t i = at;

    if (i < p.len && (p.data[i] == '*' || p.data[i] == '+' || p.data[i] == '?'))
        return i + 1;
    if (i >= p.len || p.data[i] != '{')
        return at;
    for (i++; i < p.len; i++) {
        if (p.data[i] == '}')
            return i > at + 1 ? i + 1 : at;
        if (p.data[i] != ',' && (p.data[i] < '0' || p.data[i] > '9'))
            return at;
    }
    return at;
}

/* Whether the class @a, in brackets, may match the ASCII character @c. Named
 * classes and escapes count as yes. */
static bool class_may_match(struct slice p, const struct atom *a, char c)
{
    size_t i = a->begin + 1;
    size_t end = a->end - 1;
    bool negated = i < end && p.data[i] == '^';
    bool listed = false;

    for (i += negated; i < end; i++) {
        char from = p.data[i];
        char to = from;
        if (from == '\\' || (from == '[' && p.data[i + 1] == ':'))
            return true;
        if (i + 2 < end && p.data[i + 1] == '-') {
            to = p.data[i + 2];
            i += 2;
        }
        listed |= c >= from && c <= to;
    }
    return listed != negated;
}

static bool may_match(struct slice p, const struct atom *a, char c)
{
    if (a->literal)
        return a->literal >= 0x80 || (char)a->literal == c;
    return p.data[a->begin] != '[' || class_may_match(p, a, c);
}

/* Whether the pattern at @at cannot begin with the characters that @a repeats,
 * so that giving some of them back never helps: it is at its end, or another
 * literal must follow. */
static bool never_gives_back(struct slice p, size_t at, const struct atom *a)
{
    struct atom next;
    size_t q;

    if (at == p.len)
        return true;
    next = atom_at(p, at);
    q = quantifier_end(p, next.end);
    return next.literal && next.literal < 0x80 &&
           !may_match(p, a, (char)next.literal) &&
           (q == next.end || p.data[next.end] == '+');
}

bool saw_possessive_rewrite(struct slice p, struct buf *out)
{
    size_t copied = 0;
    size_t at = 0;

    while (at < p.len) {
        struct atom a = atom_at(p, at);
        size_t q = quantifier_end(p, a.end);
        at = q > at ? q : at + 1;
        if (q == a.end || q >= p.len || p.data[q] != '+')
            continue;
        if (!never_gives_back(p, q + 1, &a))
            return false;
        buf_append(out, p.data + copied, q - copied);
        copied = at = q + 1;
    }
    if (copied == 0)
        return false;
    buf_append(out, p.data + copied, p.len - copied);
    return true;
}
