/* A short list of addresses that is searched from its beginning: a cell has
 * three or five members.
 */
#include "base/session/leader_choice.h"

#include <string.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/panic.h"

#define PAUSE_MIN_US UINT64_C(20000)
#define PAUSE_MAX_US UINT64_C(500000)

STATIC_ASSERT(LEADER_CONFIGURED_MAX <= 32, "a bit each in other_services");
STATIC_ASSERT(LEADER_LEARNED_MAX >= 2, "one is replaced beside the current");

void leader_choice_close(struct leader_choice *c)
{
    for (size_t i = 0; i < c->count; i++)
        mem_free(c->addresses[i]);
    *c = (struct leader_choice){.count = 0};
}

static size_t choice_find(const struct leader_choice *c, struct slice address)
{
    size_t i = 0;
    INVARIANT(c->configured <= c->count); /* INV-3 */
    while (i < c->count && !slice_eq_str(address, c->addresses[i]))
        i++;
    return i;
}

void leader_choice_add(struct leader_choice *c, struct slice address)
{
    PRE(c->count == c->configured);
    if (address.len == 0 || address.len >= LEADER_ADDRESS_BYTES ||
        c->count == LEADER_CONFIGURED_MAX || choice_find(c, address) < c->count)
        return;
    c->addresses[c->count++] = mem_strndup(address.data, address.len);
    c->configured = c->count;
}

const char *leader_choice_current(const struct leader_choice *c)
{
    PRE(c->count > 0);
    INVARIANT(c->current < c->count); /* INV-1 */
    return c->addresses[c->current];
}

/* The place of a new address: INV-3. */
static size_t choice_place(struct leader_choice *c)
{
    size_t at;
    INVARIANT(c->current < c->count || c->count == 0); /* INV-1 */
    if (c->count < c->configured + LEADER_LEARNED_MAX)
        return c->count++;
    do
        at = c->configured + c->replaced++ % LEADER_LEARNED_MAX;
    while (at == c->current);
    mem_free(c->addresses[at]);
    POST(at >= c->configured);
    POST(at != c->current); /* INV-3 */
    return at;
}

static size_t choice_learn(struct leader_choice *c, const char *address)
{
    size_t at = choice_find(c, slice_str(address));
    if (at == c->count) {
        at = choice_place(c);
        c->addresses[at] = mem_strdup(address);
    }
    POST(at < c->count);
    return at;
}

void leader_choice_failed(struct leader_choice *c,
                          const char *asked,
                          const char *hint)
{
    PRE(strlen(hint) < LEADER_ADDRESS_BYTES); /* INV-2 */
    if (strcmp(leader_choice_current(c), asked) != 0)
        return;
    if (*hint && strcmp(hint, asked) != 0)
        c->current = choice_learn(c, hint);
    else
        c->current = (c->current + 1) % c->count;
    INVARIANT(c->current < c->count); /* INV-1 */
}

bool leader_search_continue(struct leader_search *s,
                            const struct leader_choice *c,
                            const char *asked,
                            int code)
{
    size_t at = choice_find(c, slice_str(asked));
    uint32_t bit = at < c->configured ? UINT32_C(1) << at : 0;
    PRE(code != 0);
    s->tries++;
    if (code != ERR_UNSUPPORTED) {
        s->other_services &= ~bit;
        return true;
    }
    s->other_services |= bit;
    return s->other_services != (UINT32_C(1) << c->configured) - 1;
}

uint64_t leader_search_pause_us(const struct leader_search *s,
                                const struct leader_choice *c,
                                uint64_t random)
{
    uint64_t rounds;
    PRE(c->count > 0 && s->tries > 0);
    rounds = (s->tries - 1) / c->count;
    if (rounds == 0)
        return 0;
    return MIN_OF(PAUSE_MIN_US << MIN_OF(rounds, 5u), PAUSE_MAX_US) / 2 +
           random % PAUSE_MIN_US;
}
