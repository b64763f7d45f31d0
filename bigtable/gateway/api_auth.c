/* Authenticating callers: the file of tokens, and which proof counts when there
 * are several. Tokens are compared by their hashes, found by halving.
 */
#include "bigtable/gateway/api_auth.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "bigtable/gateway/api_jwt.h"

#define FILE_BYTES_MAX ((size_t)4 << 20)

struct token {
    unsigned char hash[API_TOKEN_HASH_BYTES];
    char principal[API_PRINCIPAL_BYTES];
};

struct tokens {
    struct token *items; /* Owned. INV-1 */
    size_t count;
    size_t cap;
};

struct api_auth {
    struct world *world; /* Borrowed. */
    char *path;          /* Of tokens; NULL: none. Owned, as all below. */
    struct tokens tokens;
    struct buf jwt_key; /* Empty: none. */
    char *jwt_issuer;
    char *jwt_audience;
};

/* --- names and hashes ---------------------------------------------------- */

bool api_principal_is_valid(struct slice name)
{
    for (size_t i = 0; i < name.len; i++) {
        unsigned char c = (unsigned char)name.data[i];
        if (c <= ' ' || c == 0x7f || c == ',')
            return false;
    }
    return name.len > 0 && name.len < API_PRINCIPAL_BYTES;
}

void api_token_hash(struct slice token, unsigned char out[API_TOKEN_HASH_BYTES])
{
    unsigned len = API_TOKEN_HASH_BYTES;
    int ok = EVP_Digest(token.data, token.len, out, &len, EVP_sha256(), NULL);
    INVARIANT(ok == 1 && len == API_TOKEN_HASH_BYTES);
}

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return -1;
}

static bool parse_hash(struct slice text,
                       unsigned char out[API_TOKEN_HASH_BYTES])
{
    if (text.len != (size_t)API_TOKEN_HASH_BYTES * 2)
        return false;
    for (size_t i = 0; i < API_TOKEN_HASH_BYTES; i++) {
        int high = digit_of(text.data[2 * i]);
        int low = digit_of(text.data[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        out[i] = (unsigned char)(high << 4 | low);
    }
    return true;
}

static int api_auth_compare(const void *a, const void *b)
{
    return memcmp(a, b, API_TOKEN_HASH_BYTES);
}

/* --- the file of tokens -------------------------------------------------- */

static void add_token(struct tokens *t, const struct token *item)
{
    if (t->count == t->cap) {
        t->cap = MAX_OF(t->cap * 2, 16);
        t->items = mem_realloc(t->items, t->cap * sizeof(*t->items));
    }
    t->items[t->count++] = *item;
}

static bool parse_line(struct slice line, struct token *out)
{
    size_t at = slice_find_byte(line, ' ');
    struct slice name = slice_sub(line, 0, at);
    if (at >= line.len || !api_principal_is_valid(name))
        return false;
    memcpy(out->principal, name.data, name.len);
    out->principal[name.len] = '\0';
    return parse_hash(slice_trim(slice_sub(line, at, line.len)), out->hash);
}

static int parse_tokens(struct slice text,
                        const char *path,
                        struct tokens *out,
                        struct err *err)
{
    for (unsigned number = 1; text.len; number++) {
        size_t at = slice_find_byte(text, '\n');
        struct slice line = slice_trim(slice_sub(text, 0, at));
        struct token item;
        text = slice_sub(text, MIN_OF(at + 1, text.len), text.len);
        if (line.len == 0 || line.data[0] == '#')
            continue;
        if (!parse_line(line, &item))
            return err_set(err, ERR_INVALID,
                           "%s:%u: not \"PRINCIPAL SHA256\", the second 64 "
                           "hexadecimal digits",
                           path, number);
        add_token(out, &item);
    }
    if (out->count)
        qsort(out->items, out->count, sizeof(*out->items), api_auth_compare);
    return 0;
}

static int
read_file(struct world *w, const char *path, struct buf *out, struct err *err)
{
    struct file_info info;
    struct file *f;
    size_t got = 0;
    int rc = world_stat(w, path, &info, err);
    if (rc == 0 && info.size_bytes > FILE_BYTES_MAX)
        rc = err_set(err, ERR_TOOBIG, "%s: over %zu bytes", path,
                     FILE_BYTES_MAX);
    if (rc == 0)
        rc = file_open(w, path, FILE_READ, &f, err);
    if (rc)
        return rc;
    rc = file_read_at(f, 0, buf_reserve(out, FILE_BYTES_MAX), FILE_BYTES_MAX,
                      &got, err);
    if (rc == 0)
        out->len = got;
    file_close(f);
    return rc;
}

int api_auth_reload(struct api_auth *a, struct err *err)
{
    struct tokens fresh = {.items = NULL};
    struct buf text = BUF_INIT;
    int rc = 0;
    if (!a->path)
        return 0;
    rc = world_check_secret(a->world, a->path, err);
    if (rc == 0)
        rc = read_file(a->world, a->path, &text, err);
    if (rc == 0)
        rc = parse_tokens(buf_slice(&text), a->path, &fresh, err);
    buf_close(&text);
    if (rc) {
        mem_free(fresh.items);
        return rc;
    }
    mem_free(a->tokens.items);
    a->tokens = fresh;
    return 0;
}

/* --- life ---------------------------------------------------------------- */

static int read_key(struct api_auth *a, const char *path, struct err *err)
{
    int rc = read_file(a->world, path, &a->jwt_key, err);
    buf_append_byte(&a->jwt_key, '\0');
    a->jwt_key.len--;
    if (rc == 0)
        rc = api_jwt_check_key(buf_slice(&a->jwt_key), err);
    if (rc)
        err_wrap(err, "%s", path);
    return rc;
}

int api_auth_open(struct world *w,
                  const struct api_auth_options *opts,
                  struct api_auth **out,
                  struct err *err)
{
    struct api_auth *a = mem_zalloc(1, sizeof(*a));
    int rc;
    a->world = w;
    a->path = opts->tokens ? mem_strdup(opts->tokens) : NULL;
    a->jwt_issuer = opts->jwt_issuer ? mem_strdup(opts->jwt_issuer) : NULL;
    a->jwt_audience =
        opts->jwt_audience ? mem_strdup(opts->jwt_audience) : NULL;
    rc = api_auth_reload(a, err);
    if (rc == 0 && opts->jwt_key)
        rc = read_key(a, opts->jwt_key, err);
    if (rc) {
        api_auth_close(a);
        a = NULL;
    }
    *out = a;
    return rc;
}

void api_auth_close(struct api_auth *a)
{
    if (!a)
        return;
    mem_free(a->tokens.items);
    buf_close(&a->jwt_key);
    mem_free(a->path);
    mem_free(a->jwt_issuer);
    mem_free(a->jwt_audience);
    mem_free(a);
}

/* --- calls --------------------------------------------------------------- */

static int check_token(const struct api_auth *a,
                       struct slice token,
                       char principal[API_PRINCIPAL_BYTES],
                       struct err *err)
{
    struct api_jwt_rules rules = {.key = buf_slice(&a->jwt_key),
                                  .issuer = a->jwt_issuer,
                                  .audience = a->jwt_audience,
                                  .now_s = world_now_us(a->world) / 1000000};
    const struct token *found = NULL;
    struct token wanted;
    api_token_hash(token, wanted.hash);
    if (a->tokens.count)
        found = bsearch(&wanted, a->tokens.items, a->tokens.count,
                        sizeof(*a->tokens.items), api_auth_compare);
    if (found) {
        memcpy(principal, found->principal, sizeof(found->principal));
        return 0;
    }
    if (rules.key.len)
        return api_jwt_check(&rules, token, principal, err);
    return err_set(err, ERR_DENIED, "the token: not one that is known");
}

int api_auth_check(const struct api_auth *a,
                   struct slice certificate,
                   struct slice authorization,
                   char principal[API_PRINCIPAL_BYTES],
                   struct err *err)
{
    static const char scheme[] = "Bearer ";
    size_t len = sizeof(scheme) - 1;
    if (slice_starts_with(authorization, slice_str(scheme)) ||
        slice_starts_with(authorization, SLICE_LIT("bearer ")))
        return check_token(a, slice_sub(authorization, len, authorization.len),
                           principal, err);
    if (authorization.len)
        return err_set(err, ERR_DENIED, "authorization: not a bearer token");
    if (certificate.len && api_principal_is_valid(certificate)) {
        memcpy(principal, certificate.data, certificate.len);
        principal[certificate.len] = '\0';
        return 0;
    }
    return err_set(err, ERR_DENIED,
                   "neither a certificate nor a token says who calls");
}
