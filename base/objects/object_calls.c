/* The requests of object_client.h: what each sends, and what its answer means.
 */
#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/objects/object_answer.h"
#include "base/objects/object_client_parts.h"
#include "base/runtime/world.h"

/* The header that says whose an object is. */
#define TOKEN_HEADER "x-amz-meta-quarry-put"
#define TOKEN_TEXT   33

/* Of a web server that gives no ranges, read from its beginning. */
#define WHOLE_BYTES_MAX ((size_t)64 << 20)

static void make_token(struct object_client *c, char out[TOKEN_TEXT])
{
    snprintf(out, TOKEN_TEXT, "%016llx%016llx",
             (unsigned long long)world_random(c->world),
             (unsigned long long)world_random(c->world));
}

static void copy_info(const struct object_reply *reply, struct object_info *out)
{
    out->size_bytes = reply->content_bytes;
    out->modified_us = reply->modified_us;
    memcpy(out->etag, reply->etag, sizeof(out->etag));
}

/* --- one object ---------------------------------------------------------- */

/* @token, if not NULL, has TOKEN_TEXT bytes. */
static int head_with_token(struct object_client *c,
                           const char *key,
                           struct object_info *out,
                           char *token,
                           struct err *err)
{
    const struct object_call call = {.method = "HEAD", .key = key, .query = ""};
    struct object_reply reply;
    int rc = object_call(c, &call, &reply, err);
    if (rc == 0) {
        copy_info(&reply, out);
        if (token)
            snprintf(token, TOKEN_TEXT, "%.32s", reply.token);
    }
    buf_close(&reply.body);
    return rc;
}

int object_head(struct object_client *c,
                const char *key,
                struct object_info *out,
                struct err *err)
{
    return head_with_token(c, key, out, NULL, err);
}

/* Is the object the one that we made with @token? A try whose answer was lost
 * may have made it; libcurl repeats one itself whose connection broke. */
static bool is_ours(struct object_client *c, const char *key, const char *token)
{
    struct object_info info;
    char found[TOKEN_TEXT] = "";
    return head_with_token(c, key, &info, found, NULL) == 0 &&
           strcmp(found, token) == 0;
}

/* One PUT. @token, of TOKEN_TEXT bytes, says whose the object is. */
static int put_once(struct object_client *c,
                    const char *key,
                    struct slice body,
                    bool exclusive,
                    const char *token,
                    struct err *err)
{
    struct object_call call = {.method = "PUT",
                               .key = key,
                               .query = "",
                               .body = body,
                               .exclusive = exclusive};
    struct object_reply reply;
    int rc;
    if (exclusive)
        call.headers[call.header_count++] =
            (struct sigv4_header){"if-none-match", "*"};
    call.headers[call.header_count++] =
        (struct sigv4_header){TOKEN_HEADER, token};
    rc = object_call(c, &call, &reply, err);
    buf_close(&reply.body);
    return rc;
}

/* A server that ignores If-None-Match would replace what is there: until it has
 * shown that it does not, the object is looked for. */
static int
check_is_absent(struct object_client *c, const char *key, struct err *err)
{
    struct object_info info;
    int rc;
    if (atomic_load(&c->conditions) == CONDITIONS_HONOURED)
        return 0;
    rc = object_head(c, key, &info, err);
    if (rc == 0)
        return err_set(err, ERR_EXISTS, "%s/%s exists already", c->name, key);
    return rc == ERR_NOTFOUND ? 0 : rc;
}

/* The object was just made: does the server refuse to make it again? It is the
 * same one if it does not. */
static void learn_conditions(struct object_client *c,
                             const char *key,
                             struct slice body,
                             const char *token)
{
    int rc;
    if (atomic_load(&c->conditions) != CONDITIONS_UNKNOWN)
        return;
    rc = put_once(c, key, body, true, token, NULL);
    if (rc == ERR_EXISTS)
        atomic_store(&c->conditions, CONDITIONS_HONOURED);
    else if (rc == 0)
        atomic_store(&c->conditions, CONDITIONS_IGNORED);
}

int object_put(struct object_client *c,
               const char *key,
               struct slice body,
               bool exclusive,
               struct err *err)
{
    char token[TOKEN_TEXT];
    int rc = exclusive ? check_is_absent(c, key, err) : 0;
    if (rc)
        return rc;
    make_token(c, token);
    rc = put_once(c, key, body, exclusive, token, err);
    if (rc == ERR_EXISTS && is_ours(c, key, token))
        rc = 0;
    if (rc == 0 && exclusive)
        learn_conditions(c, key, body, token);
    if (rc == 0)
        atomic_fetch_add(&c->written_bytes, body.len);
    return rc;
}

int object_delete(struct object_client *c, const char *key, struct err *err)
{
    const struct object_call call = {
        .method = "DELETE", .key = key, .query = ""};
    struct object_reply reply;
    int rc = object_call(c, &call, &reply, err);
    buf_close(&reply.body);
    return rc == ERR_NOTFOUND ? 0 : rc;
}

int object_copy(struct object_client *c,
                const char *from,
                const char *to,
                struct err *err)
{
    struct buf source = BUF_INIT;
    struct object_call call = {.method = "PUT", .key = to, .query = ""};
    struct object_reply reply;
    int rc;
    buf_append_byte(&source, '/');
    object_put_encoded(&source, slice_str(c->place), false);
    buf_append_byte(&source, '/');
    object_put_encoded(&source, slice_str(from), true);
    call.headers[call.header_count++] =
        (struct sigv4_header){"x-amz-copy-source", buf_cstr(&source)};
    rc = object_call(c, &call, &reply, err);
    if (rc == ERR_INVALID)
        err_hint(err, "a server copies 5 GiB at once");
    buf_close(&reply.body);
    buf_close(&source);
    return rc;
}

/* --- ranges -------------------------------------------------------------- */

/* A web server that ignores ranges has sent the object from its beginning. */
static int get_whole(struct object_client *c,
                     struct object_connection *connection,
                     struct object_read *r,
                     struct err *err)
{
    const struct object_call call = {.method = "GET",
                                     .key = r->key,
                                     .query = "",
                                     .body_max = WHOLE_BYTES_MAX,
                                     .stop = &r->stop};
    struct object_reply reply;
    int rc = object_call_run(c, connection, &call, &reply, err);
    if (rc == ERR_CORRUPT) {
        rc = err_set(err, ERR_UNSUPPORTED,
                     "%s/%s: the server gives no ranges, and the file is over "
                     "%zu MiB",
                     c->name, r->key, WHOLE_BYTES_MAX >> 20);
        err_hint(err, "fetch it with curl, and read the copy");
    }
    if (rc == 0 && r->offset < reply.body.len) {
        r->got = (size_t)MIN_OF(r->len, reply.body.len - r->offset);
        memcpy(r->dst, reply.body.data + r->offset, r->got);
    }
    buf_close(&reply.body);
    return rc;
}

int object_get_run(struct object_client *c,
                   struct object_connection *connection,
                   struct object_read *r,
                   struct err *err)
{
    char range[64];
    struct object_call call = {.method = "GET",
                               .key = r->key,
                               .query = "",
                               .dst = r->dst,
                               .dst_bytes = r->len,
                               .stop = &r->stop};
    struct object_reply reply;
    uint64_t end;
    int rc;
    r->got = 0;
    if (r->len == 0)
        return 0;
    /* Headers are sorted when they are signed. */
    snprintf(range, sizeof(range), "bytes=%llu-%llu",
             (unsigned long long)r->offset,
             (unsigned long long)(r->offset + r->len - 1));
    call.headers[call.header_count++] = (struct sigv4_header){"range", range};
    if (r->etag && r->etag[0] && c->scheme == OBJECT_S3)
        call.headers[call.header_count++] =
            (struct sigv4_header){"if-match", r->etag};
    rc = object_call_run(c, connection, &call, &reply, err);
    buf_close(&reply.body);
    if (rc == ERR_INVALID && reply.status == 416)
        return 0; /* Behind the end. */
    /* More came than the range has: the server gives all or nothing. */
    if ((rc == ERR_CORRUPT || rc == 0) && reply.status == 200 &&
        (r->offset > 0 || rc) && c->scheme != OBJECT_S3)
        return get_whole(c, connection, r, err);
    if (rc == ERR_ABORTED) {
        err_set(err, rc, "%s/%s was replaced while it was read", c->name,
                r->key);
        return rc;
    }
    if (rc)
        return rc;
    if (reply.status == 200 && r->offset > 0)
        return err_set(err, ERR_UNSUPPORTED,
                       "%s/%s: the server gives no ranges", c->name, r->key);
    if (reply.etag[0] && r->etag && r->etag[0] &&
        strcmp(reply.etag, r->etag) != 0)
        return err_set(err, ERR_ABORTED, "%s/%s was replaced while it was read",
                       c->name, r->key);
    if (reply.status == 206 && reply.range_begin != r->offset)
        return err_set(err, ERR_CORRUPT,
                       "%s/%s: the server sent another range than that at %llu",
                       c->name, r->key, (unsigned long long)r->offset);
    r->got = reply.got;
    end = reply.whole_bytes != UINT64_MAX ? reply.whole_bytes
                                          : r->offset + reply.got;
    if (reply.got < r->len && r->offset + reply.got < end)
        return err_set(
            err, ERR_CORRUPT, "%s/%s: the server sent %zu bytes of %zu at %llu",
            c->name, r->key, reply.got, r->len, (unsigned long long)r->offset);
    atomic_fetch_add(&c->read_bytes, reply.got);
    return 0;
}

/* --- lists --------------------------------------------------------------- */

static void put_list_query(const char *prefix,
                           bool deep,
                           size_t most,
                           struct slice next,
                           struct buf *out)
{
    buf_clear(out);
    if (next.len > 0) {
        buf_append_str(out, "continuation-token=");
        object_put_encoded(out, next, false);
        buf_append_byte(out, '&');
    }
    if (!deep)
        buf_append_str(out, "delimiter=%2F&");
    buf_append_str(out, "encoding-type=url&list-type=2&");
    if (most > 0)
        buf_printf(out, "max-keys=%zu&", MIN_OF(most, (size_t)1000));
    buf_append_str(out, "prefix=");
    object_put_encoded(out, slice_str(prefix), false);
}

static int visit_page(const struct object_page *p,
                      object_visit_fn visit,
                      void *ctx,
                      size_t most,
                      size_t *seen,
                      struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < p->count && !rc && (!most || *seen < most); i++) {
        const struct object_entry *e = &p->entries[i];
        const struct object_info info = {.size_bytes = e->size_bytes,
                                         .modified_us = e->modified_us};
        rc = visit(ctx, e->key, &info, e->is_prefix, err);
        ++*seen;
    }
    return rc;
}

int object_list(struct object_client *c,
                const char *prefix,
                bool deep,
                size_t most,
                object_visit_fn visit,
                void *ctx,
                struct err *err)
{
    struct buf query = BUF_INIT;
    struct buf next = BUF_INIT;
    size_t seen = 0;
    bool more = true;
    int rc = 0;
    while (rc == 0 && more) {
        struct object_call call = {.method = "GET"};
        struct object_reply reply;
        struct object_page page = {.count = 0};
        put_list_query(prefix, deep, most, buf_slice(&next), &query);
        call.query = buf_cstr(&query);
        rc = object_call(c, &call, &reply, err);
        if (rc == 0) {
            rc = object_page_parse(buf_slice(&reply.body), &page, err);
            if (rc)
                err_wrap(err, "%s: list", c->name);
        }
        if (rc == 0)
            rc = visit_page(&page, visit, ctx, most, &seen, err);
        more = page.next.len > 0 && (!most || seen < most);
        /* A page that leads to itself would never end. */
        if (rc == 0 && more &&
            slice_eq(buf_slice(&page.next), buf_slice(&next)))
            rc = err_set(err, ERR_CORRUPT,
                         "%s: list: a page says that it follows itself",
                         c->name);
        buf_clear(&next);
        buf_append_slice(&next, buf_slice(&page.next));
        object_page_close(&page);
        buf_close(&reply.body);
    }
    buf_close(&query);
    buf_close(&next);
    return rc;
}

/* --- uploads in parts ---------------------------------------------------- */

int object_upload_begin(struct object_client *c,
                        const char *key,
                        char **id,
                        char **token,
                        struct err *err)
{
    char text[TOKEN_TEXT];
    struct object_call call = {
        .method = "POST", .key = key, .query = "uploads="};
    struct object_words words = {.root = ""};
    struct object_reply reply;
    int rc;
    *id = *token = NULL;
    make_token(c, text);
    call.headers[call.header_count++] =
        (struct sigv4_header){TOKEN_HEADER, text};
    rc = object_call(c, &call, &reply, err);
    if (rc == 0 && (object_words_parse(buf_slice(&reply.body), &words) ||
                    words.upload_id[0] == '\0'))
        rc = err_set(err, ERR_CORRUPT,
                     "%s/%s: the server began an upload without a name",
                     c->name, key);
    if (rc == 0) {
        *id = mem_strdup(words.upload_id);
        *token = mem_strdup(text);
    }
    buf_close(&reply.body);
    return rc;
}

static void put_upload_query(const char *id, unsigned number, struct buf *out)
{
    if (number)
        buf_printf(out, "partNumber=%u&", number);
    buf_append_str(out, "uploadId=");
    object_put_encoded(out, slice_str(id), false);
}

int object_upload_part(struct object_client *c,
                       const char *key,
                       const char *id,
                       unsigned number,
                       struct slice body,
                       struct object_part *out,
                       struct err *err)
{
    struct buf query = BUF_INIT;
    struct object_call call = {.method = "PUT", .key = key, .body = body};
    struct object_reply reply;
    int rc;
    PRE(number >= 1 && number <= OBJECT_PARTS_MAX);
    put_upload_query(id, number, &query);
    call.query = buf_cstr(&query);
    rc = object_call(c, &call, &reply, err);
    if (rc == 0 && reply.etag[0] == '\0')
        rc = err_set(err, ERR_CORRUPT,
                     "%s/%s: part %u: the server gave it no ETag", c->name, key,
                     number);
    if (rc == 0) {
        memcpy(out->etag, reply.etag, sizeof(out->etag));
        atomic_fetch_add(&c->written_bytes, body.len);
    }
    buf_close(&reply.body);
    buf_close(&query);
    return rc;
}

/* ETags come from the server, and may be of any bytes. */
static void put_xml(struct buf *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '<' || *text == '>' || *text == '&' || *text == '"')
            buf_printf(out, "&#%d;", *text);
        else
            buf_append_byte(out, *text);
    }
}

static void
put_parts(const struct object_part *parts, unsigned count, struct buf *out)
{
    buf_append_str(out, "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws."
                        "com/doc/2006-03-01/\">");
    for (unsigned i = 0; i < count; i++) {
        PRE(parts[i].etag[0]);
        buf_printf(out, "<Part><PartNumber>%u</PartNumber><ETag>", i + 1);
        put_xml(out, parts[i].etag);
        buf_append_str(out, "</ETag></Part>");
    }
    buf_append_str(out, "</CompleteMultipartUpload>");
}

int object_upload_complete(struct object_client *c,
                           const char *key,
                           const char *id,
                           const char *token,
                           const struct object_part *parts,
                           unsigned count,
                           bool exclusive,
                           struct err *err)
{
    struct buf query = BUF_INIT;
    struct buf body = BUF_INIT;
    struct object_call call = {
        .method = "POST", .key = key, .exclusive = exclusive};
    struct object_reply reply;
    int rc;
    put_upload_query(id, 0, &query);
    put_parts(parts, count, &body);
    call.query = buf_cstr(&query);
    call.body = buf_slice(&body);
    if (exclusive)
        call.headers[call.header_count++] =
            (struct sigv4_header){"if-none-match", "*"};
    rc = object_call(c, &call, &reply, err);
    /* Completed by a try whose answer was lost, the upload is not there any
     * more, and its object is. */
    if ((rc == ERR_NOTFOUND || rc == ERR_EXISTS) && is_ours(c, key, token))
        rc = 0;
    buf_close(&reply.body);
    buf_close(&query);
    buf_close(&body);
    return rc;
}

void object_upload_abort(struct object_client *c,
                         const char *key,
                         const char *id)
{
    struct buf query = BUF_INIT;
    struct object_call call = {.method = "DELETE", .key = key};
    struct object_reply reply;
    put_upload_query(id, 0, &query);
    call.query = buf_cstr(&query);
    (void)!object_call(c, &call, &reply, NULL);
    buf_close(&reply.body);
    buf_close(&query);
}
