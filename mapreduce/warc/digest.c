/* Digest labels, decoded and compared as bytes, since writers differ in case,
 * alphabet and punctuation. OpenSSL computes the digests. */
#include "mapreduce/warc/digest.h"

#include <openssl/evp.h>
#include <stdio.h>

#include "base/core/hex.h"
#include "base/core/panic.h"

struct digest_stream {
    enum digest_kind kind;
    EVP_MD_CTX *state;
};

static const struct {
    const char *name; /* Without the dash that some write. */
    enum digest_kind kind;
    size_t bytes;
} kinds[] = {
    {"md5", DIGEST_MD5, 16},
    {"sha1", DIGEST_SHA1, 20},
    {"sha256", DIGEST_SHA256, 32},
    {"sha512", DIGEST_SHA512, 64},
};

static const EVP_MD *digest_algorithm(enum digest_kind kind)
{
    switch (kind) {
    case DIGEST_MD5: return EVP_md5();
    case DIGEST_SHA1: return EVP_sha1();
    case DIGEST_SHA256: return EVP_sha256();
    case DIGEST_SHA512: return EVP_sha512();
    case DIGEST_NONE: break;
    }
    return NULL;
}

static int base32_value(char c)
{
    if (c >= '2' && c <= '7')
        return c - '2' + 26;
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'z' ? c - 'a' : -1;
}

static bool from_base32(struct slice s, struct digest *d)
{
    unsigned bits = 0;
    unsigned have = 0;
    size_t n = 0;
    for (size_t i = 0; i < s.len; i++) {
        int v = base32_value(s.data[i]);
        if (v < 0)
            return false;
        bits = (bits << 5 | (unsigned)v) & 0xffff;
        have += 5;
        if (have >= 8) {
            have -= 8;
            if (n < d->len)
                d->bytes[n++] = (unsigned char)(bits >> have);
        }
    }
    return n == d->len;
}

/* The algorithm named before ':' or '='; the rest stays in *@s. */
static bool take_name(struct slice *s, struct digest *d)
{
    size_t n = 0;
    while (n < s->len && s->data[n] != ':' && s->data[n] != '=')
        n++;
    if (n == s->len)
        return false;
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
        const char *name = kinds[k].name;
        size_t i = 0;
        for (; i < n; i++) {
            if (s->data[i] == '-' || s->data[i] == '_')
                continue;
            if (*name == '\0' || (s->data[i] | 0x20) != (*name | 0x20))
                break;
            name++;
        }
        if (i == n && *name == '\0') {
            d->kind = kinds[k].kind;
            d->len = kinds[k].bytes;
            *s = slice_sub(*s, n + 1, s->len);
            return true;
        }
    }
    return false;
}

bool digest_parse(struct slice label, struct digest *d)
{
    struct slice s = slice_trim(label);
    d->kind = DIGEST_NONE;
    d->len = 0;
    if (!take_name(&s, d)) {
        if (s.len != 32 && s.len != 40)
            return false;
        d->kind = DIGEST_SHA1;
        d->len = 20;
    }
    while (s.len && s.data[s.len - 1] == '=')
        s = slice_sub(s, 0, s.len - 1);
    if (s.len == d->len * 2)
        return hex_decode(s.data, d->len, d->bytes);
    return s.len == (d->len * 8 + 4) / 5 && from_base32(s, d);
}

void digest_of(enum digest_kind kind, struct slice data, struct digest *d)
{
    unsigned n = 0;
    const EVP_MD *md = digest_algorithm(kind);
    PRE(md);
    d->kind = kind;
    INVARIANT(EVP_Digest(data.data ? data.data : "", data.len, d->bytes, &n, md,
                         NULL) == 1);
    d->len = n;
}

struct digest_stream *digest_stream_new(enum digest_kind kind)
{
    struct digest_stream *s = mem_zalloc(1, sizeof(*s));
    PRE(digest_algorithm(kind) != NULL);
    s->kind = kind;
    s->state = EVP_MD_CTX_new();
    INVARIANT(s->state != NULL);
    INVARIANT(EVP_DigestInit_ex(s->state, digest_algorithm(kind), NULL) == 1);
    return s;
}

void digest_stream_add(struct digest_stream *s, struct slice data)
{
    INVARIANT(
        EVP_DigestUpdate(s->state, data.data ? data.data : "", data.len) == 1);
}

void digest_stream_end(struct digest_stream *s, struct digest *d)
{
    unsigned n = 0;
    if (d) {
        d->kind = s->kind;
        INVARIANT(EVP_DigestFinal_ex(s->state, d->bytes, &n) == 1);
        d->len = n;
    }
    EVP_MD_CTX_free(s->state);
    mem_free(s);
}

size_t digest_format_hex(const struct digest *d, char out[DIGEST_TEXT_MAX])
{
    size_t n = 0;
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++)
        if (kinds[k].kind == d->kind)
            n = (size_t)snprintf(out, DIGEST_TEXT_MAX, "%s:", kinds[k].name);
    for (size_t i = 0; i < d->len; i++)
        n +=
            (size_t)snprintf(out + n, DIGEST_TEXT_MAX - n, "%02x", d->bytes[i]);
    return n;
}

bool digest_eq(const struct digest *a, const struct digest *b)
{
    return a->kind == b->kind && a->len == b->len &&
           memcmp(a->bytes, b->bytes, a->len) == 0;
}

enum digest_answer digest_check(struct slice label, struct slice data)
{
    struct digest want;
    struct digest is;
    if (!digest_parse(label, &want))
        return DIGEST_UNKNOWN;
    digest_of(want.kind, data, &is);
    return digest_eq(&want, &is) ? DIGEST_SAME : DIGEST_DIFFERENT;
}

size_t digest_format(const struct digest *d, char out[DIGEST_TEXT_MAX])
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    size_t n = 0;
    unsigned bits = 0;
    unsigned have = 0;
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++)
        if (kinds[k].kind == d->kind)
            n = (size_t)snprintf(out, DIGEST_TEXT_MAX, "%s:", kinds[k].name);
    for (size_t i = 0; i < d->len; i++) {
        bits = (bits << 8 | d->bytes[i]) & 0xffff;
        have += 8;
        while (have >= 5) {
            have -= 5;
            out[n++] = digits[bits >> have & 31];
        }
    }
    if (have)
        out[n++] = digits[bits << (5 - have) & 31];
    out[n] = '\0';
    return n;
}
