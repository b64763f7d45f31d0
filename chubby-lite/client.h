/* What the files of the client share: the session, and how calls reach the
 * leader. Private to chubby-lite's client*.c; chubby.h is the door.
 *
 * One loop.
 */
#ifndef CHUBBY_LITE_CLIENT_H
#define CHUBBY_LITE_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include <bsd/sys/queue.h>

#include "base/core/rand.h"
#include "chubby-lite/chubby.h"
#include "chubby-lite/client_cache.h"
#include "chubby-lite/command.h"
#include "chubby-lite/wait_queue.h"

struct fiber;
struct rpc_channel;

/* Members of a cell, past ones included, that a client remembers. */
#define CLIENT_SERVERS_MAX 16
/* Events of handles whose opening has not been answered yet. */
#define CLIENT_STRAYS_MAX 64

enum session_state {
    SESSION_SAFE,
    SESSION_JEOPARDY,
    SESSION_EXPIRED
};

struct client_server {
    char *address; /* Owned. */
    struct rpc_channel *channel;
    bool is_other_service; /* It said that it is no lock server. */
};

/* A command of the session under way. */
struct flight {
    TAILQ_ENTRY(flight) link; /* By sequence. */
    uint64_t sequence;
};

struct stray {
    uint64_t handle;
    unsigned event;
};

struct chubby {
    struct world *world;
    const struct rpc_security *security;
    chubby_event_cb on_event;
    void *ctx;
    char *address; /* "": not told. */
    uint32_t lease_ms;
    uint32_t grace_ms;
    struct client_server servers[CLIENT_SERVERS_MAX];
    size_t server_count;
    size_t leader; /* Index of the server to ask first. */
    struct rand_gen random;
    /* The session. */
    enum session_state state;
    uint64_t session;
    uint64_t term;        /* Of the leader that answered last; 0: none yet. */
    uint64_t heard;       /* News of that term acted upon. */
    uint64_t deadline_ns; /* Monotonic: the lease is surely valid before. */
    struct wait_queue changed; /* Woken when any of these did. */
    struct fiber *keep_alive;
    bool closing;
    /* Commands. */
    uint64_t sequence; /* The newest given out. */
    TAILQ_HEAD(, flight) flights;
    struct wait_queue landed; /* Woken when a flight ends. */
    /* Handles. */
    LIST_HEAD(, chubby_handle) handles;
    unsigned opening_count; /* Calls that open one. */
    struct stray strays[CLIENT_STRAYS_MAX];
    size_t stray_count;
    struct client_cache cache;
};

struct chubby_handle {
    struct chubby *client;
    LIST_ENTRY(chubby_handle) link;
    uint64_t id;
    uint64_t instance;
    bool is_ephemeral;
    bool cache_off;
    char *path; /* Owned. */
};

/* --- client_call.c ------------------------------------------------------- */

/* The server at @address, remembered if it is new and there is room. */
void client__add_server(struct chubby *c, struct slice address);
void client__close_servers(struct chubby *c);

/* One try: ask the server that leads as far as is known. On failure choose
 * whom to ask next; *@again: another try may do better. Parks. */
MUST_CHECK int client__try(struct chubby *c,
                           uint32_t method,
                           uint64_t timeout_us,
                           struct slice body,
                           struct buf *reply,
                           bool *again,
                           struct err *err);
/* Try until it is answered, the session has expired, or the caller's deadline
 * or cancellation comes. Parks. */
MUST_CHECK int client__call(struct chubby *c,
                            uint32_t method,
                            uint64_t timeout_us,
                            struct slice body,
                            struct buf *reply,
                            struct err *err);
/* Have @command executed once; @a borrows from @reply. Parks. Errors: those of
 * the machine too. */
MUST_CHECK int client__execute(struct chubby *c,
                               struct chubby_command *command,
                               struct buf *reply,
                               struct chubby_answer *a,
                               struct err *err);
/* As an error, if it is one. */
MUST_CHECK int
client__answer(struct slice bytes, struct chubby_answer *a, struct err *err);

/* --- client.c ------------------------------------------------------------ */

/* May what is cached be used now? */
bool client__may_use_cache(const struct chubby *c);
/* Tell an event of the session, or of handle @id. */
void client__notify(struct chubby *c, uint64_t id, unsigned event);

#endif /* CHUBBY_LITE_CLIENT_H */
