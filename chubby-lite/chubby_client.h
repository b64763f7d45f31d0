/* A client's session: its lease, its commands, its handles and its cache.
 * Private to chubby-lite's client*.c; chubby.h is the public header.
 *
 * The server's view of the lease never ends before the client's: it starts when
 * the server answers a keep-alive, the client's when it sent it, and the client
 * subtracts what two clocks may drift apart (Chubby, OSDI 2006, section 2.8).
 *
 * One loop.
 *
 * Invariants
 *     INV-1. An expired session stays expired: set_state().
 *     INV-2. Nothing is cached unless the session is safe: set_state() empties
 *            the cache, client__may_use_cache() guards reads.
 *     INV-3. `heard` belongs to `term`: it only grows until another leader
 *            answers, and then starts at 0: meet_leader().
 *     INV-4. A handle is freed only by client__close(); a session ends without
 *            handles.
 */
#ifndef CHUBBY_LITE_CHUBBY_CLIENT_H
#define CHUBBY_LITE_CHUBBY_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include <bsd/sys/queue.h>

#include "base/core/rand.h"
#include "base/session/leader.h"
#include "base/session/window.h"
#include "chubby-lite/chubby_ops.h"
#include "chubby-lite/client_cache.h"
#include "chubby-lite/lock_command.h"
#include "chubby-lite/wait_queue.h"

struct channel_set;
struct fiber;

/* Events of handles whose opening has not been answered yet. */
#define CLIENT_STRAYS_MAX 64

enum session_state {
    SESSION_SAFE,
    SESSION_JEOPARDY,
    SESSION_EXPIRED
};

/* An event that came before the answer to the opening of its handle. */
struct stray {
    uint64_t handle;
    unsigned event;
};

struct lock_client {
    struct chubby base;
    struct world *world;
    chubby_event_cb on_event;
    void *ctx;
    char *address; /* "": none was given. */
    uint32_t lease_ms;
    uint32_t grace_ms;
    struct channel_set *channels; /* Owned. */
    struct leader *leader;        /* Owned. */
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
    struct session_window window;
    struct wait_queue landed; /* Woken when a command ends. */
    /* Handles. */
    LIST_HEAD(, lock_client_handle) handles;
    unsigned opening_count; /* Calls that open one. */
    struct stray strays[CLIENT_STRAYS_MAX];
    size_t stray_count;
    struct client_cache cache;
};

struct lock_client_handle {
    struct chubby_handle base;
    struct lock_client *client;
    LIST_ENTRY(lock_client_handle) link;
    uint64_t id;
    uint64_t instance;
    bool is_ephemeral;
    bool cache_off;
};

/* --- client_call.c ------------------------------------------------------- */

/* Codes of a server's own trouble: a try elsewhere, or later, may do better.
 * The codes of the state machine come in answers. */
bool client__is_transient(int code);
/* Try until it is answered, the session has expired, or the caller's deadline
 * or cancellation comes. Parks. */
MUST_CHECK int client__call(struct lock_client *c,
                            uint32_t method,
                            uint64_t timeout_us,
                            struct slice body,
                            struct buf *reply,
                            struct err *err);
/* Have @command executed once; @a borrows from @reply. Parks. Errors: those of
 * the machine too. */
MUST_CHECK int client__execute(struct lock_client *c,
                               struct chubby_command *command,
                               struct buf *reply,
                               struct chubby_answer *a,
                               struct err *err);
/* Read an answer of the machine; one that is an error is returned as such. @a
 * borrows from @bytes. */
MUST_CHECK int
client__answer(struct slice bytes, struct chubby_answer *a, struct err *err);

/* --- chubby_client.c ----------------------------------------------------- */

/* May the cache be used now? */
bool client__may_use_cache(const struct lock_client *c);
/* Pass on an event of the session (0), or of handle @id. */
void client__notify(struct lock_client *c, uint64_t id, unsigned event);

/* --- the operations of chubby_ops.h --------------------------------------- */

static inline struct lock_client *client__session(struct chubby *base)
{
    return (struct lock_client *)base;
}

static inline struct lock_client_handle *
client__handle(struct chubby_handle *base)
{
    return (struct lock_client_handle *)base;
}

/* As the public functions: client_handle.c, client_survey.c. */
int client__open(struct chubby *base,
                 const char *path,
                 unsigned flags,
                 const struct chubby_open_options *opts,
                 struct chubby_handle **out,
                 struct err *err);
void client__close(struct chubby_handle *base);
int client__read(struct chubby_handle *base,
                 struct buf *out,
                 struct chubby_stat *stat,
                 struct err *err);
bool client__is_cached(const struct chubby_handle *base);
int client__get_stat(struct chubby_handle *base,
                     struct chubby_stat *stat,
                     struct err *err);
int client__list(struct chubby_handle *base,
                 char ***names,
                 size_t *count,
                 struct err *err);
int client__write(struct chubby_handle *base,
                  struct slice contents,
                  uint64_t if_generation,
                  struct err *err);
int client__set_acl(struct chubby_handle *base,
                    const char *read,
                    const char *write,
                    const char *change,
                    struct err *err);
int client__remove(struct chubby_handle *base, struct err *err);
int client__acquire(struct chubby_handle *base,
                    enum chubby_lock mode,
                    struct err *err);
int client__try_acquire(struct chubby_handle *base,
                        enum chubby_lock mode,
                        struct err *err);
int client__release(struct chubby_handle *base, struct err *err);
int client__sequencer(struct chubby_handle *base,
                      char text[CHUBBY_SEQUENCER_BYTES_MAX],
                      struct err *err);
int client__check_sequencer(struct chubby *base,
                            struct slice sequencer,
                            struct err *err);
int client__list_sessions(struct chubby *base,
                          uint64_t after,
                          uint32_t limit,
                          struct arena *a,
                          struct chubby_session_list *out,
                          struct err *err);
int client__list_entries(struct chubby *base,
                         const char *path,
                         const char *after,
                         uint32_t limit,
                         struct arena *a,
                         struct chubby_entry_list *out,
                         struct err *err);

#endif /* CHUBBY_LITE_CHUBBY_CLIENT_H */
