/* Calls to the servers that may hold an unsealed chunk. All are called in
 * parallel, a fiber each, because one that is dead answers only by its timeout;
 * every call may be made twice without harm.
 */
#include "gfs-lite/namenode/chain_members.h"

#include "base/core/panic.h"
#include "base/rpc/rpc.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"

#define CALL_TIMEOUT_US UINT64_C(3000000)
/* For a server that failed the writer, which waits, or that is silent. */
#define FAILED_TIMEOUT_US UINT64_C(300000)
/* A server that lacks more than this is left to re-replication: bytes in flight
 * when a writer died are fewer. */
#define LEVEL_BYTES_MAX (CHUNK_DATA_BYTES_MAX * 2)

/* --- life ---------------------------------------------------------------- */

struct chain_members *chain_members_new(void)
{
    return mem_zalloc(1, sizeof(struct chain_members));
}

void chain_members_free(struct chain_members *all)
{
    PRE(all->items || all->count == 0);
    for (size_t i = 0; i < all->count; i++) {
        buf_close(&all->items[i].reply);
        buf_close(&all->items[i].data);
    }
    mem_free(all);
}

/* --- calling ------------------------------------------------------------- */

static int call_once(struct chain_member *m,
                     uint32_t method,
                     struct slice body,
                     struct slice data,
                     bool *sent)
{
    struct rpc_call_options o = {.timeout_us = m->timeout_us, .sent = sent};
    /* The table of servers may be reallocated while the call is under way. */
    PRE(m->server < m->nn->catalog.server_count);
    char *address = mem_strdup(m->nn->catalog.servers[m->server].address);
    int rc;
    buf_clear(&m->reply);
    buf_clear(&m->data);
    rc = peers_call_with(m->nn->peers, slice_str(address), method, &o, body,
                         data, &m->reply, &m->data, &m->err);
    mem_free(address);
    return rc;
}

/* A connection that is lost with the call often belongs to an earlier
 * incarnation of the server, which learns of its restart only by the failed
 * call. These calls may be repeated, and a server that is up must not be left
 * out. */
static int call_member(struct chain_member *m,
                       uint32_t method,
                       const struct chunk_call *call,
                       struct slice data,
                       struct chunk_answer *answer)
{
    struct chunk_call mine = *call;
    struct buf body = BUF_INIT;
    bool sent = false;
    int rc;
    PRE(m->server < m->nn->catalog.server_count);
    mine.own_id = m->nn->catalog.servers[m->server].own_id;
    chunk_call_put(&mine, &body);
    rc = call_once(m, method, buf_slice(&body), data, &sent);
    if (rc == ERR_UNAVAILABLE && sent)
        rc = call_once(m, method, buf_slice(&body), data, &sent);
    if (rc == 0)
        rc = chunk_answer_get(buf_slice(&m->reply), answer, &m->err);
    buf_close(&body);
    return rc;
}

static void run_member(void *arg)
{
    struct chain_member *m = arg;
    struct chunk_answer answer;
    m->rc = call_member(m, m->method, &m->call, SLICE_EMPTY, &answer);
    if (m->rc)
        return;
    m->length = answer.length;
    m->is_whole = !answer.found;
}

void chain_members_call(struct chain_members *all,
                        uint32_t method,
                        const struct chunk_call *call,
                        bool (*wanted)(const struct chain_member *m,
                                       const struct chunk_call *call))
{
    PRE(all->items || all->count == 0);
    for (size_t i = 0; i < all->count; i++) {
        struct chain_member *m = &all->items[i];
        m->fiber = NULL;
        if (wanted && !wanted(m, call)) {
            m->rc = ERR_ABORTED;
            continue;
        }
        m->method = method;
        m->call = *call;
        m->fiber = fiber_start(loop_self(), "recovery", run_member, m);
    }
    for (size_t i = 0; i < all->count; i++)
        if (all->items[i].fiber)
            fiber_join(all->items[i].fiber);
}

static void add_member(struct chain_members *all,
                       struct namenode *nn,
                       uint16_t server,
                       const struct writer_view *writer)
{
    bool failed =
        (writer->present && gfs_server_set_has(&writer->failed, server)) ||
        namenode_is_quiet(nn, server);
    if (server >= nn->catalog.server_count)
        return;
    for (size_t i = 0; i < all->count; i++)
        if (all->items[i].server == server)
            return;
    INVARIANT(all->count < ARRAY_LEN(all->items));
    all->items[all->count++] = (struct chain_member){
        .nn = nn,
        .server = server,
        .timeout_us = failed ? FAILED_TIMEOUT_US : CALL_TIMEOUT_US};
}

void chain_members_find(struct chain_members *all,
                        struct namenode *nn,
                        const struct open_file *o,
                        const struct chunk *c,
                        const struct writer_view *writer)
{
    PRE(c->replica_count <= GFS_REPLICAS_MAX);
    all->count = 0;
    for (unsigned i = 0; o && i < o->chain.count; i++)
        add_member(all, nn, o->chain.numbers[i], writer);
    for (unsigned i = 0; i < c->replica_count; i++)
        add_member(all, nn, c->replicas[i], writer);
}

/* --- reading ------------------------------------------------------------- */

static int chain_members_verify(struct chain_member *m, struct chunk_call call)
{
    int rc = 0;
    call.flags = CHUNK_VERIFY;
    for (call.offset = 0; rc == 0 && call.offset < m->length;
         call.offset += call.length) {
        struct chunk_answer answer;
        call.length = MIN_OF(m->length - call.offset, CHUNK_DATA_BYTES_MAX);
        INVARIANT(call.length > 0);
        rc = call_member(m, CHUNK_READ, &call, SLICE_EMPTY, &answer);
    }
    return rc;
}

void chain_members_verify_alone(struct chain_members *all,
                                uint64_t handle,
                                uint32_t version)
{
    struct chain_member *alone = NULL;
    size_t well = 0;
    PRE(handle > 0);
    PRE(version > 0);
    for (size_t i = 0; i < all->count; i++)
        if (all->items[i].rc == 0) {
            alone = &all->items[i];
            well++;
        }
    if (well == 1 && all->count > 1)
        alone->rc = chain_members_verify(
            alone, (struct chunk_call){.handle = handle, .version = version});
}

/* --- making equal -------------------------------------------------------- */

/* Append to @to's chunk the bytes that @from's has beyond it. */
static int chain_members_level_one(struct chain_member *to,
                                   struct chain_member *from,
                                   struct chunk_call call,
                                   uint64_t length)
{
    PRE(to != from);
    int rc = 0;
    while (rc == 0 && to->length < length) {
        struct chunk_answer answer;
        call.offset = to->length;
        call.length = MIN_OF(length - to->length, CHUNK_DATA_BYTES_MAX);
        rc = call_member(from, CHUNK_READ, &call, SLICE_EMPTY, &answer);
        if (rc == 0 && from->data.len != call.length)
            rc = err_set(&from->err, ERR_ABORTED, "the chunk is shorter now");
        if (rc)
            return rc;
        rc = call_member(to, CHUNK_WRITE, &call, buf_slice(&from->data),
                         &answer);
        if (rc == 0)
            rc = answer.code;
        if (rc == 0)
            to->length += call.length;
        INVARIANT(to->length <= length);
    }
    return rc;
}

void chain_members_level(struct chain_members *all,
                         const struct chunk_call *call,
                         uint64_t length)
{
    struct chunk_call to_new = {.handle = call->handle,
                                .version = call->new_version};
    struct chain_member *best = NULL;
    PRE(call->new_version >= call->version);
    for (size_t i = 0; i < all->count && !best; i++)
        if (all->items[i].rc == 0 && all->items[i].length >= length)
            best = &all->items[i];
    for (size_t i = 0; i < all->count && best; i++) {
        struct chain_member *m = &all->items[i];
        if (m->rc || m->length >= length ||
            length - m->length > LEVEL_BYTES_MAX)
            continue;
        /* A member that cannot take them does not count: others have them. */
        m->rc = chain_members_level_one(m, best, to_new, length);
    }
}
