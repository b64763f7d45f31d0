/* Kept answers as an array in the order of sequences. Clients send their
 * commands nearly in that order and acknowledge from the front, so an insertion
 * is at the end and a removal moves what little is left.
 */
#include "base/session/answers.h"

#include <string.h>

#include "base/core/panic.h"

static void answers_check_invariants(const struct session_answers *a)
{
    INVARIANT(a->count <= a->cap && a->count <= SESSION_ANSWERS_MAX);   /* 3 */
    INVARIANT(a->count == 0 || a->kept[0].sequence >= a->acknowledged); /* 2 */
}

void session_answers_close(struct session_answers *a)
{
    INVARIANT(a->count <= SESSION_ANSWERS_MAX); /* INV-3 */
    for (uint32_t i = 0; i < a->count; i++)
        mem_free(a->kept[i].bytes);
    mem_free(a->kept);
    *a = (struct session_answers){.count = 0};
}

/* Where the first answer with at least @sequence is. */
static uint32_t answers_position(const struct session_answers *a,
                                 uint64_t sequence)
{
    uint32_t at = a->count;
    while (at > 0 && a->kept[at - 1].sequence >= sequence)
        at--;
    POST(at <= a->count);
    return at;
}

static struct session_answer *answers_at(const struct session_answers *a,
                                         uint64_t sequence)
{
    uint32_t at = answers_position(a, sequence);
    return at < a->count && a->kept[at].sequence == sequence ? &a->kept[at]
                                                             : NULL;
}

const struct session_answer *
session_answers_find(const struct session_answers *a, uint64_t sequence)
{
    return answers_at(a, sequence);
}

static void answers_forget(struct session_answers *a, uint64_t acknowledged)
{
    uint32_t gone;
    if (acknowledged <= a->acknowledged)
        return;
    gone = answers_position(a, acknowledged);
    for (uint32_t i = 0; i < gone; i++)
        mem_free(a->kept[i].bytes);
    a->count -= gone;
    if (gone && a->count)
        memmove(a->kept, a->kept + gone, a->count * sizeof(a->kept[0]));
    a->acknowledged = acknowledged;
    answers_check_invariants(a);
}

enum session_verdict session_answers_check(struct session_answers *a,
                                           uint64_t sequence,
                                           uint64_t acknowledged,
                                           struct slice *answer)
{
    const struct session_answer *kept = answers_at(a, sequence);
    if (kept) {
        *answer = slice_make(kept->bytes, kept->len);
        return SESSION_ANSWERED;
    }
    answers_forget(a, acknowledged);
    if (sequence < a->acknowledged)
        return SESSION_STALE;
    return a->count >= SESSION_ANSWERS_MAX ? SESSION_FULL : SESSION_EXECUTE;
}

static void answers_insert(struct session_answers *a,
                           uint32_t at,
                           uint64_t sequence,
                           struct slice answer)
{
    INVARIANT(at == 0 || a->kept[at - 1].sequence < sequence);    /* INV-1 */
    INVARIANT(at == a->count || a->kept[at].sequence > sequence); /* INV-1 */
    if (a->count == a->cap) {
        a->cap = a->cap ? 2 * a->cap : 4;
        a->kept = mem_realloc(a->kept, a->cap * sizeof(a->kept[0]));
    }
    memmove(a->kept + at + 1, a->kept + at,
            (a->count - at) * sizeof(a->kept[0]));
    a->kept[at] = (struct session_answer){
        .sequence = sequence,
        .bytes = mem_strndup(answer.data, answer.len),
        .len = (uint32_t)answer.len,
    };
    a->count++;
    answers_check_invariants(a);
}

void session_answers_keep(struct session_answers *a,
                          uint64_t sequence,
                          struct slice answer)
{
    PRE(sequence >= a->acknowledged);
    PRE(a->count < SESSION_ANSWERS_MAX);
    PRE(answer.len <= UINT32_MAX);
    answers_insert(a, answers_position(a, sequence), sequence, answer);
}

void session_answers_replace(struct session_answers *a,
                             uint64_t sequence,
                             struct slice answer)
{
    struct session_answer *kept = answers_at(a, sequence);
    if (!kept)
        return;
    mem_free(kept->bytes);
    kept->bytes = mem_strndup(answer.data, answer.len);
    kept->len = (uint32_t)answer.len;
}

bool session_answers_load(struct session_answers *a,
                          uint64_t sequence,
                          struct slice answer)
{
    if (sequence == 0 || sequence < a->acknowledged ||
        a->count >= SESSION_ANSWERS_MAX || answer.len > UINT32_MAX ||
        answers_at(a, sequence))
        return false;
    session_answers_keep(a, sequence, answer);
    POST(answers_at(a, sequence));
    return true;
}
