/* Sending one request until it has an outcome: the URL and the signature of
 * each try, the region and the clock that the server corrects, retries, and
 * what the user reads when it fails.
 */
#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/objects/object_answer.h"
#include "base/objects/object_client_parts.h"
#include "base/runtime/world.h"

#define KEYS_RENEWED_US UINT64_C(300000000)
/* Headers of a try: those of the operation, and host, hash, date, token. */
#define HEADERS_MAX (CALL_HEADERS_MAX + 5)

/* One try: texts of its own, and what they are made from. */
struct attempt {
    struct object_keys keys; /* Copies. */
    char region[64];
    char time[SIGV4_TIME_TEXT];
    char hash[SIGV4_HASH_TEXT];
    struct buf host;
    struct buf path; /* Encoded, from the slash on. */
    struct buf url;
    struct buf lines;                         /* Headers, each with its NUL. */
    struct sigv4_header headers[HEADERS_MAX]; /* Sorted. */
    size_t header_count;
};

/* --- where --------------------------------------------------------------- */

static struct slice without_slash(struct slice s)
{
    while (s.len > 0 && s.data[s.len - 1] == '/')
        s.len--;
    return s;
}

static bool is_virtual(const struct object_client *c)
{
    if (c->settings.addressing_is_set)
        return c->settings.virtual_hosts;
    /* Certificates of one level do not match names with dots. */
    return !c->settings.endpoint && !strchr(c->place, '.');
}

/* A port that the scheme implies is not written in the header Host. */
static struct slice shown_host(struct slice host, bool tls)
{
    struct slice port = tls ? SLICE_LIT(":443") : SLICE_LIT(":80");
    return slice_ends_with(host, port) ? slice_sub(host, 0, host.len - port.len)
                                       : host;
}

static void place_s3(const struct object_client *c,
                     const struct object_call *call,
                     struct attempt *a)
{
    struct buf amazon = BUF_INIT;
    struct slice url;
    struct slice rest;
    bool tls;
    size_t slash;
    buf_printf(&amazon, "https://s3.%s.amazonaws.com", a->region);
    url = without_slash(c->settings.endpoint ? slice_str(c->settings.endpoint)
                                             : buf_slice(&amazon));
    tls = slice_starts_with(url, SLICE_LIT("https://"));
    rest = slice_sub(url, tls ? 8 : 7, url.len);
    slash = slice_find_byte(rest, '/');
    if (is_virtual(c))
        buf_printf(&a->host, "%s.", c->place);
    buf_append_slice(&a->host, shown_host(slice_sub(rest, 0, slash), tls));
    buf_append_slice(&a->path, slice_sub(rest, slash, rest.len));
    buf_append_byte(&a->path, '/');
    if (!is_virtual(c)) {
        object_put_encoded(&a->path, slice_str(c->place), false);
        if (call->key)
            buf_append_byte(&a->path, '/');
    }
    if (call->key)
        object_put_encoded(&a->path, slice_str(call->key), true);
    buf_printf(&a->url, "%s://%s", tls ? "https" : "http", buf_cstr(&a->host));
    buf_close(&amazon);
}

/* A web server's path is as the user wrote it. */
static void place_web(const struct object_client *c,
                      const struct object_call *call,
                      struct attempt *a)
{
    buf_append_str(&a->url, c->name);
    buf_printf(&a->path, "/%s", call->key);
}

static void put_url(const struct object_client *c,
                    const struct object_call *call,
                    struct attempt *a)
{
    if (c->scheme == OBJECT_S3)
        place_s3(c, call, a);
    else
        place_web(c, call, a);
    buf_append_slice(&a->url, buf_slice(&a->path));
    if (call->query[0])
        buf_printf(&a->url, "?%s", call->query);
}

/* --- who ----------------------------------------------------------------- */

static char *copy_or_null(const char *text)
{
    return text ? mem_strdup(text) : NULL;
}

/* Keys, region and time of this try. PRE: a thread of the client, which may
 * wait for the command. */
static int
take_identity(struct object_client *c, struct attempt *a, struct err *err)
{
    uint64_t now = world_now_us(c->world);
    int rc = 0;
    mutex_lock(&c->keys_mutex);
    snprintf(a->region, sizeof(a->region), "%s", c->region);
    sigv4_time((uint64_t)((int64_t)now + c->clock_offset_us), a->time);
    if (c->scheme == OBJECT_S3 && !c->settings.anonymous) {
        bool old = c->has_keys && c->keys.expires_us != UINT64_MAX &&
                   c->keys.expires_us < now + KEYS_RENEWED_US;
        if (old) {
            object_keys_close(&c->keys);
            c->has_keys = false;
        }
        if (!c->has_keys)
            rc = object_keys_get(&c->settings, &c->keys, err);
        c->has_keys = rc == 0;
        if (rc == 0) {
            a->keys.access = copy_or_null(c->keys.access);
            a->keys.secret = copy_or_null(c->keys.secret);
            a->keys.token = copy_or_null(c->keys.token);
        }
    }
    mutex_unlock(&c->keys_mutex);
    return rc;
}

/* Keep headers sorted by name. */
static void add_header(struct attempt *a, const char *name, const char *value)
{
    size_t i = a->header_count++;
    PRE(i < HEADERS_MAX);
    while (i > 0 && strcmp(a->headers[i - 1].name, name) > 0) {
        a->headers[i] = a->headers[i - 1];
        i--;
    }
    a->headers[i] = (struct sigv4_header){name, value};
}

static void put_lines(struct attempt *a, const char *authorization)
{
    for (size_t i = 0; i < a->header_count; i++) {
        buf_printf(&a->lines, "%s: %s", a->headers[i].name,
                   a->headers[i].value);
        buf_append_byte(&a->lines, '\0');
    }
    if (authorization) {
        buf_printf(&a->lines, "authorization: %s", authorization);
        buf_append_byte(&a->lines, '\0');
    }
}

static void put_headers(const struct object_client *c,
                        const struct object_call *call,
                        struct attempt *a)
{
    struct buf signature = BUF_INIT;
    for (size_t i = 0; i < call->header_count; i++)
        add_header(a, call->headers[i].name, call->headers[i].value);
    if (c->scheme == OBJECT_S3) {
        sigv4_hash(call->body, a->hash);
        add_header(a, "host", buf_cstr(&a->host));
        add_header(a, "x-amz-content-sha256", a->hash);
        add_header(a, "x-amz-date", a->time);
    }
    if (a->keys.token)
        add_header(a, "x-amz-security-token", a->keys.token);
    if (a->keys.access) {
        struct sigv4_request r = {call->method,    buf_cstr(&a->path),
                                  call->query,     a->headers,
                                  a->header_count, a->hash,
                                  a->time,         a->region,
                                  a->keys.access,  a->keys.secret};
        sigv4_put(&r, &signature);
    }
    put_lines(a, signature.len ? buf_cstr(&signature) : NULL);
    buf_close(&signature);
}

static void attempt_close(struct attempt *a)
{
    object_keys_close(&a->keys);
    buf_close(&a->host);
    buf_close(&a->path);
    buf_close(&a->url);
    buf_close(&a->lines);
}

static int send_once(struct object_client *c,
                     struct object_connection *connection,
                     const struct object_call *call,
                     struct object_reply *reply,
                     struct err *err)
{
    struct attempt a = {.header_count = 0};
    struct object_request r = {
        .method = call->method,
        .body = call->body,
        .dst = call->dst,
        .dst_bytes = call->dst_bytes,
        .body_max = call->body_max ? call->body_max : OBJECT_ANSWER_BYTES_MAX,
        .follow = c->scheme != OBJECT_S3,
        .authority = c->settings.authority,
        .stop = call->stop};
    int rc = take_identity(c, &a, err);
    *reply = (struct object_reply){.status = 0};
    if (rc == 0) {
        put_url(c, call, &a);
        put_headers(c, call, &a);
        r.url = buf_cstr(&a.url);
        r.headers = &a.lines;
        atomic_fetch_add(&c->pool.requests, 1);
        rc = object_connection_send(connection, &r, reply, err);
        if (rc)
            err_wrap(err, "%s",
                     c->scheme == OBJECT_S3 ? buf_cstr(&a.host) : c->name);
    }
    attempt_close(&a);
    return rc;
}

/* --- outcomes ------------------------------------------------------------ */

static bool is_code(const struct object_words *w, const char *const *codes)
{
    for (size_t i = 0; codes[i]; i++)
        if (strcmp(w->code, codes[i]) == 0)
            return true;
    return false;
}

#define CODES(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Statuses and codes that pass: the same request may succeed later. */
static bool object_call_passes(const struct object_reply *reply,
                               const struct object_words *w)
{
    if (reply->status == 501 || reply->status == 505)
        return false;
    return reply->status >= 500 || reply->status == 429 ||
           reply->status == 408 ||
           is_code(w, CODES("RequestTimeout", "BadDigest", "IncompleteBody",
                            "XAmzContentSHA256Mismatch", "SlowDown",
                            "InternalError", "ConditionalRequestConflict",
                            "OperationAborted"));
}

/* A try that the server refused for what it now corrects. */
static bool correct_from(struct object_client *c,
                         const struct object_reply *reply,
                         const struct object_words *w)
{
    const char *region = reply->region[0] ? reply->region : w->region;
    bool corrected = false;
    uint64_t now = world_now_us(c->world);
    mutex_lock(&c->keys_mutex);
    if (is_code(w, CODES("RequestTimeTooSkewed")) && reply->date_us) {
        c->clock_offset_us = (int64_t)reply->date_us - (int64_t)now;
        corrected = true;
    } else if (region[0] && strlen(region) < sizeof(c->region) &&
               strcmp(region, c->region) != 0 &&
               (reply->status == 301 || reply->status == 400 ||
                reply->status == 403)) {
        snprintf(c->region, sizeof(c->region), "%s", region);
        corrected = true;
    }
    mutex_unlock(&c->keys_mutex);
    return corrected;
}

static void add_hint(struct object_client *c,
                     const struct object_reply *reply,
                     const struct object_words *w,
                     struct err *err)
{
    static const struct {
        const char *code;
        const char *hint;
    } hints[] = {
        {"SignatureDoesNotMatch",
         "check AWS_SECRET_ACCESS_KEY and AWS_REGION, and that no proxy "
         "changes requests"},
        {"InvalidAccessKeyId", "check AWS_ACCESS_KEY_ID and AWS_ENDPOINT_URL"},
        {"AccessDenied", "the keys have no right to this: see the policies of "
                         "the user and the bucket"},
        {"ExpiredToken", "renew the session's keys"},
        {"InvalidToken", "renew the session's keys"},
        {"RequestTimeTooSkewed", "set this machine's clock"},
        {"NoSuchBucket", "check the name, AWS_REGION and AWS_ENDPOINT_URL"},
        {"EntityTooLarge", "the server takes no object of this size"},
        {"QuotaExceeded", "the bucket is full"},
    };

    for (size_t i = 0; i < ARRAY_LEN(hints); i++)
        if (strcmp(w->code, hints[i].code) == 0)
            err_hint(err, "%s", hints[i].hint);
    if (reply->status == 403 && c->scheme == OBJECT_S3)
        err_hint(err, "the keys have no right to this, or are wrong");
}

static int code_of(const struct object_call *call,
                   const struct object_reply *reply)
{
    switch (reply->status) {
    case 404: return ERR_NOTFOUND;
    case 401:
    case 403: return ERR_DENIED;
    case 412: return call->exclusive ? ERR_EXISTS : ERR_ABORTED;
    case 416: return ERR_INVALID;
    case 405:
    case 501: return ERR_UNSUPPORTED;
    case 507: return ERR_FULL;
    default:
        return reply->status >= 500 || reply->status == 429 ? ERR_UNAVAILABLE
                                                            : ERR_INVALID;
    }
}

/* The name of what was asked for, as the user wrote it. */
static void put_name(struct object_client *c,
                     const struct object_call *call,
                     struct buf *out)
{
    buf_append_str(out, c->name);
    if (call->key)
        buf_printf(out, "/%s", call->key);
}

static int object_call_explain(struct object_client *c,
                               const struct object_call *call,
                               const struct object_reply *reply,
                               const struct object_words *w,
                               struct err *err)
{
    int code = code_of(call, reply);
    const char *id = reply->request_id[0] ? reply->request_id : w->request_id;
    struct buf name = BUF_INIT;
    put_name(c, call, &name);
    if (w->code[0])
        err_set(err, code, "%s: %s: %s", buf_cstr(&name), w->code, w->message);
    else if (code == ERR_EXISTS)
        err_set(err, code, "%s exists already", buf_cstr(&name));
    else if (reply->status == 404)
        err_set(err, code, "%s: not there", buf_cstr(&name));
    else
        err_set(err, code, "%s: the server answered %ld", buf_cstr(&name),
                reply->status);
    if (reply->status != 404 || w->code[0])
        add_hint(c, reply, w, err);
    if (id[0] && code != ERR_NOTFOUND && code != ERR_EXISTS)
        err_hint(err, "its name for the request is %s", id);
    buf_close(&name);
    return code;
}

/* --- tries --------------------------------------------------------------- */

/* An answer that begins as a success may still say in its body that the
 * request failed: of CompleteMultipartUpload and CopyObject. */
static bool is_hidden_error(const struct object_call *call,
                            const struct object_reply *reply,
                            const struct object_words *w)
{
    return !call->dst && reply->status == 200 && strcmp(w->root, "Error") == 0;
}

static void wrap_tries(struct err *err, unsigned tries)
{
    if (tries > 1)
        err_wrap(err, "after %u tries", tries);
}

int object_call_run(struct object_client *c,
                    struct object_connection *connection,
                    const struct object_call *call,
                    struct object_reply *reply,
                    struct err *err)
{
    unsigned corrections = 0;
    unsigned tries = 0;
    int rc;
    for (;;) {
        struct object_words words;
        bool hidden;
        bool again;
        tries++;
        rc = send_once(c, connection, call, reply, err);
        /* A list is read elsewhere; of other answers a part is enough. */
        (void)object_words_parse(
            rc || (reply->status == 200 && reply->body.len > 65536)
                ? SLICE_EMPTY
                : buf_slice(&reply->body),
            &words);
        hidden = rc == 0 && is_hidden_error(call, reply, &words);
        if (rc == 0 && !hidden && reply->status / 100 == 2) {
            request_pool_earn(&c->pool);
            return 0;
        }
        if (rc == 0) {
            rc = object_call_explain(c, call, reply, &words, err);
            again = hidden || object_call_passes(reply, &words);
            if (!again && corrections < 2 && correct_from(c, reply, &words)) {
                corrections++;
                buf_close(&reply->body);
                continue;
            }
        } else {
            again = rc == ERR_UNAVAILABLE;
        }
        if (!again || !request_pool_may_retry(&c->pool, tries, reply->retry_us,
                                              call->stop))
            break;
        buf_close(&reply->body);
    }
    if (call->stop && atomic_load(call->stop))
        return err_set(err, ERR_CANCELLED, "%s: given up", c->name);
    wrap_tries(err, tries);
    return rc;
}
