/* Sessions of people who logged in to the console.
 *
 * A session is known by a cookie of 256 random bits, of which only the hash is
 * kept, and has a second such number that its forms must carry, so that another
 * site cannot send one in the user's name. It ends after CONSOLE_SESSION_S.
 *
 * Threads: one. Time is given by the caller.
 *
 * Invariants
 *     INV-1. At most CONSOLE_SESSIONS_MAX; the oldest makes room.
 */
#ifndef CLI_CONSOLE_SESSIONS_H
#define CLI_CONSOLE_SESSIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/slice.h"
#include "cli/console/token_file.h"

struct world;

#define CONSOLE_SESSIONS_MAX 256
#define CONSOLE_SESSION_S    UINT64_C(43200) /* Twelve hours. */
/* Hexadecimal digits of 256 bits, and a NUL. */
#define CONSOLE_SECRET_TEXT 65

struct console_session {
    struct console_token token;               /* Of the login. */
    unsigned char hash[API_TOKEN_HASH_BYTES]; /* Of the cookie. */
    char form_token[CONSOLE_SECRET_TEXT];
    uint64_t until_s; /* 0: free. */
};

struct console_sessions {
    struct world *world; /* Borrowed: randomness. */
    struct console_session at[CONSOLE_SESSIONS_MAX];
};

/* Begin a session of @token at @now_s; the cookie's value is put in @cookie. */
void console_sessions_begin(struct console_sessions *s,
                            const struct console_token *token,
                            uint64_t now_s,
                            char cookie[CONSOLE_SECRET_TEXT]);
/* The session of the cookie @value, which has not ended; NULL: none. Borrowed
 * until the next change. */
struct console_session *console_sessions_find(struct console_sessions *s,
                                              struct slice value,
                                              uint64_t now_s);
void console_session_end(struct console_session *s);
/* End those whose tokens are not in @tokens, and give the others the rights
 * that are there. */
void console_sessions_keep(struct console_sessions *s,
                           const struct console_tokens *tokens);

#endif /* CLI_CONSOLE_SESSIONS_H */
