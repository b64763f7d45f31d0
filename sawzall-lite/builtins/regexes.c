/* The run's cache of compiled patterns; see regexes.h. Set-associative: a
 * pattern belongs to one small set of places by its hash, so a lookup compares
 * a few texts and replacement needs no list of all. */
#include "sawzall-lite/builtins/regexes.h"

#include "base/core/hash.h"
#include "base/core/panic.h"
#include "sawzall-lite/builtins/possessive.h"
#include "sawzall-lite/builtins/private.h"

#define SET_COUNT 32 /* Sets of WAYS entries; a pattern belongs to one set. */
#define WAYS      4

/* Cost of refusing a pattern, in instructions: it may be a large one. */
#define REGEX_REFUSED_WORK 20000

struct entry {
    struct regex *regex; /* NULL: free. */
    char *pattern;
    size_t len;
    uint64_t hash;
    uint64_t used_at;
};

struct saw_regex_cache {
    struct entry sets[SET_COUNT][WAYS];
    uint64_t clock;
    struct regex **evicted; /* May still be in use. */
    size_t evicted_count;
};

static void free_evicted(struct saw_regex_cache *c)
{
    for (size_t i = 0; i < c->evicted_count; i++)
        regex_free(c->evicted[i]);
    mem_free(c->evicted);
    c->evicted = NULL;
    c->evicted_count = 0;
}

/* Empty @e, keeping its regex alive until free_evicted(). */
static void regexes_evict(struct saw_regex_cache *c, struct entry *e)
{
    if (!e->regex)
        return;
    c->evicted = mem_realloc(c->evicted,
                             (c->evicted_count + 1) * sizeof(struct regex *));
    c->evicted[c->evicted_count++] = e->regex;
    mem_free(e->pattern);
    *e = (struct entry){0};
}

void saw_regexes_free(struct saw_regex_cache *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < SET_COUNT; i++) {
        for (size_t k = 0; k < WAYS; k++)
            regexes_evict(c, &c->sets[i][k]);
    }
    free_evicted(c);
    mem_free(c);
}

/* The entry of @pattern in its set, or the one to give up for it. */
static struct entry *
entry_for(struct saw_regex_cache *c, struct slice pattern, uint64_t hash)
{
    struct entry *set = c->sets[hash % SET_COUNT];
    struct entry *oldest = set;
    for (size_t k = 0; k < WAYS; k++) {
        struct entry *e = &set[k];
        if (e->regex && e->hash == hash &&
            slice_eq(slice_make(e->pattern, e->len), pattern))
            return e;
        if (e->used_at < oldest->used_at)
            oldest = e;
    }
    regexes_evict(c, oldest);
    POST(!oldest->regex && !oldest->pattern);
    return oldest;
}

int saw_regex_compile(struct slice pattern, struct regex **out, struct err *err)
{
    struct buf greedy = BUF_INIT;
    struct err ignored = ERR_INIT;
    int rc = regex_new(pattern, REGEX_UTF8, out, err);

    if (rc != 0 && saw_possessive_rewrite(pattern, &greedy) &&
        regex_new(buf_slice(&greedy), REGEX_UTF8, out, &ignored) == 0)
        rc = 0;
    buf_close(&greedy);
    return rc;
}

const struct regex *
saw_regex_get(struct saw_ctx *ctx, const struct saw_str *pattern, bool first)
{
    struct slice text = saw_str_slice(pattern);
    uint64_t hash = hash64_slice(text);
    struct entry *e;
    struct err err;

    if (!ctx->regexes)
        ctx->regexes = mem_zalloc(1, sizeof(struct saw_regex_cache));
    if (first && ctx->regexes->evicted_count)
        free_evicted(ctx->regexes);
    e = entry_for(ctx->regexes, text, hash);
    e->used_at = ++ctx->regexes->clock;
    if (e->regex)
        return e->regex;
    err = ERR_INIT;
    if (saw_regex_compile(text, &e->regex, &err) != 0) {
        e->used_at = 0;
        ctx->work += REGEX_REFUSED_WORK;
        saw_undef(ctx, "%s", err.text);
        return NULL;
    }
    ctx->work += regex_compile_steps(e->regex);
    e->pattern = mem_strndup(text.data, text.len);
    e->len = text.len;
    e->hash = hash;
    return e->regex;
}

enum regex_outcome saw_search(struct saw_ctx *ctx,
                              const struct regex *r,
                              struct slice text,
                              struct slice *groups,
                              size_t count)
{
    uint64_t left = ctx->work_max > ctx->work ? ctx->work_max - ctx->work : 0;
    uint64_t before = left;
    enum regex_outcome outcome;

    if (!ctx->work_max) {
        /* A program without a fuel limit must still notice that it is
         * cancelled. */
        ctx->work += regex_search_steps(r, text.len);
        return regex_search(r, text, 0, groups, count) ? REGEX_FOUND
                                                       : REGEX_ABSENT;
    }
    outcome = regex_search_within(r, text, 0, groups, count, &left);
    INVARIANT(left <= before);
    ctx->work += before - left;
    if (outcome == REGEX_TOO_DEAR)
        saw_fail(ctx, ERR_EXHAUSTED,
                 "the regular expression would take over %llu instructions on "
                 "this text",
                 (unsigned long long)ctx->work_max);
    return outcome;
}
