/* Calls to a server of the cell: methods and messages beside the commands of
 * lock_command.h. docs/protocols.md has the same grammar.
 *
 * Pure. Threads: any.
 */
#ifndef CHUBBY_LITE_LOCK_WIRE_H
#define CHUBBY_LITE_LOCK_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/slice.h"
#include "base/rpc/call_tables.h"
#include "base/rpc/codec.h"
#include "chubby-lite/chubby.h"

/* Only the leader answers; others end a call with ERR_UNAVAILABLE and the
 * leader's address (replica_leader_hint()). */
#define CHUBBY_METHODS(METHOD)                                                 \
    /* command; answer */                                                      \
    METHOD(CHUBBY_METHOD_EXECUTE, 0x300, "lock.execute",                       \
           server__handle_execute, 0)                                          \
    /* command ACQUIRE, answered once the lock is had; answer */               \
    METHOD(CHUBBY_METHOD_ACQUIRE, 0x301, "lock.acquire",                       \
           server__handle_acquire, RPC_METHOD_WAITS)                           \
    /* chubby_query; chubby_view */                                            \
    METHOD(CHUBBY_METHOD_READ, 0x302, "lock.read", server__handle_read, 0)     \
    /* chubby_check; nothing */                                                \
    METHOD(CHUBBY_METHOD_CHECK, 0x303, "lock.check", server__handle_check, 0)  \
    /* chubby_keep_alive; chubby_news */                                       \
    METHOD(CHUBBY_METHOD_KEEP_ALIVE, 0x304, "lock.keep_alive",                 \
           server__handle_keep_alive, RPC_METHOD_WAITS)                        \
    /* chubby_survey; chubby_session_list (lock_survey.h) */                   \
    METHOD(CHUBBY_METHOD_SESSIONS, 0x305, "lock.sessions",                     \
           server__handle_sessions, 0)                                         \
    /* chubby_survey; chubby_entry_list */                                     \
    METHOD(CHUBBY_METHOD_ENTRIES, 0x306, "lock.entries",                       \
           server__handle_entries, 0)

enum chubby_method {
    CHUBBY_METHODS(METHOD_NUMBER)
};

/* --- reading ------------------------------------------------------------- */

enum chubby_read_kind {
    CHUBBY_READ_CONTENTS = 0,
    CHUBBY_READ_CHILDREN = 1, /* `bytes` is [name…]. */
    CHUBBY_READ_SEQUENCER = 2,
    CHUBBY_READ_STAT = 3, /* No bytes. */
};

/* [session, handle, kind] */
struct chubby_query {
    uint64_t session;
    uint64_t handle;
    enum chubby_read_kind kind;
};

/* [answer (lock_command.h), bytes, cacheable] */
struct chubby_view {
    struct chubby_stat stat;
    struct slice bytes; /* Borrowed. */
    bool cacheable;     /* The client will be told before it changes. */
};

/* [sequencer] */
struct chubby_check {
    struct slice sequencer; /* Borrowed. */
};

/* Append an answer to a query; read one, which borrows from @bytes. Errors:
 * ERR_CORRUPT. */
void chubby_view_put(const struct chubby_view *v, struct buf *out);
MUST_CHECK int
chubby_view_get(struct slice bytes, struct chubby_view *v, struct err *err);

/* A question about the whole cell, which needs no session: sessions after
 * @session, or entries of @path after the name @after. Only those who may look
 * (chubby_server_options) are answered. */
struct chubby_survey {
    struct slice path;
    struct slice after;
    uint64_t session;
    uint32_t limit; /* At most CHUBBY_SURVEY_MAX; 0: that many. */
};

/* --- keep-alives --------------------------------------------------------- */

/* [session, term, heard] */
struct chubby_keep_alive {
    uint64_t session;
    uint64_t term;  /* Of the leader the client knows; 0: none. */
    uint64_t heard; /* News of that term the client has acted upon. */
};

/* News of the leader for a session. */
enum chubby_news_kind {
    CHUBBY_NEWS_EVENT = 0,      /* target: a handle. */
    CHUBBY_NEWS_INVALIDATE = 1, /* target: the instance of a node to drop from
                                   the cache. */
};

struct chubby_news_item {
    uint64_t number; /* From 1 in each term. */
    enum chubby_news_kind kind;
    uint64_t target;
    unsigned event; /* CHUBBY_EVENT_* */
};

/* The answer is [term, lease_ms, count, number, kind, target, event, …]: append
 * its head, and then @count items. */
void chubby_news_put_head(uint64_t term,
                          uint32_t lease_ms,
                          size_t count,
                          struct buf *out);
void chubby_news_put_item(const struct chubby_news_item *i, struct buf *out);
/* Read the head and then each item. Errors: ERR_CORRUPT. */
MUST_CHECK int chubby_news_get_head(struct codec_reader *r,
                                    uint64_t *term,
                                    uint32_t *lease_ms,
                                    uint64_t *count,
                                    struct err *err);
MUST_CHECK int chubby_news_get_item(struct codec_reader *r,
                                    struct chubby_news_item *i,
                                    struct err *err);

/* --- flat messages (base/rpc/call_tables.h) ------------------------------ */

/* enum chubby_read_kind */
extern const struct message_kind chubby_field_read_kind;

static const struct message_field chubby_query_fields[] = {
    FIELD(chubby_query, session, field_u64),
    FIELD(chubby_query, handle, field_u64),
    FIELD(chubby_query, kind, chubby_field_read_kind),
};

static const struct message_field chubby_check_fields[] = {
    FIELD(chubby_check, sequencer, field_bytes),
};

static const struct message_field chubby_keep_alive_fields[] = {
    FIELD(chubby_keep_alive, session, field_u64),
    FIELD(chubby_keep_alive, term, field_u64),
    FIELD(chubby_keep_alive, heard, field_u64),
};

static const struct message_field chubby_survey_fields[] = {
    FIELD(chubby_survey, path, field_bytes),
    FIELD(chubby_survey, after, field_bytes),
    FIELD(chubby_survey, session, field_u64),
    FIELD(chubby_survey, limit, field_u32),
};

#define CHUBBY_MESSAGES(MESSAGE)                                               \
    MESSAGE(chubby_query, "query")                                             \
    MESSAGE(chubby_check, "question about a sequencer")                        \
    MESSAGE(chubby_keep_alive, "keep-alive")                                   \
    MESSAGE(chubby_survey, "question about the cell")

CHUBBY_MESSAGES(MESSAGE_FUNCTIONS)

#endif /* CHUBBY_LITE_LOCK_WIRE_H */
