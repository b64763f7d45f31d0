/* The search for an order.
 *
 * Calls of one key are sorted by the time they began. The search keeps a list
 * of calls not ordered yet and tries, as the next one, each that began before
 * the earliest answer among them; it backs up when none fits. A pair of (set of
 * calls ordered, state) that failed once is not tried again.
 */
#include "tests/lib/linearizable.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/hash_map.h"
#include "base/core/panic.h"

#define BUDGET_DEFAULT 1000000

struct op {
    uint64_t client;
    uint64_t key;
    uint64_t called;
    uint64_t returned; /* UINT64_MAX: unknown. */
    bool failed;
    bool repeats;
    struct history_value input;
    struct history_value output;
};

struct history {
    struct op *ops;
    size_t count;
    size_t cap;
};

struct history *history_new(void)
{
    return mem_zalloc(1, sizeof(struct history));
}

void history_free(struct history *h)
{
    mem_free(h->ops);
    mem_free(h);
}

size_t history_count(const struct history *h)
{
    return h->count;
}

size_t history_call(struct history *h,
                    uint64_t now,
                    uint64_t client,
                    uint64_t key,
                    const struct history_value *input)
{
    if (h->count == h->cap) {
        h->cap = h->cap ? h->cap * 2 : 256;
        h->ops = mem_realloc(h->ops, h->cap * sizeof(*h->ops));
    }
    h->ops[h->count] = (struct op){.client = client,
                                   .key = key,
                                   .called = now,
                                   .returned = UINT64_MAX,
                                   .input = *input};
    return h->count++;
}

void history_return(struct history *h,
                    size_t op,
                    uint64_t now,
                    const struct history_value *output)
{
    h->ops[op].returned = now;
    h->ops[op].output = *output;
}

void history_failed(struct history *h, size_t op)
{
    h->ops[op].failed = true;
}

void history_repeats(struct history *h, size_t op)
{
    h->ops[op].repeats = true;
}

/* --- search -------------------------------------------------------------- */

struct search {
    const struct history_model *model;
    const struct op **ops; /* Of one key, by the time they began. */
    size_t count;
    uint64_t *done; /* A bit for each: ordered. */
    size_t words;
    size_t first;   /* All before are ordered. */
    size_t answers; /* With an answer, not ordered yet. */
    struct hash_map tried;
    size_t budget;
    bool too_hard;
    uint64_t *best; /* As done, when most calls had been ordered; owned. */
    size_t best_depth;
};

static bool is_done(const struct search *s, size_t i)
{
    return s->done[i / 64] >> (i % 64) & 1;
}

/* Note that this was reached; false if it had been before. */
static bool is_new(struct search *s, const struct history_state *state)
{
    size_t done_bytes = s->words * sizeof(uint64_t);
    char *key = mem_alloc(done_bytes + sizeof(*state));
    bool added;
    memcpy(key, s->done, done_bytes);
    memcpy(key + done_bytes, state, sizeof(*state));
    hash_map_put(&s->tried, slice_make(key, done_bytes + sizeof(*state)),
                 &added);
    mem_free(key);
    if (s->tried.count > s->budget)
        s->too_hard = true;
    return added;
}

/* No call that began after the earliest answer may come before it. */
static uint64_t horizon(const struct search *s)
{
    uint64_t t = UINT64_MAX;
    for (size_t i = s->first; i < s->count && s->ops[i]->called <= t; i++)
        if (!is_done(s, i))
            t = MIN_OF(t, s->ops[i]->returned);
    return t;
}

/* One call put next, and what was before it, for backing up. */
struct step {
    size_t op;
    size_t turn;  /* At which it was tried: see find_next(). */
    bool is_last; /* It takes effect no more: else a try before that. */
    size_t first;
    struct history_state state;
};

static void put_next(struct search *s, size_t i)
{
    s->done[i / 64] |= UINT64_C(1) << (i % 64);
    s->answers -= s->ops[i]->returned != UINT64_MAX;
    while (s->first < s->count && is_done(s, s->first))
        s->first++;
}

static void take_back(struct search *s, const struct step *p)
{
    if (!p->is_last)
        return;
    s->done[p->op / 64] &= ~(UINT64_C(1) << (p->op % 64));
    s->answers += s->ops[p->op]->returned != UINT64_MAX;
    s->first = p->first;
}

/* May call @i come next, and does that lead to anything that was not tried? If
 * so the state after it goes to *@after. Not @is_last: a try of it, whose
 * answer was lost. */
static bool try_call(struct search *s,
                     size_t i,
                     bool is_last,
                     const struct history_state *state,
                     struct history_state *after)
{
    const struct op *o = s->ops[i];
    struct step undo = {
        .op = i, .is_last = is_last, .first = s->first, .state = *state};
    bool fresh;
    *after = *state;
    if (!s->model->step(after, &o->input,
                        o->returned == UINT64_MAX || !is_last ? NULL
                                                              : &o->output))
        return false;
    /* It may come later as well, and need not come at all. */
    if (o->returned == UINT64_MAX && is_last &&
        memcmp(after, state, sizeof(*state)) == 0)
        return false;
    if (is_last)
        put_next(s, i);
    fresh = is_new(s, after);
    take_back(s, &undo);
    return fresh;
}

/* Of each call, in this order: those that were answered before those that were
 * not, which most likely never took effect, or only just before somebody saw
 * it; and last the tries before the last of calls that were made again. */
enum turn {
    TURN_ANSWERED,
    TURN_UNKNOWN,
    TURN_REPEATED,
    TURN_COUNT
};

static bool has_turn(const struct op *o, size_t turn)
{
    if (turn == TURN_REPEATED)
        return o->repeats;
    return (o->returned != UINT64_MAX) == (turn == TURN_ANSWERED);
}

/* The first call from turn @turn on that may come next, with the state after
 * it; s->count if there is none. */
static size_t find_next(struct search *s,
                        size_t *turn,
                        const struct history_state *state,
                        struct history_state *after)
{
    uint64_t limit = horizon(s);
    for (; *turn < TURN_COUNT * s->count && !s->too_hard; ++*turn) {
        size_t i = *turn % s->count;
        size_t kind = *turn / s->count;
        if (i < s->first) {
            *turn += s->first - i - 1;
            continue;
        }
        if (s->ops[i]->called > limit) {
            *turn += s->count - i - 1; /* As are all behind it. */
            continue;
        }
        if (has_turn(s->ops[i], kind) && !is_done(s, i) &&
            try_call(s, i, kind != TURN_REPEATED, state, after))
            return i;
    }
    return s->count;
}

/* The calls of the longest order are for people, to see what did not fit. */
static void note_depth(struct search *s, size_t depth)
{
    if (depth <= s->best_depth)
        return;
    s->best_depth = depth;
    memcpy(s->best, s->done, s->words * sizeof(*s->best));
}

/* Is there an order in which all calls with an answer got it? */
static bool search_order(struct search *s)
{
    struct step *steps = NULL;
    struct history_state state = s->model->initial;
    size_t room = 0;
    size_t depth = 0;
    size_t turn = 0;
    while (s->answers && !s->too_hard) {
        struct history_state after;
        size_t i = find_next(s, &turn, &state, &after);
        if (i < s->count) {
            bool is_last = turn / s->count != TURN_REPEATED;
            if (depth == room) {
                room = room ? room * 2 : s->count + 1;
                steps = mem_realloc(steps, room * sizeof(*steps));
            }
            steps[depth++] = (struct step){i, turn, is_last, s->first, state};
            if (is_last)
                put_next(s, i);
            state = after;
            turn = 0;
            note_depth(s, depth);
        } else if (depth == 0) {
            break;
        } else {
            struct step *p = &steps[--depth];
            take_back(s, p);
            state = p->state;
            turn = p->turn + 1;
        }
    }
    mem_free(steps);
    return s->answers == 0;
}

/* --- keys ---------------------------------------------------------------- */

static int by_key_and_time(const void *a, const void *b)
{
    const struct op *x = *(const struct op *const *)a;
    const struct op *y = *(const struct op *const *)b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->called > y->called) - (x->called < y->called);
}

static void print_ops(const struct search *s, struct buf *why)
{
    for (size_t i = 0; i < s->count; i++) {
        const struct op *o = s->ops[i];
        bool known = o->returned != UINT64_MAX;
        bool fits = s->best[i / 64] >> (i % 64) & 1;
        buf_printf(why, "%s[%10" PRIu64 " ", fits ? "  " : "? ", o->called);
        if (known)
            buf_printf(why, "%10" PRIu64 "]", o->returned);
        else
            buf_printf(why, "%10s]", "?");
        buf_printf(why, " client %" PRIu64 " key %" PRIu64 " %s", o->client,
                   o->key, o->repeats ? "(more than once) " : "");
        s->model->print(&o->input, known ? &o->output : NULL, why);
        buf_append_byte(why, '\n');
    }
}

static enum history_verdict check_key(const struct history_model *model,
                                      const struct op **ops,
                                      size_t count,
                                      size_t budget,
                                      struct buf *why)
{
    struct search s = {.model = model,
                       .ops = ops,
                       .count = count,
                       .words = count / 64 + 1,
                       .budget = budget ? budget : BUDGET_DEFAULT};
    bool found;
    s.done = mem_zalloc(s.words, sizeof(uint64_t));
    s.best = mem_zalloc(s.words, sizeof(uint64_t));
    hash_map_init(&s.tried, HASH_KEYS_COPIED);
    for (size_t i = 0; i < count; i++)
        s.answers += ops[i]->returned != UINT64_MAX;
    found = search_order(&s);
    hash_map_close(&s.tried);
    if (!found && !s.too_hard)
        print_ops(&s, why);
    mem_free(s.done);
    mem_free(s.best);
    if (found)
        return HISTORY_LINEARIZABLE;
    return s.too_hard ? HISTORY_TOO_HARD : HISTORY_WRONG;
}

enum history_verdict history_check(const struct history *h,
                                   const struct history_model *model,
                                   size_t budget,
                                   struct buf *why)
{
    const struct op **ops = mem_alloc((h->count + 1) * sizeof(*ops));
    enum history_verdict verdict = HISTORY_LINEARIZABLE;
    size_t count = 0;
    for (size_t i = 0; i < h->count; i++)
        if (!h->ops[i].failed)
            ops[count++] = &h->ops[i];
    qsort(ops, count, sizeof(*ops), by_key_and_time);
    for (size_t begin = 0, end; begin < count; begin = end) {
        enum history_verdict v;
        for (end = begin; end < count && ops[end]->key == ops[begin]->key;)
            end++;
        v = check_key(model, ops + begin, end - begin, budget, why);
        if (v == HISTORY_WRONG || verdict == HISTORY_LINEARIZABLE)
            verdict = v;
        if (v == HISTORY_WRONG)
            break;
    }
    mem_free(ops);
    return verdict;
}

/* --- a register ---------------------------------------------------------- */

static bool register_step(struct history_state *s,
                          const struct history_value *input,
                          const struct history_value *output)
{
    if (input->kind == REGISTER_WRITE)
        s->v[0] = input->a;
    else if (input->kind == REGISTER_ADD)
        s->v[0] += input->a;
    return !output || input->kind == REGISTER_WRITE || output->a == s->v[0];
}

static void register_print(const struct history_value *input,
                           const struct history_value *output,
                           struct buf *out)
{
    static const char *const names[] = {"read", "write", "add"};
    buf_printf(out, "%s %" PRIu64, names[input->kind], input->a);
    if (output)
        buf_printf(out, " -> %" PRIu64, output->a);
}

const struct history_model history_register = {.step = register_step,
                                               .print = register_print};
