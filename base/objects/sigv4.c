/* Signing as "Signature Calculations for the Authorization Header" in the
 * reference of S3 has it: a canonical request, its hash in a text to sign, and
 * a key derived from the secret for the day, the region and the service.
 */
#include "base/objects/sigv4.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/core/text.h"

#define SERVICE "s3"
#define DAY_LEN 8

static void put_hex(const unsigned char *bytes, char *out)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < SIGV4_HASH_BYTES; i++) {
        *out++ = digits[bytes[i] >> 4];
        *out++ = digits[bytes[i] & 15];
    }
    *out = '\0';
}

void sigv4_hash(struct slice body, char out[SIGV4_HASH_TEXT])
{
    unsigned char hash[EVP_MAX_MD_SIZE];
    unsigned len = 0;
    int ok = EVP_Digest(body.data ? body.data : "", body.len, hash, &len,
                        EVP_sha256(), NULL);
    INVARIANT(ok == 1);
    INVARIANT(len == SIGV4_HASH_BYTES);
    put_hex(hash, out);
}

void sigv4_time(uint64_t now_us, char out[SIGV4_TIME_TEXT])
{
    uint64_t seconds = now_us / 1000000;
    unsigned of_day = (unsigned)(seconds % 86400);
    int64_t year;
    unsigned month;
    unsigned day;
    text_date_from_days((int64_t)(seconds / 86400), &year, &month, &day);
    snprintf(out, SIGV4_TIME_TEXT, "%04u%02u%02uT%02u%02u%02uZ",
             (unsigned)year % 10000u, month % 100u, day % 100u,
             of_day / 3600 % 24u, of_day / 60 % 60u, of_day % 60u);
}

static void
sigv4_hmac(const void *key, size_t key_len, struct slice text, void *out)
{
    unsigned len = 0;
    const void *done =
        HMAC(EVP_sha256(), key, (int)key_len, (const unsigned char *)text.data,
             text.len, out, &len);
    INVARIANT(done);
    INVARIANT(len == SIGV4_HASH_BYTES);
}

/* The key of one day, region and service, into @out. */
static void derive_key(const struct sigv4_request *r, unsigned char *out)
{
    struct buf first = BUF_INIT;
    unsigned char next[SIGV4_HASH_BYTES];
    buf_printf(&first, "AWS4%s", r->secret_key);
    sigv4_hmac(first.data, first.len, slice_make(r->time, DAY_LEN), out);
    sigv4_hmac(out, SIGV4_HASH_BYTES, slice_str(r->region), next);
    sigv4_hmac(next, SIGV4_HASH_BYTES, SLICE_LIT(SERVICE), out);
    sigv4_hmac(out, SIGV4_HASH_BYTES, SLICE_LIT("aws4_request"), next);
    memcpy(out, next, sizeof(next));
    OPENSSL_cleanse(next, sizeof(next));
    OPENSSL_cleanse(first.data, first.len);
    buf_close(&first);
}

static void put_names(const struct sigv4_request *r, struct buf *out)
{
    for (size_t i = 0; i < r->header_count; i++)
        buf_printf(out, "%s%s", i ? ";" : "", r->headers[i].name);
}

static void put_canonical(const struct sigv4_request *r, struct buf *out)
{
    buf_printf(out, "%s\n%s\n%s\n", r->method, r->path, r->query);
    for (size_t i = 0; i < r->header_count; i++) {
        PRE(i == 0 || strcmp(r->headers[i - 1].name, r->headers[i].name) < 0);
        buf_printf(out, "%s:%s\n", r->headers[i].name, r->headers[i].value);
    }
    buf_append_byte(out, '\n');
    put_names(r, out);
    buf_printf(out, "\n%s", r->body_hash);
}

void sigv4_put(const struct sigv4_request *r, struct buf *out)
{
    struct buf canonical = BUF_INIT;
    struct buf text = BUF_INIT;
    unsigned char key[SIGV4_HASH_BYTES];
    unsigned char signature[SIGV4_HASH_BYTES];
    char hex[SIGV4_HASH_TEXT];
    PRE(strlen(r->time) == SIGV4_TIME_TEXT - 1);
    put_canonical(r, &canonical);
    sigv4_hash(buf_slice(&canonical), hex);
    buf_printf(&text,
               "AWS4-HMAC-SHA256\n%s\n%.*s/%s/" SERVICE "/aws4_request\n%s",
               r->time, DAY_LEN, r->time, r->region, hex);
    derive_key(r, key);
    sigv4_hmac(key, sizeof(key), buf_slice(&text), signature);
    put_hex(signature, hex);
    buf_printf(out,
               "AWS4-HMAC-SHA256 Credential=%s/%.*s/%s/" SERVICE
               "/aws4_request,SignedHeaders=",
               r->access_key, DAY_LEN, r->time, r->region);
    put_names(r, out);
    buf_printf(out, ",Signature=%s", hex);
    OPENSSL_cleanse(key, sizeof(key));
    buf_close(&canonical);
    buf_close(&text);
}
