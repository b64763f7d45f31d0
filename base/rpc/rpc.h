/* Calls between components: a service is a table of methods, and a channel
 * reaches a service of another process.
 *
 *     struct rpc_channel *c = rpc_channel_new(address, &options);
 *     codec_put_str(&request, name);
 *     code = rpc_call(c, TABLET_READ, &opts, &request_msg, &reply_msg, &err);
 *
 * remote.h makes channels and listeners; they send frames (frame.h). Deadlines,
 * cancellation and errors, each a code, a detail and a sentence, travel with
 * the calls.
 *
 * Threads: a server and a channel may be used from any thread.
 */
#ifndef BASE_RPC_RPC_H
#define BASE_RPC_RPC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/slice.h"

struct metric_set;
struct rpc_channel;
struct rpc_server;
struct world;

/* Slices of one attachment. */
#define RPC_PARTS_MAX 10

/* The CRC32C of an attachment, if it is known already. */
struct rpc_crc {
    bool known;
    uint32_t value;
};

/* A call, as its handler sees it. Everything is borrowed until it returns. */
struct rpc_call {
    uint32_t method;
    struct slice body;             /* MessagePack (codec.h). */
    struct slice attachment;       /* Raw bytes. */
    struct rpc_crc attachment_crc; /* Known when it was verified, or is left to
                                      the handler: RPC_METHOD_CHECKS_CRC. */
    struct slice principal;        /* Its rights apply: the principal on whose
                                      behalf it is made (security.h). "" in
                                      process, unless the caller names one. */
    struct slice actor;        /* The principal that connected: the same, or one
                                  that may act for others. "" in process. */
    struct slice peer;         /* Its address, for messages: "" in process. */
    uint64_t deadline_mono_ns; /* 0: none. */
    uint64_t idempotency_key;  /* 0: none. */
    struct buf *reply_body;    /* Where the answer goes; owned by the */
    struct buf *reply_attachment; /* transport, empty at first. */
    /* Set by a handler that knows the checksum that reply_attachment must
     * have: the caller verifies it. */
    struct rpc_crc reply_crc;
    struct rpc_reply_file *reply_file; /* Of rpc_reply_file(), or NULL. */
    bool is_audited;   /* Set by a handler: this call goes to the audit log. */
    uint64_t start_ns; /* Monotonic: when it came to be handled; 0: now. */
    uint64_t end_ns;   /* Set when the handler has returned. */
};

/* Answer with the attachment [@offset, @offset + @len) of @f, whose checksum
 * is @crc, sent from the page cache. The range must be in the page cache and
 * must not change until release(ctx) is called: once, on the same loop, when
 * it has been sent or never will be. At most once per call, with nothing in
 * reply_attachment; a handler that fails afterwards sends none of it. False
 * if this transport cannot do that. */
struct file;
bool rpc_reply_file(struct rpc_call *call,
                    struct file *f,
                    uint64_t offset,
                    size_t len,
                    uint32_t crc,
                    void (*release)(void *ctx),
                    void *ctx);

/* Answer @call. Parks. A returned error travels to the caller with its text. */
typedef int (*rpc_handler)(void *ctx, struct rpc_call *call, struct err *err);

enum rpc_method_flags {
    /* Between processes of the cluster: only callers that may act for others
     * (rpc_server_let_act()) make it; where nobody may, everybody does. */
    RPC_METHOD_INTERNAL = 1,
    /* The handler compares the checksum of attachments itself, because it
     * computes it anyway, and must do so before it trusts a byte. In process
     * there is none. */
    RPC_METHOD_CHECKS_CRC = 2,
    /* It waits for an event by its nature: it is never slow (span.h). */
    RPC_METHOD_WAITS = 4,
};

struct rpc_method {
    uint32_t id;      /* Unique in the process; part of the protocol. */
    const char *name; /* "tablet.read": for counters and messages. */
    rpc_handler handler;
    unsigned flags; /* enum rpc_method_flags. */
};

/* --- serving ------------------------------------------------------------- */

#define RPC_METHOD_COUNT_MAX 256

/* A server without methods. @w is borrowed. Owned. */
struct rpc_server *rpc_server_new(struct world *w);
/* PRE: no call is running. NULL is allowed. */
void rpc_server_free(struct rpc_server *s);

/* Add @methods (copied; names borrowed for the server's life), each called with
 * @ctx. PRE: ids are new, and no call has been made yet. */
void rpc_server_add(struct rpc_server *s,
                    const struct rpc_method *methods,
                    size_t count,
                    void *ctx);

/* Allow principals that @may_act accepts to make calls on behalf of others;
 * @connected is the name that the connection proved. Without it nobody may;
 * calls in process always may. @ctx is borrowed for the server's life. PRE:
 * no call has been made. */
void rpc_server_let_act(struct rpc_server *s,
                        bool (*may_act)(void *ctx, struct slice connected),
                        void *ctx);

/* True if the caller of @call may call internal methods. */
bool rpc_server_trusts(const struct rpc_server *s, const struct rpc_call *call);

/* Each call of the method @name goes to the audit log of the server's world
 * (audit.h), as calls that are denied do. False: there is no such method. PRE:
 * no call has been made yet. */
bool rpc_server_audit(struct rpc_server *s, const char *name);

/* Run the handler of call->method. Parks as it does. Errors: the handler's;
 * ERR_UNSUPPORTED for an unknown method; ERR_DEADLINE when it has passed;
 * ERR_DENIED: call->actor may not act for call->principal, or calls what is
 * guarded. */
MUST_CHECK int rpc_server_dispatch(struct rpc_server *s,
                                   struct rpc_call *call,
                                   struct err *err);

/* Add the times and failures of each method that was called. Any thread. */
void rpc_server_gather(const struct rpc_server *s, struct metric_set *out);

/* --- calling ------------------------------------------------------------- */

/* Memory for the attachment of an answer. */
struct rpc_sink {
    void *data; /* Borrowed until the call returns. */
    size_t cap;
    size_t len; /* Filled so far, by the call. */
};

/* Zeros are defaults. */
struct rpc_call_options {
    uint64_t timeout_us; /* 0: only the fiber's deadline, if any. */
    uint64_t idempotency_key;
    /* The principal on whose behalf it is made, if the caller may act for
     * others. "": the caller's own. Borrowed until the call returns.
     * ERR_INVALID: it is no name (rpc_name_is_valid()). */
    struct slice act_as;
    /* Further parts of the attachment: borrowed until the call returns, sent
     * without a copy. */
    const struct slice *parts;
    size_t part_count; /* At most RPC_PARTS_MAX. */
    /* Of the attachment, when there are no parts. */
    struct rpc_crc attachment_crc;
    /* The answer's attachment is received into this memory instead of
     * @reply_attachment; ERR_TOOBIG when it does not fit. */
    struct rpc_sink *into;
    /* Set, unless NULL: false when the server cannot have seen the request. */
    bool *sent;
};

/* Call @method and wait for the answer, which is appended to @reply_body and
 * @reply_attachment (each may be NULL: dropped). @opts may be NULL. @body and
 * @attachment are borrowed until it returns. Parks.
 *
 * Errors: the handler's, with its text; ERR_UNAVAILABLE (no connection; nothing
 * was done), ERR_DEADLINE and ERR_CANCELLED (unknown whether it was done). */
MUST_CHECK int rpc_call(struct rpc_channel *c,
                        uint32_t method,
                        const struct rpc_call_options *opts,
                        struct slice body,
                        struct slice attachment,
                        struct buf *reply_body,
                        struct buf *reply_attachment,
                        struct err *err);

/* True if @name may be a principal: 1 to RPC_NAME_BYTES_MAX bytes, none of
 * them a control character, a space or a comma. */
bool rpc_name_is_valid(struct slice name);

void rpc_channel_free(struct rpc_channel *c); /* NULL is allowed. */

#endif /* BASE_RPC_RPC_H */
