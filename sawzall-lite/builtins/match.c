/* match, matchposns, matchstrs.
 *
 * The result holds the whole match and then the groups up to the last one that
 * took part; a group before it that did not is empty, at position 0.
 */
#include "base/core/panic.h"
#include "sawzall-lite/builtins/private.h"
#include "sawzall-lite/builtins/regexes.h"

/* Groups of a pattern; more are refused when the pattern is compiled. */
#define GROUPS_MAX 100

static const struct saw_type *check_pattern(struct saw_check *c)
{
    /* Arguments were matched with the signature; the result is in it. */
    static const struct saw_type *const any = &saw_type_bad;
    const union saw_slot *constant = c->constants[0];
    struct regex *regex;
    struct err err = ERR_INIT;
    int groups;

    if (!constant)
        return any;
    if (saw_regex_compile(saw_str_slice(constant->s), &regex, &err) != 0)
        return saw_check_fail(c, 0, "%.190s", err.text);
    groups = regex_group_count(regex);
    regex_free(regex);
    if (groups >= GROUPS_MAX)
        return saw_check_fail(c, 0, "more than %d groups", GROUPS_MAX - 1);
    return any;
}

static void *prepare_pattern(const struct saw_call *call,
                             const union saw_slot *const *constants)
{
    struct regex *regex;
    (void)call;
    if (!constants[0] ||
        saw_regex_compile(saw_str_slice(constants[0]->s), &regex, NULL) != 0)
        return NULL;
    return regex;
}

static void release_pattern(void *prepared)
{
    regex_free(prepared);
}

static const struct regex *pattern_of(struct saw_ctx *ctx,
                                      const struct saw_call *call,
                                      const union saw_slot *args)
{
    const struct regex *r = call->prepared;
    if (LIKELY(r != NULL))
        return r;
    r = saw_regex_get(ctx, args[0].s, true);
    if (r && regex_group_count(r) >= GROUPS_MAX) {
        saw_undef(ctx, "the regular expression has more than %d groups",
                  GROUPS_MAX - 1);
        return NULL;
    }
    return r;
}

static enum saw_status fn_match(struct saw_ctx *ctx,
                                const struct saw_call *call,
                                const union saw_slot *args,
                                union saw_slot *result)
{
    const struct regex *r = pattern_of(ctx, call, args);
    enum regex_outcome outcome;
    if (!r)
        return SAW_UNDEF;
    outcome = saw_search(ctx, r, saw_str_slice(args[1].s), NULL, 0);
    result->i = outcome == REGEX_FOUND;
    return outcome == REGEX_TOO_DEAR ? SAW_FAIL : SAW_OK;
}

/* Search, and drop the groups after the last that took part. False: too much
 * work, the error is set. */
static bool match_search(struct saw_ctx *ctx,
                         const struct regex *r,
                         const struct saw_str *s,
                         struct slice *groups,
                         size_t *count)
{
    size_t n = (size_t)regex_group_count(r) + 1;
    enum regex_outcome outcome;

    PRE(n <= GROUPS_MAX);
    outcome = saw_search(ctx, r, saw_str_slice(s), groups, n);
    while (outcome == REGEX_FOUND && n > 1 && !groups[n - 1].data)
        n--;
    *count = outcome == REGEX_FOUND ? n : 0;
    return outcome != REGEX_TOO_DEAR;
}

/* Character positions of ascending or descending offsets, each counted from the
 * one before: groups mostly come in order, so the text is walked about once. */
struct counter {
    const struct saw_str *s;
    size_t offset;
    size_t chars;
};

static int64_t match_position(struct counter *c, const char *p)
{
    size_t offset = (size_t)(p - c->s->data);

    PRE(p >= c->s->data && offset <= c->s->len);
    if (saw_str_is_ascii(c->s))
        return (int64_t)offset;
    if (offset < c->offset) {
        c->offset = 0;
        c->chars = 0;
    }
    c->chars +=
        saw_utf8_count(slice_make(c->s->data + c->offset, offset - c->offset));
    c->offset = offset;
    return (int64_t)c->chars;
}

static enum saw_status fn_matchposns(struct saw_ctx *ctx,
                                     const struct saw_call *call,
                                     const union saw_slot *args,
                                     union saw_slot *result)
{
    const struct regex *r = pattern_of(ctx, call, args);
    struct slice groups[GROUPS_MAX];
    struct counter c = {args[1].s, 0, 0};
    struct saw_array *a;
    size_t n;

    if (!r)
        return SAW_UNDEF;
    if (!match_search(ctx, r, args[1].s, groups, &n))
        return SAW_FAIL;
    a = saw_array_new(ctx, 2 * n);
    if (!a)
        return SAW_FAIL;
    for (size_t i = 0; i < n; i++) {
        const char *p = groups[i].data;
        a->items[2 * i].i = p ? match_position(&c, p) : 0;
        a->items[2 * i + 1].i = p ? match_position(&c, p + groups[i].len) : 0;
    }
    result->a = a;
    return SAW_OK;
}

static enum saw_status fn_matchstrs(struct saw_ctx *ctx,
                                    const struct saw_call *call,
                                    const union saw_slot *args,
                                    union saw_slot *result)
{
    const struct regex *r = pattern_of(ctx, call, args);
    struct slice groups[GROUPS_MAX];
    size_t n;

    if (!r)
        return SAW_UNDEF;
    if (!match_search(ctx, r, args[1].s, groups, &n))
        return SAW_FAIL;
    for (size_t i = 0; i < n; i++) {
        if (!groups[i].data)
            groups[i] = SLICE_EMPTY;
    }
    /* Parts of ASCII have as many characters as bytes: nothing to count. */
    result->a = saw_array_of_texts(
        ctx, saw_str_is_ascii(args[1].s) ? SAW_BYTES : SAW_STRING, groups, n);
    return result->a ? SAW_OK : SAW_FAIL;
}

const struct saw_builtin saw_builtins_match[] = {
    {.name = "match",
     .signature = "function(r: string, s: string): bool",
     .args_min = 2,
     .flags = SAW_BUILTIN_PURE | SAW_BUILTIN_UNDEF,
     .fn = fn_match,
     .check = check_pattern,
     .prepare = prepare_pattern,
     .release = release_pattern,
     .help = "match(r, s): does the regular expression r match in s?"},
    {.name = "matchposns",
     .signature = "function(r: string, s: string): array of int",
     .args_min = 2,
     .flags = SAW_BUILTIN_PURE | SAW_BUILTIN_UNDEF,
     .fn = fn_matchposns,
     .check = check_pattern,
     .prepare = prepare_pattern,
     .release = release_pattern,
     .help = "matchposns(r, s): begin and end of the match and its groups"},
    {.name = "matchstrs",
     .signature = "function(r: string, s: string): array of string",
     .args_min = 2,
     .flags = SAW_BUILTIN_PURE | SAW_BUILTIN_UNDEF,
     .fn = fn_matchstrs,
     .check = check_pattern,
     .prepare = prepare_pattern,
     .release = release_pattern,
     .help = "matchstrs(r, s): the text of the match and its groups"},
    {.name = NULL},
};
