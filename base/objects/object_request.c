/* Requests by libcurl's easy interface. Its callbacks put what comes into an
 * object_reply; everything that waits is in curl_easy_perform().
 */
#include "base/objects/object_request.h"

#include <string.h>

#include "base/core/panic.h"
#include "base/core/text.h"

#ifdef QUARRY_HAVE_S3

#include "base/objects/curl_calls.h"

#define CONNECT_SECONDS 10
/* A transfer slower than a byte a second for this long is given up. */
#define STALL_SECONDS      30
#define BUFFER_BYTES       (512L << 10)
#define REDIRECTS_MAX      5
#define LOCATION_BYTES_MAX ((size_t)16384)
#define RETRY_US_MAX       UINT64_C(60000000)

struct object_connection {
    struct curl_calls curl;
    CURL *easy;
    char error[CURL_ERROR_SIZE];
};

int object_connection_open(struct object_connection **out, struct err *err)
{
    struct object_connection *c = mem_zalloc(1, sizeof(*c));
    int rc = curl_calls_load(&c->curl, err);
    *out = NULL;
    if (rc == 0) {
        c->easy = c->curl.curl_easy_init();
        if (!c->easy)
            rc = err_set(err, ERR_UNSUPPORTED, "libcurl does not start");
    }
    if (rc)
        mem_free(c);
    else
        *out = c;
    return rc;
}

void object_connection_close(struct object_connection *c)
{
    if (!c)
        return;
    c->curl.curl_easy_cleanup(c->easy);
    mem_free(c);
}

/* --- answers ------------------------------------------------------------- */

static size_t take_bytes(char *data, size_t size, size_t count, void *ctx)
{
    struct object_reply *reply = ctx;
    const struct object_request *r = reply->request;
    size_t len = size * count;
    bool wanted = reply->status == 200 || reply->status == 206;
    if (r->dst && wanted) {
        reply->overflow = len > r->dst_bytes - reply->got;
        if (reply->overflow)
            return 0;
        memcpy((char *)r->dst + reply->got, data, len);
        reply->got += len;
        return len;
    }
    reply->overflow = len > r->body_max - reply->body.len;
    if (reply->overflow)
        return 0;
    buf_append(&reply->body, data, len);
    return len;
}

static void copy_header(struct slice value, char *to, size_t room)
{
    if (value.len >= room)
        return;
    memcpy(to, value.data, value.len);
    to[value.len] = '\0';
}

static uint64_t number_of_header(struct slice value)
{
    uint64_t n = UINT64_MAX;
    return text_parse_u64(value, &n, NULL) ? UINT64_MAX : n;
}

static bool name_is(struct slice name, const char *want)
{
    if (name.len != strlen(want))
        return false;
    for (size_t i = 0; i < name.len; i++) {
        char c = name.data[i];
        if ((c >= 'A' && c <= 'Z' ? c + 32 : c) != want[i])
            return false;
    }
    return true;
}

struct header_taker {
    struct object_connection *connection;
    struct object_reply *reply;
};

static uint64_t time_of_header(const struct header_taker *t, struct slice value)
{
    char text[64] = "";
    long long s;
    copy_header(value, text, sizeof(text));
    s = t->connection->curl.curl_getdate(text, NULL);
    return s > 0 ? (uint64_t)s * 1000000 : 0;
}

static void take_location(const struct object_request *r, struct slice value)
{
    if (!r->location || value.len > LOCATION_BYTES_MAX)
        return;
    buf_clear(r->location);
    buf_append_slice(r->location, value);
}

/* "bytes BEGIN-END/WHOLE" */
static void take_range(struct object_reply *r, struct slice value)
{
    size_t blank = slice_find_byte(value, ' ');
    size_t dash = slice_find_byte(value, '-');
    size_t slash = slice_find_byte(value, '/');
    r->whole_bytes = number_of_header(slice_sub(value, slash + 1, value.len));
    if (blank < dash)
        r->range_begin = number_of_header(slice_sub(value, blank + 1, dash));
}

static void
take_value(const struct header_taker *t, struct slice name, struct slice value)
{
    struct object_reply *r = t->reply;
    if (name_is(name, "etag"))
        copy_header(value, r->etag, sizeof(r->etag));
    else if (name_is(name, "x-amz-request-id"))
        copy_header(value, r->request_id, sizeof(r->request_id));
    else if (name_is(name, "x-amz-bucket-region"))
        copy_header(value, r->region, sizeof(r->region));
    else if (name_is(name, "x-amz-meta-quarry-put"))
        copy_header(value, r->token, sizeof(r->token));
    else if (name_is(name, "location"))
        take_location(r->request, value);
    else if (name_is(name, "content-length"))
        r->content_bytes = number_of_header(value);
    else if (name_is(name, "content-range"))
        take_range(r, value);
    else if (name_is(name, "last-modified"))
        r->modified_us = time_of_header(t, value);
    else if (name_is(name, "date"))
        r->date_us = time_of_header(t, value);
    else if (name_is(name, "retry-after")) {
        uint64_t s = number_of_header(value);
        r->retry_us = s == UINT64_MAX ? 0 : MIN_OF(s * 1000000, RETRY_US_MAX);
    }
}

/* Each answer of several (redirections, 100) begins with its own status. */
static size_t take_header(char *data, size_t size, size_t count, void *ctx)
{
    const struct header_taker *t = ctx;
    struct slice line = slice_trim(slice_make(data, size * count));
    size_t colon = slice_find_byte(line, ':');
    if (slice_starts_with(line, SLICE_LIT("HTTP/"))) {
        struct slice status =
            slice_sub(line, slice_find_byte(line, ' ') + 1, line.len);
        uint64_t n = 0;
        (void)!text_parse_u64(slice_sub(status, 0, 3), &n, NULL);
        t->reply->status = (long)n;
        t->reply->content_bytes = t->reply->whole_bytes = UINT64_MAX;
        t->reply->range_begin = UINT64_MAX;
        t->reply->headers_ended = false;
    } else if (line.len == 0) {
        t->reply->headers_ended = true;
    } else if (colon < line.len) {
        take_value(t, slice_trim(slice_sub(line, 0, colon)),
                   slice_trim(slice_sub(line, colon + 1, line.len)));
    }
    return size * count;
}

static int
look_around(void *ctx, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    const atomic_bool *stop = ctx;
    (void)a;
    (void)b;
    (void)c;
    (void)d;
    return stop && atomic_load(stop);
}

/* --- requests ------------------------------------------------------------ */

static void set_long(struct object_connection *c, CURLoption option, long value)
{
    (void)c->curl.curl_easy_setopt(c->easy, option, value);
}

static void
set_pointer(struct object_connection *c, CURLoption option, const void *value)
{
    (void)c->curl.curl_easy_setopt(c->easy, option, value);
}

static void set_method(struct object_connection *c,
                       const struct object_request *r)
{
    bool sends =
        strcmp(r->method, "PUT") == 0 || strcmp(r->method, "POST") == 0;
    if (strcmp(r->method, "HEAD") == 0) {
        set_long(c, CURLOPT_NOBODY, 1);
        return;
    }
    set_pointer(c, CURLOPT_CUSTOMREQUEST, r->method);
    if (sends) {
        (void)c->curl.curl_easy_setopt(c->easy, CURLOPT_POSTFIELDSIZE_LARGE,
                                       (curl_off_t)r->body.len);
        set_pointer(c, CURLOPT_POSTFIELDS, r->body.len ? r->body.data : "");
    }
}

static void set_bounds(struct object_connection *c)
{
    set_long(c, CURLOPT_NOSIGNAL, 1);
    set_long(c, CURLOPT_NOPROGRESS, 0);
    set_long(c, CURLOPT_CONNECTTIMEOUT, CONNECT_SECONDS);
    set_long(c, CURLOPT_LOW_SPEED_LIMIT, 1);
    set_long(c, CURLOPT_LOW_SPEED_TIME, STALL_SECONDS);
    set_long(c, CURLOPT_BUFFERSIZE, BUFFER_BYTES);
    set_long(c, CURLOPT_UPLOAD_BUFFERSIZE, BUFFER_BYTES);
    set_long(c, CURLOPT_TCP_KEEPALIVE, 1);
    set_long(c, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
    set_long(c, CURLOPT_MAXREDIRS, REDIRECTS_MAX);
    set_pointer(c, CURLOPT_PROTOCOLS_STR, "http,https");
    set_pointer(c, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
}

static struct curl_slist *header_list(struct object_connection *c,
                                      const struct object_request *r)
{
    struct curl_slist *list = NULL;
    size_t at = 0;
    /* Not to be asked whether a body may follow, and no type of curl's. */
    list = c->curl.curl_slist_append(list, "Expect:");
    list = c->curl.curl_slist_append(list, "Content-Type:");
    while (r->headers && at < r->headers->len) {
        list = c->curl.curl_slist_append(list, r->headers->data + at);
        at += strlen(r->headers->data + at) + 1;
    }
    return list;
}

static int object_request_failure(struct object_connection *c,
                                  CURLcode code,
                                  const struct object_reply *reply,
                                  struct err *err)
{
    const char *why = c->error[0] ? c->error : c->curl.curl_easy_strerror(code);
    switch ((int)code) {
    case CURLE_ABORTED_BY_CALLBACK:
        return err_set(err, ERR_CANCELLED, "the request was given up");
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
        err_set(err, ERR_DENIED, "%s", why);
        err_hint(err, "AWS_CA_BUNDLE (of HDFS: QUARRY_HDFS_CA_BUNDLE) names a "
                      "file of authorities to trust");
        return ERR_DENIED;
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
        return err_set(err, ERR_INVALID, "%s", why);
    case CURLE_WRITE_ERROR:
        if (reply->overflow)
            return err_set(err, ERR_CORRUPT,
                           "the server sends more than was asked for");
        break;
    default: break;
    }
    return err_set(err, ERR_UNAVAILABLE, "%s", why);
}

int object_connection_send(struct object_connection *c,
                           const struct object_request *r,
                           struct object_reply *reply,
                           struct err *err)
{
    struct header_taker taker = {c, reply};
    struct curl_slist *headers;
    CURLcode code;
    *reply = (struct object_reply){.content_bytes = UINT64_MAX,
                                   .whole_bytes = UINT64_MAX,
                                   .range_begin = UINT64_MAX,
                                   .request = r};
    c->curl.curl_easy_reset(c->easy); /* Keeps the connection. */
    c->error[0] = '\0';
    headers = header_list(c, r);
    set_bounds(c);
    set_pointer(c, CURLOPT_URL, r->url);
    set_long(c, CURLOPT_PATH_AS_IS, 1);
    set_long(c, CURLOPT_FOLLOWLOCATION, r->follow);
    set_long(c, CURLOPT_FRESH_CONNECT, r->once);
    if (r->authority)
        set_pointer(c, CURLOPT_CAINFO, r->authority);
    set_pointer(c, CURLOPT_ERRORBUFFER, c->error);
    set_pointer(c, CURLOPT_HTTPHEADER, headers);
    (void)c->curl.curl_easy_setopt(c->easy, CURLOPT_WRITEFUNCTION, take_bytes);
    set_pointer(c, CURLOPT_WRITEDATA, reply);
    (void)c->curl.curl_easy_setopt(c->easy, CURLOPT_HEADERFUNCTION,
                                   take_header);
    set_pointer(c, CURLOPT_HEADERDATA, &taker);
    (void)c->curl.curl_easy_setopt(c->easy, CURLOPT_XFERINFOFUNCTION,
                                   look_around);
    set_pointer(c, CURLOPT_XFERINFODATA, r->stop);
    set_method(c, r);
    code = c->curl.curl_easy_perform(c->easy);
    c->curl.curl_slist_free_all(headers);
    if (code)
        return object_request_failure(c, code, reply, err);
    /* libcurl takes the end of the connection for that of the headers. */
    if (!reply->headers_ended)
        return err_set(err, ERR_UNAVAILABLE,
                       "the answer ended within its headers");
    return 0;
}

#else

int object_connection_open(struct object_connection **out, struct err *err)
{
    *out = NULL;
    err_set(err, ERR_UNSUPPORTED,
            "s3:// and http(s)://: this program was built without libcurl or "
            "expat");
    err_hint(err, "install libcurl4-openssl-dev and libexpat1-dev (scripts/"
                  "deps) and build it again");
    return ERR_UNSUPPORTED;
}

void object_connection_close(struct object_connection *c)
{
    (void)c;
}

int object_connection_send(struct object_connection *c,
                           const struct object_request *r,
                           struct object_reply *reply,
                           struct err *err)
{
    (void)c;
    *reply = (struct object_reply){.request = r};
    return err_set(err, ERR_UNSUPPORTED, "built without libcurl");
}

#endif
