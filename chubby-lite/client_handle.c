/* Handles: opening, reading, changing and locking nodes. Reads come from the
 * cache while the session is safe; a change drops from the cache whatever it
 * may make old, both before and after the call, because reads run beside it.
 */
#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "chubby-lite/chubby_client.h"
#include "chubby-lite/lock_wire.h"

/* How long one call waits for a lock before it asks again. */
#define ACQUIRE_US UINT64_C(20000000)

/* --- opening and closing ------------------------------------------------- */

static void give_strays(struct lock_client *c, uint64_t id)
{
    size_t i;
    size_t kept = 0;
    struct stray own[CLIENT_STRAYS_MAX];
    size_t own_count = 0;

    INVARIANT(c->stray_count <= CLIENT_STRAYS_MAX);
    for (i = 0; i < c->stray_count; i++) {
        if (c->strays[i].handle == id)
            own[own_count++] = c->strays[i];
        else
            c->strays[kept++] = c->strays[i];
    }
    c->stray_count = c->opening_count > 0 ? kept : 0;
    for (i = 0; i < own_count; i++)
        client__notify(c, id, own[i].event);
}

static struct lock_client_handle *handle_new(struct lock_client *c,
                                             const char *path,
                                             const struct chubby_answer *a)
{
    struct lock_client_handle *h = mem_zalloc(1, sizeof(*h));

    h->client = c;
    h->id = a->handle;
    h->instance = a->stat.instance;
    h->is_ephemeral = a->stat.is_ephemeral;
    h->base = (struct chubby_handle){&c->base, mem_strdup(path)};
    LIST_INSERT_HEAD(&c->handles, h, link);
    return h;
}

static void set_acl(struct chubby_command *command,
                    const char *read,
                    const char *write,
                    const char *change)
{
    const char *const names[ACL_KINDS] = {read, write, change};
    size_t i;

    for (i = 0; i < ACL_KINDS; i++) {
        command->has_acl[i] = names[i] != NULL;
        command->acl[i] = names[i] ? slice_str(names[i]) : SLICE_EMPTY;
    }
}

int client__open(struct chubby *base,
                 const char *path,
                 unsigned flags,
                 const struct chubby_open_options *opts,
                 struct chubby_handle **out,
                 struct err *err)
{
    struct lock_client *c = client__session(base);
    struct chubby_open_options none = {.events = 0};
    struct chubby_command command = {
        .operation = CHUBBY_OP_OPEN, .path = slice_str(path), .flags = flags};
    struct buf reply = BUF_INIT;
    struct chubby_answer a;
    int rc;

    PRE(path);
    PRE(out);
    opts = opts ? opts : &none;
    command.events = opts->events;
    command.lock_delay_ms = opts->lock_delay_ms;
    command.contents = opts->contents;
    set_acl(&command, opts->acl_read, opts->acl_write, opts->acl_change);
    c->opening_count++;
    rc = client__execute(c, &command, &reply, &a, err);
    INVARIANT(c->opening_count > 0);
    c->opening_count--;
    if (rc) {
        err_wrap(err, "open %s", path);
    } else {
        if (a.created) /* Its parent has one more. */
            client_cache_drop_all(&c->cache);
        struct lock_client_handle *h = handle_new(c, path, &a);
        h->cache_off = flags & CHUBBY_UNCACHED;
        *out = &h->base;
        give_strays(c, a.handle);
    }
    buf_close(&reply);
    return rc;
}

/* Execute @command on @h. */
static int execute_on(struct lock_client_handle *h,
                      struct chubby_command *command,
                      struct chubby_answer *a,
                      struct err *err)
{
    struct buf reply = BUF_INIT;
    int rc;

    PRE(command->handle == 0);
    command->handle = h->id;
    rc = client__execute(h->client, command, &reply, a, err);
    if (rc)
        err_wrap(err, "%s", h->base.path);
    a->text = SLICE_EMPTY;
    buf_close(&reply);
    return rc;
}

void client__close(struct chubby_handle *base)
{
    struct lock_client_handle *h = client__handle(base);
    struct chubby_command command = {.operation = CHUBBY_OP_CLOSE};
    struct chubby_answer a;

    PRE(h->client);
    LIST_REMOVE(h, link);
    if (execute_on(h, &command, &a, NULL) == 0 && h->is_ephemeral)
        client_cache_drop_all(&h->client->cache);
    mem_free(h->base.path);
    mem_free(h);
}

/* --- reading ------------------------------------------------------------- */

/* Ask the leader; @v borrows from @reply. */
static int chubby_handle_ask(struct lock_client_handle *h,
                             enum chubby_read_kind kind,
                             struct buf *reply,
                             struct chubby_view *v,
                             struct err *err)
{
    struct lock_client *c = h->client;
    struct chubby_query q = {c->session, h->id, kind};
    uint64_t drop_count = c->cache.drop_count;
    struct buf body = BUF_INIT;
    int rc;

    chubby_query_put(&q, &body);
    rc = client__call(c, CHUBBY_METHOD_READ, 0, buf_slice(&body), reply, err);
    if (!rc)
        rc = chubby_view_get(buf_slice(reply), v, err);
    if (rc)
        err_wrap(err, "%s", h->base.path);
    else if (v->cacheable && kind <= CHUBBY_READ_CHILDREN &&
             drop_count == c->cache.drop_count) {
        INVARIANT(c->state == SESSION_SAFE); /* INV-2 */
        client_cache_put(&c->cache, kind, v);
    }
    buf_close(&body);
    return rc;
}

static const struct cached *find_cached(const struct lock_client_handle *h,
                                        enum chubby_read_kind kind)
{
    struct lock_client *c = h->client;

    PRE(kind <= CHUBBY_READ_CHILDREN);
    if (!client__may_use_cache(c) || h->cache_off)
        return NULL;
    return client_cache_get(&c->cache, h->instance, kind);
}

bool client__is_cached(const struct chubby_handle *base)
{
    const struct lock_client_handle *h =
        (const struct lock_client_handle *)base;
    return find_cached(h, CHUBBY_READ_CONTENTS) != NULL;
}

/* From the cache, or else from the leader. */
static int chubby_handle_look(struct lock_client_handle *h,
                              enum chubby_read_kind kind,
                              struct buf *reply,
                              struct chubby_view *v,
                              struct err *err)
{
    const struct cached *e = find_cached(h, kind);

    if (!e)
        return chubby_handle_ask(h, kind, reply, v, err);
    INVARIANT(e->instance == h->instance);
    INVARIANT(e->kind == kind);
    v->stat = e->stat;
    v->bytes = buf_slice(&e->bytes);
    return 0;
}

int client__read(struct chubby_handle *base,
                 struct buf *out,
                 struct chubby_stat *stat,
                 struct err *err)
{
    struct lock_client_handle *h = client__handle(base);
    struct buf reply = BUF_INIT;
    struct chubby_view v;
    /* A cached state may be old: locks and lists change without an
     * invalidation. */
    int rc = stat
                 ? chubby_handle_ask(h, CHUBBY_READ_CONTENTS, &reply, &v, err)
                 : chubby_handle_look(h, CHUBBY_READ_CONTENTS, &reply, &v, err);

    if (!rc) {
        buf_append_slice(out, v.bytes);
        if (stat)
            *stat = v.stat;
    }
    buf_close(&reply);
    return rc;
}

int client__get_stat(struct chubby_handle *base,
                     struct chubby_stat *stat,
                     struct err *err)
{
    struct lock_client_handle *h = client__handle(base);
    struct buf reply = BUF_INIT;
    struct chubby_view v;
    int rc = chubby_handle_ask(h, CHUBBY_READ_STAT, &reply, &v, err);

    if (!rc)
        *stat = v.stat;
    buf_close(&reply);
    return rc;
}

static int
take_names(struct slice bytes, char ***names, size_t *count, struct err *err)
{
    struct codec_reader r = codec_reader_make(bytes);
    uint32_t n = codec_get_array(&r);
    uint32_t i;

    /* No more than there are bytes: codec_get_array(). */
    *names = mem_zalloc((size_t)n + 1, sizeof(char *));
    *count = n;
    for (i = 0; i < n; i++) {
        struct slice name = codec_get_bytes(&r);
        (*names)[i] = mem_strndup(name.data, name.len);
    }
    if (!r.bad)
        return 0;
    chubby_names_free(*names, *count);
    return err_set(err, ERR_CORRUPT, "malformed list of names");
}

int client__list(struct chubby_handle *base,
                 char ***names,
                 size_t *count,
                 struct err *err)
{
    struct lock_client_handle *h = client__handle(base);
    struct buf reply = BUF_INIT;
    struct chubby_view v;
    int rc = chubby_handle_look(h, CHUBBY_READ_CHILDREN, &reply, &v, err);

    if (!rc)
        rc = take_names(v.bytes, names, count, err);
    buf_close(&reply);
    return rc;
}

/* --- changing ------------------------------------------------------------ */

int client__write(struct chubby_handle *base,
                  struct slice contents,
                  uint64_t if_generation,
                  struct err *err)
{
    struct lock_client_handle *h = client__handle(base);
    struct chubby_command command = {.operation = CHUBBY_OP_WRITE,
                                     .has_generation = if_generation != 0,
                                     .generation = if_generation,
                                     .contents = contents};
    struct chubby_answer a;
    int rc;

    if (contents.len > CHUBBY_CONTENTS_BYTES_MAX)
        return err_set(err, ERR_TOOBIG, "%s: a file has at most %zu bytes",
                       h->base.path, CHUBBY_CONTENTS_BYTES_MAX);
    /* Before, for reads that begin meanwhile; after, for answers that came. */
    client_cache_drop(&h->client->cache, h->instance);
    rc = execute_on(h, &command, &a, err);
    client_cache_drop(&h->client->cache, h->instance);
    return rc;
}

int client__set_acl(struct chubby_handle *base,
                    const char *read,
                    const char *write,
                    const char *change,
                    struct err *err)
{
    struct lock_client_handle *h = client__handle(base);
    struct chubby_command command = {.operation = CHUBBY_OP_SET_ACL};
    struct chubby_answer a;

    set_acl(&command, read, write, change);
    return execute_on(h, &command, &a, err);
}

int client__remove(struct chubby_handle *base, struct err *err)
{
    struct lock_client_handle *h = client__handle(base);
    struct chubby_command command = {.operation = CHUBBY_OP_DELETE};
    struct chubby_answer a;
    int rc;

    client_cache_drop_all(&h->client->cache);
    rc = execute_on(h, &command, &a, err);
    client_cache_drop_all(&h->client->cache);
    return rc;
}

/* --- locks --------------------------------------------------------------- */

int client__try_acquire(struct chubby_handle *base,
                        enum chubby_lock mode,
                        struct err *err)
{
    struct lock_client_handle *h = client__handle(base);
    struct chubby_command command = {.operation = CHUBBY_OP_ACQUIRE,
                                     .flags = (unsigned)mode};
    struct chubby_answer a;

    return execute_on(h, &command, &a, err);
}

int client__acquire(struct chubby_handle *base,
                    enum chubby_lock mode,
                    struct err *err)
{
    struct lock_client_handle *h = client__handle(base);
    struct lock_client *c = h->client;
    /* Without a number: acquiring a lock twice is harmless, and an answer that
     * it is busy must not be kept. */
    struct chubby_command command = {.operation = CHUBBY_OP_ACQUIRE,
                                     .session = c->session,
                                     .handle = h->id,
                                     .flags = (unsigned)mode};
    struct buf body = BUF_INIT;
    struct buf reply = BUF_INIT;
    struct chubby_answer a;
    int rc;

    chubby_command_put(&command, &body);
    rc = client__call(c, CHUBBY_METHOD_ACQUIRE, ACQUIRE_US, buf_slice(&body),
                      &reply, err);
    if (!rc)
        rc = client__answer(buf_slice(&reply), &a, err);
    if (rc)
        err_wrap(err, "lock %s", h->base.path);
    buf_close(&body);
    buf_close(&reply);
    return rc;
}

int client__release(struct chubby_handle *base, struct err *err)
{
    struct lock_client_handle *h = client__handle(base);
    struct chubby_command command = {.operation = CHUBBY_OP_RELEASE};
    struct chubby_answer a;

    return execute_on(h, &command, &a, err);
}

int client__sequencer(struct chubby_handle *base,
                      char text[CHUBBY_SEQUENCER_BYTES_MAX],
                      struct err *err)
{
    struct lock_client_handle *h = client__handle(base);
    struct buf reply = BUF_INIT;
    struct chubby_view v;
    int rc = chubby_handle_ask(h, CHUBBY_READ_SEQUENCER, &reply, &v, err);

    if (!rc && v.bytes.len >= CHUBBY_SEQUENCER_BYTES_MAX)
        rc = err_set(err, ERR_CORRUPT, "%s: the sequencer is long",
                     h->base.path);
    if (!rc) {
        memcpy(text, v.bytes.data, v.bytes.len);
        text[v.bytes.len] = '\0';
    }
    buf_close(&reply);
    return rc;
}

int client__check_sequencer(struct chubby *base,
                            struct slice sequencer,
                            struct err *err)
{
    struct lock_client *c = client__session(base);
    const struct chubby_check q = {sequencer};
    struct buf body = BUF_INIT;
    struct buf reply = BUF_INIT;
    int rc;

    chubby_check_put(&q, &body);
    rc = client__call(c, CHUBBY_METHOD_CHECK, 0, buf_slice(&body), &reply, err);
    buf_close(&body);
    buf_close(&reply);
    return rc;
}
