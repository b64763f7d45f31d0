/* Are the answers that clients got those of some order of their calls, one at a
 * time, each between its call and its answer?
 *
 * Wing and Gong's search ("Testing and verifying concurrent objects", JPDC
 * 1993) with Lowe's memory of states already tried, on each key by itself: a
 * history is linearizable if and only if that of every object in it is
 * (Herlihy & Wing, TOPLAS 1990).
 *
 *     struct history *h = history_new();
 *     size_t op = history_call(h, now, client, key, &input);
 *     …
 *     history_return(h, op, now, &output);     // or history_unknown(h, op)
 *     history_check(h, &model, &why)
 *
 * A call that never got an answer may have taken effect at any time after it,
 * or not at all.
 */
#ifndef TESTS_LIB_LINEARIZABLE_H
#define TESTS_LIB_LINEARIZABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct history;

/* A request or an answer: a kind and three numbers, whose meaning is the
 * model's. */
struct history_value {
    uint32_t kind;
    uint64_t a;
    uint64_t b;
    uint64_t c;
};

#define HISTORY_STATE_WORDS 6

/* One object. Its state is a few numbers, compared as bytes. */
struct history_state {
    uint64_t v[HISTORY_STATE_WORDS];
};

struct history_model {
    struct history_state initial;
    /* May a call with @input, in state *@state, have answered @output? If so
     * change *@state. @output NULL: the answer is not known, anything goes. */
    bool (*step)(struct history_state *state,
                 const struct history_value *input,
                 const struct history_value *output);
    /* Append "put 3 -> ok" or the like; @output as above. */
    void (*print)(const struct history_value *input,
                  const struct history_value *output,
                  struct buf *out);
};

struct history *history_new(void); /* Owned. */
void history_free(struct history *h);
size_t history_count(const struct history *h);

/* A call begins at @now (any clock all clients share). Returns its number. */
size_t history_call(struct history *h,
                    uint64_t now,
                    uint64_t client,
                    uint64_t key,
                    const struct history_value *input);
void history_return(struct history *h,
                    size_t op,
                    uint64_t now,
                    const struct history_value *output);
/* It surely did nothing: the call is forgotten. */
void history_failed(struct history *h, size_t op);
/* It was tried more than once: it may have taken effect several times before it
 * returned. */
void history_repeats(struct history *h, size_t op);

/* Calls that neither returned nor failed when it is checked are unknown. */

enum history_verdict {
    HISTORY_LINEARIZABLE,
    HISTORY_WRONG,
    HISTORY_TOO_HARD, /* More states than @budget. */
};

/* Judge all keys. HISTORY_WRONG: the calls of the key that has no order are
 * appended to @why, in order of time, with a '?' before those that the longest
 * order found does not have. @budget: states per key; 0: a million. */
enum history_verdict history_check(const struct history *h,
                                   const struct history_model *model,
                                   size_t budget,
                                   struct buf *why);

/* A register of kinds REGISTER_READ (answer a), REGISTER_WRITE (of a) and
 * REGISTER_ADD (to the value: of a, answer a is the sum). */
enum {
    REGISTER_READ,
    REGISTER_WRITE,
    REGISTER_ADD
};

extern const struct history_model history_register;

#endif /* TESTS_LIB_LINEARIZABLE_H */
