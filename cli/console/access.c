/* The viewers of the console: identifying them by token or cookie, logging in
 * and out, and refusing requests that another site's page has made. */
#include "cli/console/access.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/core/panic.h"
#include "base/core/slice.h"
#include "base/http/http.h"
#include "base/runtime/world.h"
#include "cli/console/attempt_limit.h"

struct console_access {
    struct world *world; /* Borrowed. */
    char *path;          /* Of the tokens; NULL: none. Owned. */
    bool has_once;       /* `once` has not been used. */
    bool asks;           /* There are, or were, tokens. */
    bool metrics_need_token;
    bool behind_proxy;
    struct console_tokens tokens;
    struct console_token once;
    struct console_sessions sessions;
    struct attempt_limit attempts;
};

static uint64_t access_now_s(const struct console_access *a)
{
    return world_mono_ns(a->world) / 1000000000;
}

/* --- life ---------------------------------------------------------------- */

int console_access_open(struct world *w,
                        const struct console_access_options *opts,
                        struct console_access **out,
                        struct err *err)
{
    struct console_access *a = mem_zalloc(1, sizeof(*a));
    int rc = 0;
    a->world = a->sessions.world = w;
    a->metrics_need_token = opts->metrics_need_token;
    a->behind_proxy = opts->behind_proxy;
    if (opts->tokens && *opts->tokens)
        a->path = mem_strdup(opts->tokens);
    a->asks = a->path || opts->once;
    if (opts->once) {
        a->has_once = true;
        a->once = (struct console_token){.right = CONSOLE_OPERATE};
        snprintf(a->once.name, sizeof(a->once.name), "you");
        api_token_hash(slice_str(opts->once), a->once.hash);
    }
    rc = console_access_reload(a, err);
    if (rc) {
        console_access_close(a);
        a = NULL;
    }
    *out = a;
    return rc;
}

void console_access_close(struct console_access *a)
{
    if (!a)
        return;
    console_tokens_close(&a->tokens);
    mem_free(a->path);
    mem_free(a);
}

int console_access_reload(struct console_access *a, struct err *err)
{
    struct console_tokens fresh;
    int rc = 0;
    if (!a->path)
        return 0;
    rc = console_tokens_read(a->world, a->path, &fresh, err);
    if (rc)
        return rc;
    console_tokens_close(&a->tokens);
    a->tokens = fresh;
    console_sessions_keep(&a->sessions, &a->tokens);
    return 0;
}

bool console_access_has_tokens(const struct console_access *a)
{
    return a->asks;
}

bool console_access_is_open(const struct console_access *a,
                            const struct http_request *r)
{
    const char *path = http_path(r);
    return strcmp(path, "/health") == 0 || strcmp(path, "/login") == 0 ||
           strncmp(path, "/assets/", 8) == 0 ||
           (strcmp(path, "/metrics") == 0 && !a->metrics_need_token);
}

/* --- identifying --------------------------------------------------------- */

/* Cookies belong to a name, not to a port: those of other consoles there. */
static void put_cookie_name(const struct http_request *r, char out[64])
{
    const char *host = http_request_header(r, "Host");
    const char *port = host ? strrchr(host, ':') : NULL;
    char digits[6] = "";
    for (size_t i = 0;
         port && i < 5 && port[i + 1] >= '0' && port[i + 1] <= '9'; i++)
        digits[i] = port[i + 1];
    snprintf(out, 64, "quarry_session_%s", *digits ? digits : "0");
}

/* The client's address, as the proxy tells it where there is one. */
static void put_address(const struct console_access *a,
                        const struct http_request *r,
                        struct console_viewer *v)
{
    const char *told = http_request_header(r, "X-Forwarded-For");
    struct slice from = slice_str(http_peer(r));
    if (a->behind_proxy && told) {
        const char *comma = strrchr(told, ',');
        from = slice_trim(slice_str(comma ? comma + 1 : told));
    }
    from = slice_sub(from, 0, sizeof(v->address) - 1);
    memcpy(v->address, from.data, from.len);
    v->address[from.len] = '\0';
}

static void take_token(struct console_viewer *v, const struct console_token *t)
{
    memcpy(v->name, t->name, sizeof(v->name));
    v->right = t->right;
}

/* The token after "Bearer "; empty: the header is another. */
static struct slice bearer_token(const char *header)
{
    static const char scheme[] = "Bearer ";
    if (!header || strncasecmp(header, scheme, sizeof(scheme) - 1) != 0)
        return SLICE_EMPTY;
    return slice_trim(slice_str(header + sizeof(scheme) - 1));
}

/* The token's line, unless too many wrong ones came from there. */
static const struct console_token *try_token(struct console_access *a,
                                             struct console_viewer *v,
                                             struct slice token)
{
    struct slice from = slice_str(v->address);
    const struct console_token *t;
    v->wait_s = attempt_limit_wait_s(&a->attempts, from, access_now_s(a));
    if (v->wait_s)
        return NULL;
    t = console_tokens_find(&a->tokens, token);
    if (!t)
        attempt_limit_fail(&a->attempts, from, access_now_s(a));
    return t;
}

void console_access_identify(struct console_access *a,
                             const struct http_request *r,
                             struct console_viewer *out)
{
    struct slice bearer = bearer_token(http_request_header(r, "Authorization"));
    const struct console_token *t = NULL;
    char cookie[64];
    *out = (struct console_viewer){.right = CONSOLE_NONE};
    put_address(a, r, out);
    if (!a->asks) {
        out->right = CONSOLE_VIEW;
        return;
    }
    if (bearer.len) {
        t = try_token(a, out, bearer);
    } else {
        put_cookie_name(r, cookie);
        out->session = console_sessions_find(
            &a->sessions, http_cookie(http_request_header(r, "Cookie"), cookie),
            access_now_s(a));
        t = out->session ? &out->session->token : NULL;
        if (t)
            memcpy(out->form_token, out->session->form_token,
                   sizeof(out->form_token));
    }
    if (t)
        take_token(out, t);
}

/* --- forged forms -------------------------------------------------------- */

bool console_origin_is(const char *origin, const char *host)
{
    const char *at = strstr(origin, "://");
    if (!at ||
        (strncmp(origin, "http://", 7) && strncmp(origin, "https://", 8)))
        return false;
    return host && strcasecmp(at + 3, host) == 0;
}

static int refuse_origin(const char *what, struct err *err)
{
    return err_set(err, ERR_DENIED,
                   "this form did not come from a page of this console (%s): "
                   "load the page and try again",
                   what);
}

int console_access_check_origin(const struct console_viewer *v,
                                const struct http_request *r,
                                struct err *err)
{
    const char *site = http_request_header(r, "Sec-Fetch-Site");
    const char *origin = http_request_header(r, "Origin");
    const char *token = http_form_get(http_body(r), "form_token");
    if (site && strcmp(site, "same-origin") != 0)
        return refuse_origin("Sec-Fetch-Site", err);
    if (origin && !console_origin_is(origin, http_request_header(r, "Host")))
        return refuse_origin("Origin", err);
    if (v->session && (!token || strlen(token) != CONSOLE_SECRET_TEXT - 1 ||
                       !console_bytes_equal(token, v->session->form_token,
                                            CONSOLE_SECRET_TEXT - 1)))
        return refuse_origin("form_token", err);
    return 0;
}

/* --- sessions ------------------------------------------------------------ */

static void set_cookie(const struct console_access *a,
                       const struct http_request *r,
                       const char *value,
                       struct http_reply *reply)
{
    const char *proto = http_request_header(r, "X-Forwarded-Proto");
    bool secure = a->behind_proxy && proto && strcmp(proto, "https") == 0;
    char name[64];
    char header[256];
    put_cookie_name(r, name);
    snprintf(header, sizeof(header),
             "%s=%s; Path=/; HttpOnly; SameSite=Strict; Max-Age=%llu%s", name,
             value, *value ? (unsigned long long)CONSOLE_SESSION_S : 0,
             secure ? "; Secure" : "");
    http_reply_header(reply, "Set-Cookie", header);
}

/* The token that may be used once, or one of the file. */
static const struct console_token *find_login(struct console_access *a,
                                              struct console_viewer *v,
                                              struct slice token)
{
    unsigned char hash[API_TOKEN_HASH_BYTES];
    if (!a->has_once)
        return try_token(a, v, token);
    api_token_hash(token, hash);
    if (!console_bytes_equal(hash, a->once.hash, sizeof(hash)))
        return try_token(a, v, token);
    a->has_once = false;
    return &a->once;
}

int console_access_log_in(struct console_access *a,
                          const struct http_request *r,
                          struct console_viewer *v,
                          struct http_reply *reply,
                          struct err *err)
{
    const char *token = http_form_get(http_body(r), "token");
    const struct console_token *t;
    char cookie[CONSOLE_SECRET_TEXT];
    t = find_login(a, v, slice_trim(slice_str(token ? token : "")));
    if (v->wait_s)
        return err_set(err, ERR_EXHAUSTED,
                       "too many wrong tokens from this address: try again in "
                       "%llu seconds",
                       (unsigned long long)v->wait_s);
    if (!t)
        return err_set(err, ERR_DENIED, "this is not a token of the console");
    console_sessions_begin(&a->sessions, t, access_now_s(a), cookie);
    set_cookie(a, r, cookie, reply);
    take_token(v, t);
    return 0;
}

void console_access_log_out(const struct console_access *a,
                            const struct http_request *r,
                            struct console_viewer *v,
                            struct http_reply *reply)
{
    PRE(v->session);
    console_session_end(v->session);
    v->session = NULL;
    set_cookie(a, r, "", reply);
}
