/* saw(), sawn() and sawzall(): see values/builtin.h. Pieces are collected as
 * slices of the text and become one array at the end, in two allocations. */
#include <string.h>

#include "base/core/panic.h"
#include "sawzall-lite/builtins/private.h"
#include "sawzall-lite/builtins/regexes.h"
#include "sawzall-lite/values/builtin.h"

#define GROUPS_MAX   100
#define PATTERNS_MAX 64

struct sawing {
    struct saw_ctx *ctx;
    struct slice rest;    /* Not yet cut. */
    const char *last_end; /* Where the last match ended; NULL at first. */
    struct slice *pieces; /* In memory of its own. */
    size_t count;
    size_t cap;
    size_t round; /* Pieces of the present round. */
    bool failed;  /* Too much work: the error is set. */
};

static void add_piece(struct sawing *w, struct slice piece)
{
    if (w->count == w->cap) {
        w->cap = w->cap ? w->cap * 2 : 32;
        w->pieces = mem_realloc(w->pieces, w->cap * sizeof(*w->pieces));
    }
    w->pieces[w->count++] = piece.data ? piece : SLICE_EMPTY;
    w->round++;
}

static void sawing_take(struct sawing *w,
                        enum saw_saw_flag flag,
                        struct slice *groups,
                        size_t n)
{
    size_t first = flag == SAW_SAW_SUBMATCH && n > 1 ? 1 : 0;
    size_t end = first ? n : 1;
    if (flag == SAW_SAW_SKIP)
        return;
    for (size_t i = first; i < end; i++)
        add_piece(w, groups[i]);
}

static void advance_to(struct sawing *w, const char *p)
{
    PRE(p >= w->rest.data && p <= w->rest.data + w->rest.len);
    w->rest = slice_make(p, w->rest.len - (size_t)(p - w->rest.data));
}

/* Match @r at the beginning of the rest or later. False: no match. With a
 * single pattern, an empty match where the last one ended is not progress: one
 * character is skipped and the search repeated. */
static bool sawing_cut(struct sawing *w,
                       const struct regex *r,
                       enum saw_saw_flag flag,
                       bool alone)
{
    struct slice groups[GROUPS_MAX];
    size_t n = (size_t)regex_group_count(r) + 1;
    const char *end;

    for (;;) {
        size_t len;
        enum regex_outcome found = saw_search(w->ctx, r, w->rest, groups, n);
        w->failed = found == REGEX_TOO_DEAR;
        if (found != REGEX_FOUND)
            return false;
        end = groups[0].data + groups[0].len;
        if (end != w->last_end || !alone)
            break;
        advance_to(w, end);
        if (w->rest.len == 0)
            return false;
        saw_utf8_decode(w->rest.data, w->rest.data + w->rest.len, &len);
        advance_to(w, w->rest.data + len);
        w->last_end = NULL;
    }
    while (n > 1 && !groups[n - 1].data)
        n--;
    sawing_take(w, flag, groups, n);
    w->last_end = end;
    advance_to(w, end);
    return true;
}

static void saw_rounds(struct sawing *w,
                       int64_t count,
                       const struct regex *const *regexes,
                       const uint8_t *flags,
                       size_t n)
{
    for (int64_t i = 0; i < count; i++) {
        const char *begin = w->rest.data;
        w->round = 0;
        for (size_t k = 0; k < n; k++) {
            if (!sawing_cut(w, regexes[k], (enum saw_saw_flag)flags[k], n == 1))
                return;
        }
        if (n > 1 && w->rest.data == begin) {
            INVARIANT(w->round <= w->count);
            w->count -= w->round; /* No progress: drop the empty pieces. */
            return;
        }
    }
}

/* Append the pieces to *@result. */
static enum saw_status sawing_give(struct sawing *w, struct saw_array **result)
{
    struct saw_array *fresh =
        saw_array_of_texts(w->ctx, SAW_STRING, w->pieces, w->count);
    struct saw_array *all;
    if (!fresh)
        return SAW_FAIL;
    if (!*result || (*result)->len == 0) {
        *result = fresh;
        return SAW_OK;
    }
    all = saw_array_new(w->ctx, (*result)->len + fresh->len);
    if (!all)
        return SAW_FAIL;
    memcpy(all->items, (*result)->items, (*result)->len * sizeof(*all->items));
    memcpy(all->items + (*result)->len, fresh->items,
           fresh->len * sizeof(*all->items));
    *result = all;
    return SAW_OK;
}

enum saw_status saw_saw(struct saw_ctx *ctx,
                        const struct saw_str **text,
                        int64_t count,
                        const struct saw_str *const *patterns,
                        const uint8_t *flags,
                        size_t pattern_count,
                        struct saw_array **result)
{
    const struct regex *regexes[PATTERNS_MAX];
    struct sawing w = {.ctx = ctx, .rest = saw_str_slice(*text)};
    enum saw_status status;

    PRE(pattern_count <= PATTERNS_MAX);
    for (size_t i = 0; i < pattern_count; i++) {
        regexes[i] = saw_regex_get(ctx, patterns[i], i == 0);
        if (!regexes[i])
            return SAW_UNDEF;
        if (regex_group_count(regexes[i]) >= GROUPS_MAX)
            return saw_undef(ctx,
                             "the regular expression has more than %d "
                             "groups",
                             GROUPS_MAX - 1);
    }
    saw_rounds(&w, count, regexes, flags, pattern_count);
    status = w.failed ? SAW_FAIL : sawing_give(&w, result);
    mem_free(w.pieces);
    if (status != SAW_OK)
        return status;
    *text = saw_string_count(ctx, w.rest);
    return *text ? SAW_OK : SAW_FAIL;
}
