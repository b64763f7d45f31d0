/* Sessions of viewers, in a table that is small enough to be searched whole.
 * When it is full, the session that would end first makes room, so that
 * logins cannot take memory. */
#include "cli/console/sessions.h"

#include <stdio.h>

#include "base/core/panic.h"
#include "base/runtime/world.h"

static void make_secret(struct world *w, char out[CONSOLE_SECRET_TEXT])
{
    unsigned char bytes[API_TOKEN_BYTES];
    world_random_bytes(w, bytes, sizeof(bytes));
    for (size_t i = 0; i < sizeof(bytes); i++)
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}

/* One that has ended, or the one that ends first. INV-1 */
static struct console_session *free_place(struct console_sessions *s)
{
    struct console_session *place = &s->at[0];
    for (size_t i = 1; i < CONSOLE_SESSIONS_MAX; i++)
        if (s->at[i].until_s < place->until_s)
            place = &s->at[i];
    return place;
}

void console_sessions_begin(struct console_sessions *s,
                            const struct console_token *token,
                            uint64_t now_s,
                            char cookie[CONSOLE_SECRET_TEXT])
{
    struct console_session *k = free_place(s);
    PRE(token->right != CONSOLE_NONE);
    make_secret(s->world, cookie);
    *k = (struct console_session){.token = *token,
                                  .until_s = now_s + CONSOLE_SESSION_S};
    api_token_hash(slice_str(cookie), k->hash);
    make_secret(s->world, k->form_token);
}

struct console_session *console_sessions_find(struct console_sessions *s,
                                              struct slice value,
                                              uint64_t now_s)
{
    struct console_session *found = NULL;
    unsigned char hash[API_TOKEN_HASH_BYTES];
    if (value.len != CONSOLE_SECRET_TEXT - 1)
        return NULL;
    api_token_hash(value, hash);
    for (size_t i = 0; i < CONSOLE_SESSIONS_MAX; i++) {
        struct console_session *k = &s->at[i];
        if (console_bytes_equal(hash, k->hash, sizeof(hash)) &&
            now_s < k->until_s)
            found = k;
    }
    return found;
}

void console_session_end(struct console_session *s)
{
    *s = (struct console_session){.until_s = 0};
}

static const struct console_token *
find_same(const struct console_tokens *tokens, const struct console_token *t)
{
    for (size_t i = 0; i < tokens->count; i++)
        if (console_bytes_equal(tokens->at[i].hash, t->hash, sizeof(t->hash)))
            return &tokens->at[i];
    return NULL;
}

void console_sessions_keep(struct console_sessions *s,
                           const struct console_tokens *tokens)
{
    for (size_t i = 0; i < CONSOLE_SESSIONS_MAX; i++) {
        struct console_session *k = &s->at[i];
        const struct console_token *t = find_same(tokens, &k->token);
        if (t)
            k->token = *t;
        else
            console_session_end(k);
    }
}
