/* Calls of WebHDFS. Each try is sent to the namenode that answered last; one
 * that is on standby, or does not answer, makes the next one of the list the
 * one to ask. A call that carries data asks the namenode where to send it, and
 * sends it there: two requests, which are repeated together.
 */
#include "base/objects/webhdfs_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/core/text.h"
#include "base/objects/object_name.h"
#include "base/objects/object_request.h"
#include "base/objects/request_pool.h"
#include "base/runtime/world.h"

#define ATTEMPTS      8
#define CONNECTIONS   16
#define NAMENODES_MAX 8
#define PREFIX        "/webhdfs/v1/"
/* Times that an append is begun again. */
#define APPENDS_MAX 3

struct webhdfs_client {
    struct request_pool pool;
    char *servers[NAMENODES_MAX]; /* "host:port"; owned. */
    unsigned server_count;
    atomic_uint active; /* The one that is asked first. */
    const char *scheme;
    char *name;      /* "hdfs://host:port" */
    char *user;      /* NULL: not told. */
    char *token;     /* NULL: none. */
    char *authority; /* NULL: the system's. */
    atomic_uint_fast64_t read_bytes;
    atomic_uint_fast64_t written_bytes;
};

/* One call, until it has an outcome. */
struct webhdfs_call {
    struct webhdfs_client *client;
    const char *method;
    const char *path;
    const char *query; /* "op=…&…", encoded. */
    bool has_data;     /* It goes to where the namenode says. */
    struct slice data;
    void *dst; /* For the bytes of a file. */
    size_t dst_bytes;
    const atomic_bool *stop;
    /* Is the answer what it should be? NULL: any. Else it is asked again. */
    int (*check)(void *ctx, struct slice body, struct err *err);
    void *ctx;
    /* After a try whose outcome is not known; 0: it was done; ERR_NOTFOUND: it
     * was not, try again; others end the call. NULL: try again. */
    int (*settle)(struct webhdfs_call *call,
                  struct object_connection *connection,
                  struct err *err);
    bool unclear;       /* A try may have been carried out. */
    uint64_t length;    /* Of the file, for `settle`, */
    uint64_t id;        /* and its inode, */
    const char *target; /* and its new name. */
    /* The outcome. */
    unsigned tries;
    size_t got;
    int rc;
    struct err *err;
};

/* --- opening ------------------------------------------------------------- */

static char *copy_of_variable(object_variable variable, const char *name)
{
    const char *value = variable(name);
    return value && *value ? mem_strdup(value) : NULL;
}

static int number_of_variable(object_variable variable,
                              const char *name,
                              unsigned most,
                              unsigned *out,
                              struct err *err)
{
    const char *text = variable(name);
    uint64_t n = 0;
    int rc = text && *text ? text_parse_u64(slice_str(text), &n, err) : 0;
    if (rc)
        err_wrap(err, "%s", name);
    else if (text && *text && (n == 0 || n > most))
        rc = err_set(err, ERR_INVALID, "%s: %s is not between 1 and %u", name,
                     text, most);
    else if (text && *text)
        *out = (unsigned)n;
    return rc;
}

/* Take the comma's list apart; a server without a port has the usual one. */
static int take_servers(struct webhdfs_client *c,
                        struct slice servers,
                        bool tls,
                        struct err *err)
{
    while (servers.len > 0) {
        size_t comma = slice_find_byte(servers, ',');
        struct slice one = slice_sub(servers, 0, comma);
        struct buf b = BUF_INIT;
        servers = slice_sub(servers, comma + 1, servers.len);
        if (one.len == 0 || c->server_count == NAMENODES_MAX)
            return err_set(err, ERR_INVALID,
                           "namenodes: an empty name, or over %d",
                           NAMENODES_MAX);
        buf_append_slice(&b, one);
        if (slice_find_byte(one, ':') == one.len)
            buf_append_str(&b, tls ? ":9871" : ":9870");
        c->servers[c->server_count++] = buf_take(&b);
    }
    return c->server_count > 0
               ? 0
               : err_set(err, ERR_INVALID, "hdfs:// names no namenode");
}

static void free_texts(struct webhdfs_client *c)
{
    for (unsigned i = 0; i < c->server_count; i++)
        mem_free(c->servers[i]);
    mem_free(c->name);
    mem_free(c->user);
    mem_free(c->token);
    mem_free(c->authority);
    mem_free(c);
}

int webhdfs_open(struct world *w,
                 struct slice servers,
                 bool tls,
                 object_variable variable,
                 struct webhdfs_client **out,
                 struct err *err)
{
    struct webhdfs_client *c = mem_zalloc(1, sizeof(*c));
    unsigned attempts = ATTEMPTS;
    unsigned connections = CONNECTIONS;
    struct buf name = BUF_INIT;
    int rc = take_servers(c, servers, tls, err);
    *out = NULL;
    if (rc == 0)
        rc = number_of_variable(variable, "QUARRY_HDFS_ATTEMPTS",
                                OBJECT_ATTEMPTS_MAX, &attempts, err);
    if (rc == 0)
        rc = number_of_variable(variable, "QUARRY_HDFS_CONNECTIONS",
                                OBJECT_CONNECTIONS_MAX, &connections, err);
    if (rc == 0)
        rc = request_pool_open(&c->pool, w, connections, attempts, err);
    if (rc == 0) {
        c->scheme = tls ? "https" : "http";
        buf_printf(&name, "%s://%.*s", tls ? "swebhdfs" : "hdfs",
                   (int)servers.len, servers.data);
        c->name = buf_take(&name);
        c->user = copy_of_variable(variable, "HADOOP_USER_NAME");
        if (!c->user)
            c->user = copy_of_variable(variable, "USER");
        c->token = copy_of_variable(variable, "QUARRY_HDFS_TOKEN");
        c->authority = copy_of_variable(variable, "QUARRY_HDFS_CA_BUNDLE");
        *out = c;
    } else {
        free_texts(c);
    }
    return rc;
}

void webhdfs_close(struct webhdfs_client *c)
{
    if (!c)
        return;
    request_pool_close(&c->pool);
    free_texts(c);
}

void webhdfs_hurry(struct webhdfs_client *c)
{
    request_pool_hurry(&c->pool);
}

const char *webhdfs_name(const struct webhdfs_client *c)
{
    return c->name;
}

void webhdfs_counts(struct webhdfs_client *c, struct object_counts *out)
{
    out->requests = atomic_load(&c->pool.requests);
    out->retries = atomic_load(&c->pool.retries);
    out->read_bytes = atomic_load(&c->read_bytes);
    out->written_bytes = atomic_load(&c->written_bytes);
}

void webhdfs_inode_path(uint64_t id, char out[WEBHDFS_INODE_PATH_BYTES])
{
    snprintf(out, WEBHDFS_INODE_PATH_BYTES, ".reserved/.inodes/%llu",
             (unsigned long long)id);
}

/* --- one try ------------------------------------------------------------- */

static void
put_url(const struct webhdfs_call *call, unsigned server, struct buf *out)
{
    const struct webhdfs_client *c = call->client;
    buf_printf(out, "%s://%s" PREFIX, c->scheme, c->servers[server]);
    object_put_encoded(out, slice_str(call->path), true);
    buf_printf(out, "?%s", call->query);
    if (c->token) {
        buf_append_str(out, "&delegation=");
        object_put_encoded(out, slice_str(c->token), false);
    } else if (c->user) {
        buf_append_str(out, "&user.name=");
        object_put_encoded(out, slice_str(c->user), false);
    }
}

static int send_request(struct webhdfs_call *call,
                        struct object_connection *connection,
                        struct object_request *r,
                        struct object_reply *reply,
                        struct err *err)
{
    struct webhdfs_client *c = call->client;
    r->method = call->method;
    r->body_max = WEBHDFS_ANSWER_BYTES_MAX;
    r->authority = c->authority;
    r->stop = call->stop;
    r->once = strcmp(call->method, "GET") != 0;
    atomic_fetch_add(&c->pool.requests, 1);
    return object_connection_send(connection, r, reply, err);
}

/* Send the data where the namenode's answer leads. */
static int send_data(struct webhdfs_call *call,
                     struct object_connection *connection,
                     const struct buf *location,
                     struct object_reply *reply,
                     struct err *err)
{
    static const char type[] = "content-type: application/octet-stream";
    struct buf headers = BUF_INIT;
    struct object_request r = {.url = location->data, .body = call->data};
    int rc;
    buf_append(&headers, type, sizeof(type));
    r.headers = &headers;
    call->unclear = true;
    rc = send_request(call, connection, &r, reply, err);
    buf_close(&headers);
    return rc;
}

/* The answer of the server that had the last word. */
static int send_once(struct webhdfs_call *call,
                     struct object_connection *connection,
                     unsigned server,
                     struct object_reply *reply,
                     struct err *err)
{
    struct buf url = BUF_INIT;
    struct buf location = BUF_INIT;
    struct object_request r = {.dst = call->dst,
                               .dst_bytes = call->dst_bytes,
                               .follow = !call->has_data,
                               .location = &location};
    int rc;
    put_url(call, server, &url);
    r.url = buf_cstr(&url);
    if (!call->has_data && strcmp(call->method, "GET") != 0)
        call->unclear = true;
    rc = send_request(call, connection, &r, reply, err);
    if (rc == 0 && call->has_data && reply->status == 307 && location.len > 0) {
        (void)buf_cstr(&location);
        buf_close(&reply->body);
        rc = send_data(call, connection, &location, reply, err);
    } else if (rc == 0 && call->has_data && reply->status / 100 == 2) {
        rc = err_set(err, ERR_CORRUPT, "the namenode took the data itself");
    }
    buf_close(&url);
    buf_close(&location);
    return rc;
}

/* --- outcomes ------------------------------------------------------------ */

static const struct {
    const char *name;
    int code;
} exceptions[] = {
    {"FileNotFoundException", ERR_NOTFOUND},
    {"AccessControlException", ERR_DENIED},
    {"SecurityException", ERR_DENIED},
    {"AuthorizationException", ERR_DENIED},
    {"InvalidToken", ERR_DENIED},
    {"FileAlreadyExistsException", ERR_EXISTS},
    {"AlreadyBeingCreatedException", ERR_BUSY},
    {"RecoveryInProgressException", ERR_BUSY},
    {"LeaseExpiredException", ERR_ABORTED},
    {"ParentNotDirectoryException", ERR_INVALID},
    {"PathIsNotEmptyDirectoryException", ERR_INVALID},
    {"InvalidPathException", ERR_INVALID},
    {"IllegalArgumentException", ERR_INVALID},
    {"HadoopIllegalArgumentException", ERR_INVALID},
    {"UnsupportedOperationException", ERR_UNSUPPORTED},
    {"NSQuotaExceededException", ERR_FULL},
    {"DSQuotaExceededException", ERR_FULL},
    {"StandbyException", ERR_UNAVAILABLE},
    {"RetriableException", ERR_UNAVAILABLE},
    {"SafeModeException", ERR_UNAVAILABLE},
};

static int code_of(const struct object_reply *reply,
                   const struct webhdfs_exception *e)
{
    for (size_t i = 0; i < ARRAY_LEN(exceptions); i++)
        if (strcmp(e->name, exceptions[i].name) == 0)
            return exceptions[i].code;
    if (e->name[0] && reply->status < 500)
        return ERR_IO;
    if (reply->status == 401)
        return ERR_DENIED;
    /* A proxy's, or another server's: a namenode tells its exception. */
    if (reply->status >= 500 || reply->status == 429 || reply->status == 408)
        return ERR_UNAVAILABLE;
    /* A part of an exception. */
    if (!e->name[0] && (reply->body.len == 0 || reply->body.data[0] == '{'))
        return ERR_CORRUPT;
    return ERR_INVALID;
}

static int webhdfs_explain(const struct webhdfs_call *call,
                           const struct object_reply *reply,
                           struct err *err)
{
    const struct webhdfs_client *c = call->client;
    struct webhdfs_exception e;
    int code;
    webhdfs_exception_parse(buf_slice(&reply->body), &e);
    code = code_of(reply, &e);
    if (e.name[0])
        err_set(err, code, "%s/%s: %s: %s", c->name, call->path, e.name,
                e.message);
    else
        err_set(err, code, "%s/%s: the server answered %ld", c->name,
                call->path, reply->status);
    if (!e.name[0] && code == ERR_INVALID)
        err_hint(err, "does the address belong to a namenode's HTTP "
                      "(dfs.namenode.http-address), with WebHDFS on?");
    if (reply->status == 401)
        err_hint(err, "the cluster wants Kerberos: QUARRY_HDFS_TOKEN is a "
                      "delegation token (GETDELEGATIONTOKEN)");
    return code;
}

/* Ask another namenode next time, if there is one. */
static void move_on(struct webhdfs_client *c, unsigned server)
{
    unsigned next = (server + 1) % c->server_count;
    (void)atomic_compare_exchange_strong(&c->active, &server, next);
}

/* An answer of 2xx is what was asked for, as far as it can tell. */
static int check_answer(struct webhdfs_call *call,
                        const struct object_reply *reply,
                        struct err *err)
{
    call->got = reply->got;
    return call->check ? call->check(call->ctx, buf_slice(&reply->body), err)
                       : 0;
}

/* One try and what it says: 0, or a code. */
static int try_once(struct webhdfs_call *call,
                    struct object_connection *connection,
                    uint64_t *retry_us)
{
    struct webhdfs_client *c = call->client;
    unsigned server = atomic_load(&c->active);
    struct object_reply reply;
    int rc = send_once(call, connection, server, &reply, call->err);
    if (rc)
        err_wrap(call->err, "%s", c->name);
    else if (reply.status / 100 == 2)
        rc = check_answer(call, &reply, call->err);
    else
        rc = webhdfs_explain(call, &reply, call->err);
    if (rc == ERR_UNAVAILABLE)
        move_on(c, server);
    *retry_us = reply.retry_us;
    buf_close(&reply.body);
    return rc;
}

static bool webhdfs_passes(int rc)
{
    return rc == ERR_UNAVAILABLE || rc == ERR_CORRUPT || rc == ERR_BUSY;
}

/* After a first try, outcomes may be those of an earlier one whose answer was
 * lost. */
static int settle_call(struct webhdfs_call *call,
                       struct object_connection *connection,
                       int rc)
{
    struct err why = ERR_INIT;
    int settled;
    if (!call->settle || !call->unclear)
        return rc;
    settled = call->settle(call, connection, &why);
    if (settled == 0)
        return 0;
    if (settled == ERR_NOTFOUND)
        return rc;
    return webhdfs_passes(rc) ? rc : err_copy(call->err, &why);
}

static void run_call(struct object_connection *connection, void *arg)
{
    struct webhdfs_call *call = arg;
    struct request_pool *pool = &call->client->pool;
    unsigned tries = 0;
    uint64_t retry_us = 0;
    int rc;
    do {
        call->tries = ++tries;
        rc = try_once(call, connection, &retry_us);
        if (rc && (tries > 1 || webhdfs_passes(rc)))
            rc = settle_call(call, connection, rc);
    } while (webhdfs_passes(rc) &&
             request_pool_may_retry(pool, tries, retry_us, call->stop));
    if (rc == 0)
        request_pool_earn(pool);
    else if (call->stop && atomic_load(call->stop))
        rc = err_set(call->err, ERR_CANCELLED, "%s: given up",
                     call->client->name);
    else if (tries > 1)
        err_wrap(call->err, "after %u tries", tries);
    call->rc = rc;
}

static int webhdfs_run(struct webhdfs_call *call, struct err *err)
{
    struct err own = ERR_INIT;
    call->err = err ? err : &own;
    request_pool_run(&call->client->pool, run_call, call);
    return call->rc;
}

/* --- names --------------------------------------------------------------- */

static int check_status(void *ctx, struct slice body, struct err *err)
{
    return webhdfs_status_parse(body, ctx, err);
}

int webhdfs_status(struct webhdfs_client *c,
                   const char *path,
                   struct webhdfs_status *out,
                   struct err *err)
{
    struct webhdfs_call call = {.client = c,
                                .method = "GET",
                                .path = path,
                                .query = "op=GETFILESTATUS",
                                .check = check_status,
                                .ctx = out};
    return webhdfs_run(&call, err);
}

/* The same within a call, once. */
static int status_within(struct webhdfs_call *of,
                         struct object_connection *connection,
                         const char *path,
                         struct webhdfs_status *out,
                         struct err *err)
{
    struct webhdfs_call call = {.client = of->client,
                                .method = "GET",
                                .path = path,
                                .query = "op=GETFILESTATUS",
                                .check = check_status,
                                .ctx = out,
                                .err = err};
    uint64_t retry_us;
    int rc = try_once(&call, connection, &retry_us);
    for (unsigned tries = 1; webhdfs_passes(rc); tries++) {
        if (!request_pool_may_retry(&of->client->pool, tries, retry_us, NULL))
            break;
        rc = try_once(&call, connection, &retry_us);
    }
    return rc;
}

static int check_page(void *ctx, struct slice body, struct err *err)
{
    struct webhdfs_page *page = ctx;
    webhdfs_page_close(page);
    return webhdfs_page_parse(body, page, err);
}

int webhdfs_list(struct webhdfs_client *c,
                 const char *path,
                 const char *after,
                 struct webhdfs_page *out,
                 struct err *err)
{
    struct buf query = BUF_INIT;
    struct webhdfs_call call = {.client = c,
                                .method = "GET",
                                .path = path,
                                .check = check_page,
                                .ctx = out};
    int rc;
    *out = (struct webhdfs_page){.count = 0};
    buf_append_str(&query, "op=LISTSTATUS_BATCH");
    if (*after) {
        buf_append_str(&query, "&startAfter=");
        object_put_encoded(&query, slice_str(after), false);
    }
    call.query = buf_cstr(&query);
    rc = webhdfs_run(&call, err);
    buf_close(&query);
    return rc;
}

static int check_boolean(void *ctx, struct slice body, struct err *err)
{
    return webhdfs_boolean_parse(body, ctx, err);
}

int webhdfs_mkdirs(struct webhdfs_client *c, const char *path, struct err *err)
{
    bool made = false;
    struct webhdfs_call call = {.client = c,
                                .method = "PUT",
                                .path = path,
                                .query = "op=MKDIRS",
                                .check = check_boolean,
                                .ctx = &made};
    int rc = webhdfs_run(&call, err);
    if (rc == ERR_EXISTS)
        rc = err_set(err, ERR_INVALID, "%s/%s: a file is in its place", c->name,
                     path);
    if (rc == 0 && !made)
        rc = err_set(err, ERR_IO, "%s/%s: the directory was not made", c->name,
                     path);
    return rc;
}

int webhdfs_delete(struct webhdfs_client *c,
                   const char *path,
                   bool recursive,
                   struct err *err)
{
    bool gone = false;
    struct webhdfs_call call = {.client = c,
                                .method = "DELETE",
                                .path = path,
                                .query = recursive ? "op=DELETE&recursive=true"
                                                   : "op=DELETE",
                                .check = check_boolean,
                                .ctx = &gone};
    int rc = webhdfs_run(&call, err);
    /* Gone already: by a try whose answer was lost, or it was never there. */
    if (rc == 0 && !gone && call.tries == 1)
        rc = err_set(err, ERR_NOTFOUND, "%s/%s: not there", c->name, path);
    return rc;
}

/* Is our inode at the new name? */
static int settle_rename(struct webhdfs_call *call,
                         struct object_connection *connection,
                         struct err *err)
{
    struct webhdfs_status at = {.name = NULL};
    int rc = status_within(call, connection, call->target, &at, err);
    if (rc == 0 && at.id != call->id)
        rc = ERR_NOTFOUND;
    webhdfs_status_close(&at);
    return rc;
}

int webhdfs_rename(struct webhdfs_client *c,
                   const char *from,
                   uint64_t id,
                   const char *to,
                   bool exclusive,
                   struct err *err)
{
    struct buf query = BUF_INIT;
    struct webhdfs_call call = {.client = c,
                                .method = "PUT",
                                .path = from,
                                .settle = settle_rename,
                                .id = id,
                                .target = to};
    int rc;
    buf_printf(&query, "op=RENAME&renameoptions=%s&destination=",
               exclusive ? "NONE" : "OVERWRITE");
    object_put_encoded(&query, SLICE_LIT("/"), true);
    object_put_encoded(&query, slice_str(to), true);
    call.query = buf_cstr(&query);
    rc = webhdfs_run(&call, err);
    buf_close(&query);
    return rc;
}

/* --- bytes --------------------------------------------------------------- */

int webhdfs_create(struct webhdfs_client *c,
                   const char *path,
                   struct slice data,
                   unsigned replication,
                   struct err *err)
{
    struct buf query = BUF_INIT;
    struct webhdfs_call call = {.client = c,
                                .method = "PUT",
                                .path = path,
                                .has_data = true,
                                .data = data};
    int rc;
    buf_append_str(&query, "op=CREATE&overwrite=true");
    if (replication)
        buf_printf(&query, "&replication=%u", replication);
    call.query = buf_cstr(&query);
    rc = webhdfs_run(&call, err);
    if (rc == 0)
        atomic_fetch_add(&c->written_bytes, data.len);
    buf_close(&query);
    return rc;
}

/* Cut off what a broken try left behind. */
static int cut_back(struct webhdfs_call *of,
                    struct object_connection *connection,
                    struct err *err)
{
    struct buf query = BUF_INIT;
    bool at_once = false;
    struct webhdfs_call call = {.client = of->client,
                                .method = "POST",
                                .path = of->path,
                                .check = check_boolean,
                                .ctx = &at_once,
                                .err = err};
    uint64_t retry_us;
    int rc;
    buf_printf(&query, "op=TRUNCATE&newlength=%llu",
               (unsigned long long)of->length);
    call.query = buf_cstr(&query);
    rc = try_once(&call, connection, &retry_us);
    buf_close(&query);
    return rc;
}

/* The file's length tells what a try of appending did: all of it, nothing, or a
 * part, which is cut off. */
static int settle_append(struct webhdfs_call *call,
                         struct object_connection *connection,
                         struct err *err)
{
    struct webhdfs_status at = {.name = NULL};
    uint64_t want = call->length + call->data.len;
    uint64_t length;
    int rc = status_within(call, connection, call->path, &at, err);
    length = at.size_bytes;
    webhdfs_status_close(&at);
    if (rc == ERR_NOTFOUND) /* Not ours any more. */
        return err_set(err, ERR_ABORTED, "%s/%s was taken or removed",
                       call->client->name, call->path);
    if (rc)
        return rc;
    if (length == want && call->data.len > 0)
        return 0;
    if (length < call->length)
        return err_set(err, ERR_CORRUPT, "%s/%s: %llu bytes, %llu were written",
                       call->client->name, call->path,
                       (unsigned long long)length,
                       (unsigned long long)call->length);
    if (length > call->length)
        rc = cut_back(call, connection, err);
    return rc ? rc : ERR_NOTFOUND;
}

/* Is the file @want bytes long? A broken try may have added bytes before the
 * last one began, when its lease was free again: these, and what came after
 * them, are cut off, and ERR_BUSY says that all is to be sent again. */
static int verify_append(struct webhdfs_call *of, uint64_t want)
{
    struct webhdfs_status at = {.name = NULL};
    struct webhdfs_client *c = of->client;
    struct buf query = BUF_INIT;
    bool at_once = false;
    struct webhdfs_call cut = {.client = c,
                               .method = "POST",
                               .path = of->path,
                               .check = check_boolean,
                               .ctx = &at_once};
    int rc = webhdfs_status(c, of->path, &at, of->err);
    bool is = at.size_bytes == want;
    webhdfs_status_close(&at);
    if (rc || is)
        return rc;
    buf_printf(&query, "op=TRUNCATE&newlength=%llu",
               (unsigned long long)of->length);
    cut.query = buf_cstr(&query);
    rc = webhdfs_run(&cut, of->err);
    buf_close(&query);
    return rc ? rc
              : err_set(of->err, ERR_BUSY,
                        "%s/%s: bytes of a broken try were in it", c->name,
                        of->path);
}

int webhdfs_append(struct webhdfs_client *c,
                   const char *path,
                   uint64_t length,
                   struct slice data,
                   struct err *err)
{
    struct webhdfs_call call;
    int rc;
    for (unsigned i = 0; i < APPENDS_MAX; i++) {
        call = (struct webhdfs_call){.client = c,
                                     .method = "POST",
                                     .path = path,
                                     .query = "op=APPEND",
                                     .has_data = true,
                                     .data = data,
                                     .settle = settle_append,
                                     .length = length};
        rc = webhdfs_run(&call, err);
        if (rc || call.tries == 1)
            break;
        call.err = err;
        rc = verify_append(&call, length + data.len);
        if (rc != ERR_BUSY)
            break;
    }
    if (rc == ERR_NOTFOUND)
        rc = err_set(err, ERR_ABORTED, "%s/%s was taken or removed", c->name,
                     path);
    if (rc == 0)
        atomic_fetch_add(&c->written_bytes, data.len);
    return rc;
}

int webhdfs_concat(struct webhdfs_client *c,
                   const char *path,
                   const char *source,
                   struct err *err)
{
    struct buf query = BUF_INIT;
    struct webhdfs_call call = {.client = c, .method = "POST", .path = path};
    int rc;
    buf_append_str(&query, "op=CONCAT&sources=");
    object_put_encoded(&query, SLICE_LIT("/"), true);
    object_put_encoded(&query, slice_str(source), true);
    call.query = buf_cstr(&query);
    rc = webhdfs_run(&call, err);
    buf_close(&query);
    return rc == ERR_INVALID || rc == ERR_IO
               ? err_set(err, ERR_BUSY, "%s/%s: it is written to", c->name,
                         source)
               : rc;
}

/* --- reading ------------------------------------------------------------- */

struct webhdfs_reading {
    struct request_job job;
    struct webhdfs_call call;
    struct object_read *read;
    char query[80];
};

/* All bytes come, or the request is repeated: the length is known. */
static int check_bytes(void *ctx, struct slice body, struct err *err)
{
    const struct webhdfs_reading *g = ctx;
    (void)body;
    if (g->call.got == g->read->len)
        return 0;
    return err_set(err, ERR_CORRUPT, "%s/%s: %zu bytes came of %zu at %llu",
                   g->call.client->name, g->call.path, g->call.got,
                   g->read->len, (unsigned long long)g->read->offset);
}

static void run_read(struct object_connection *connection, void *arg)
{
    struct webhdfs_reading *g = arg;
    struct object_read *r = g->read;
    struct webhdfs_client *c = g->call.client;
    err_init(&r->err);
    run_call(connection, &g->call);
    r->rc = g->call.rc;
    if (r->rc == ERR_NOTFOUND)
        r->rc =
            err_set(&r->err, ERR_ABORTED,
                    "%s/%s was replaced while it was read", c->name, r->key);
    r->got = r->rc ? 0 : g->call.got;
    atomic_fetch_add(&c->read_bytes, r->got);
    mem_free(g);
    r->done(r);
}

void webhdfs_read_start(struct webhdfs_client *c, struct object_read *r)
{
    struct webhdfs_reading *g = mem_zalloc(1, sizeof(*g));
    snprintf(g->query, sizeof(g->query), "op=OPEN&offset=%llu&length=%zu",
             (unsigned long long)r->offset, r->len);
    g->call = (struct webhdfs_call){.client = c,
                                    .method = "GET",
                                    .path = r->key,
                                    .query = g->query,
                                    .dst = r->dst,
                                    .dst_bytes = r->len,
                                    .stop = &r->stop,
                                    .check = check_bytes,
                                    .ctx = g,
                                    .err = &r->err};
    g->job.run = run_read;
    g->job.arg = g;
    g->read = r;
    r->pool = &c->pool;
    r->got = 0;
    request_pool_start(&c->pool, &g->job);
}
