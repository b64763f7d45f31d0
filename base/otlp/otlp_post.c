/* libcurl, loaded at run time: linked, it would double the time in which every
 * command starts. */
#include "base/otlp/otlp_post.h"

#include <string.h>

#include "base/core/panic.h"
#include "base/otlp/otlp_settings.h"

#ifdef QUARRY_HAVE_LIBCURL

#include <curl/curl.h>
#include <dlfcn.h>
/* Macros that check types, around the functions. */
#undef curl_easy_setopt
#undef curl_easy_getinfo

#define LIBCURL "libcurl.so.4"

/* Everything that is used of it. */
#define CURL_FUNCTIONS(F)                                                      \
    F(curl_global_init)                                                        \
    F(curl_easy_init)                                                          \
    F(curl_easy_setopt)                                                        \
    F(curl_easy_getinfo)                                                       \
    F(curl_easy_perform)                                                       \
    F(curl_easy_strerror)                                                      \
    F(curl_easy_cleanup)                                                       \
    F(curl_slist_append)                                                       \
    F(curl_slist_free_all)

#define CURL_FIELD(name) __typeof__(name) *name;

struct curl_library {
    CURL_FUNCTIONS(CURL_FIELD)
};

struct otlp_post {
    struct curl_library curl;
    void
        *handle; /* Of dlopen(); never closed, as libcurl's threads may live. */
    CURL *easy;
    struct curl_slist *headers;
    struct otlp_answer *answer; /* While a request is under way. */
    bool (*stop)(void *ctx);
    void *ctx;
    char error[CURL_ERROR_SIZE];
};

/* --- loading ------------------------------------------------------------- */

static bool load_function(void *handle, const char *name, void *to)
{
    void *at = dlsym(handle, name);
    memcpy(to, &at, sizeof(at));
    return at != NULL;
}

static int load_library(struct otlp_post *p, struct err *err)
{
    bool all = true;
    p->handle = dlopen(LIBCURL, RTLD_NOW | RTLD_LOCAL);
    if (!p->handle)
        return err_set(err, ERR_UNSUPPORTED,
                       "spans cannot be exported: %s (install libcurl4)",
                       dlerror());
#define CURL_LOAD(name) all &= load_function(p->handle, #name, &p->curl.name);
    CURL_FUNCTIONS(CURL_LOAD)
    if (!all || p->curl.curl_global_init(CURL_GLOBAL_DEFAULT))
        return err_set(err, ERR_UNSUPPORTED,
                       "spans cannot be exported: " LIBCURL
                       " is not the library that is expected");
    return 0;
}

/* --- answers ------------------------------------------------------------- */

static size_t take_body(char *data, size_t size, size_t count, void *ctx)
{
    struct otlp_post *p = ctx;
    struct buf *to = &p->answer->body;
    size_t room = OTLP_ANSWER_BYTES_MAX - to->len;
    buf_append(to, data, MIN_OF(size * count, room));
    return size * count;
}

static int
look_around(void *ctx, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    struct otlp_post *p = ctx;
    (void)a;
    (void)b;
    (void)c;
    (void)d;
    return p->stop(p->ctx);
}

/* --- requests ------------------------------------------------------------ */

static void add_header(struct otlp_post *p, const char *name, const char *value)
{
    struct buf line = BUF_INIT;
    buf_printf(&line, "%s: %s", name, value);
    p->headers = p->curl.curl_slist_append(p->headers, buf_cstr(&line));
    buf_close(&line);
}

static void add_headers(struct otlp_post *p, const struct otlp_settings *s)
{
    add_header(p, "Content-Type", "application/x-protobuf");
    if (s->gzip)
        add_header(p, "Content-Encoding", "gzip");
    /* Not to be asked whether a body may follow. */
    p->headers = p->curl.curl_slist_append(p->headers, "Expect:");
    for (size_t i = 0; i < s->header_count; i++)
        add_header(p, s->headers[i].name, s->headers[i].value);
}

static void set_text(struct otlp_post *p, CURLoption option, const char *text)
{
    if (text)
        (void)p->curl.curl_easy_setopt(p->easy, option, text);
}

static void set_number(struct otlp_post *p, CURLoption option, long number)
{
    (void)p->curl.curl_easy_setopt(p->easy, option, number);
}

static void set_options(struct otlp_post *p, const struct otlp_settings *s)
{
    set_text(p, CURLOPT_URL, s->url);
    set_text(p, CURLOPT_PROTOCOLS_STR, "http,https");
    set_text(p, CURLOPT_USERAGENT, "OTel-OTLP-Exporter-quarry/" QUARRY_VERSION);
    set_text(p, CURLOPT_CAINFO, s->authority);
    set_text(p, CURLOPT_SSLCERT, s->certificate);
    set_text(p, CURLOPT_SSLKEY, s->certificate_key);
    set_text(p, CURLOPT_ERRORBUFFER, p->error);
    set_number(p, CURLOPT_NOSIGNAL, 1);
    set_number(p, CURLOPT_POST, 1);
    set_number(p, CURLOPT_NOPROGRESS, 0);
    (void)p->curl.curl_easy_setopt(p->easy, CURLOPT_HTTPHEADER, p->headers);
    (void)p->curl.curl_easy_setopt(p->easy, CURLOPT_WRITEFUNCTION, take_body);
    (void)p->curl.curl_easy_setopt(p->easy, CURLOPT_WRITEDATA, p);
    (void)p->curl.curl_easy_setopt(p->easy, CURLOPT_XFERINFOFUNCTION,
                                   look_around);
    (void)p->curl.curl_easy_setopt(p->easy, CURLOPT_XFERINFODATA, p);
}

int otlp_post_open(const struct otlp_settings *s,
                   struct otlp_post **out,
                   struct err *err)
{
    struct otlp_post *p = mem_zalloc(1, sizeof(*p));
    int rc = load_library(p, err);
    *out = NULL;
    if (rc == 0) {
        p->easy = p->curl.curl_easy_init();
        if (!p->easy)
            rc = err_set(err, ERR_UNSUPPORTED,
                         "spans cannot be exported: libcurl does not start");
    }
    if (rc) {
        mem_free(p);
        return rc;
    }
    add_headers(p, s);
    set_options(p, s);
    *out = p;
    return 0;
}

void otlp_post_close(struct otlp_post *p)
{
    if (!p)
        return;
    p->curl.curl_easy_cleanup(p->easy);
    p->curl.curl_slist_free_all(p->headers);
    mem_free(p);
}

int otlp_post_send(struct otlp_post *p,
                   struct slice body,
                   uint64_t timeout_us,
                   bool (*stop)(void *ctx),
                   void *ctx,
                   struct otlp_answer *out,
                   struct err *err)
{
    curl_off_t retry_after_s = 0;
    CURLcode code;
    p->answer = out;
    p->stop = stop;
    p->ctx = ctx;
    p->error[0] = '\0';
    buf_clear(&out->body);
    set_number(p, CURLOPT_TIMEOUT_MS, (long)MAX_OF(timeout_us / 1000, 1));
    set_number(p, CURLOPT_POSTFIELDSIZE, (long)body.len);
    set_text(p, CURLOPT_POSTFIELDS, body.data);
    code = p->curl.curl_easy_perform(p->easy);
    if (code)
        return err_set(err, ERR_UNAVAILABLE, "%s",
                       p->error[0] ? p->error
                                   : p->curl.curl_easy_strerror(code));
    (void)p->curl.curl_easy_getinfo(p->easy, CURLINFO_RESPONSE_CODE,
                                    &out->status);
    (void)p->curl.curl_easy_getinfo(p->easy, CURLINFO_RETRY_AFTER,
                                    &retry_after_s);
    out->retry_after_us = retry_after_s > 0
                              ? (uint64_t)MIN_OF(retry_after_s, 86400) * 1000000
                              : 0;
    return 0;
}

#else

int otlp_post_open(const struct otlp_settings *s,
                   struct otlp_post **out,
                   struct err *err)
{
    (void)s;
    *out = NULL;
    return err_set(err, ERR_UNSUPPORTED,
                   "spans cannot be exported: this program was built without "
                   "libcurl (install libcurl4-openssl-dev and build it again)");
}

void otlp_post_close(struct otlp_post *p)
{
    (void)p;
}

int otlp_post_send(struct otlp_post *p,
                   struct slice body,
                   uint64_t timeout_us,
                   bool (*stop)(void *ctx),
                   void *ctx,
                   struct otlp_answer *out,
                   struct err *err)
{
    (void)p;
    (void)body;
    (void)timeout_us;
    (void)stop;
    (void)ctx;
    (void)out;
    return err_set(err, ERR_UNSUPPORTED, "built without libcurl");
}

#endif
