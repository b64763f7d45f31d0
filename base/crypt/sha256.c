/* Digests by OpenSSL, which takes the processor's instructions for them where
 * it has some. It fails for want of memory alone, as allocations here do not.
 */
#include "base/crypt/sha256.h"

#include <openssl/evp.h>

#include "base/core/panic.h"

struct sha256 {
    EVP_MD_CTX *ctx; /* Owned. */
};

static void sha256_begin(struct sha256 *d)
{
    int ok = EVP_DigestInit_ex(d->ctx, EVP_sha256(), NULL);
    INVARIANT(ok == 1);
}

struct sha256 *sha256_new(void)
{
    struct sha256 *d = mem_zalloc(1, sizeof(*d));
    d->ctx = EVP_MD_CTX_new();
    INVARIANT(d->ctx);
    sha256_begin(d);
    return d;
}

void sha256_add(struct sha256 *d, struct slice bytes)
{
    int ok = EVP_DigestUpdate(d->ctx, bytes.len ? bytes.data : "", bytes.len);
    INVARIANT(ok == 1);
}

void sha256_end(struct sha256 *d, unsigned char out[SHA256_BYTES])
{
    unsigned len = 0;
    int ok = EVP_DigestFinal_ex(d->ctx, out, &len);
    INVARIANT(ok == 1);
    INVARIANT(len == SHA256_BYTES);
    sha256_begin(d);
}

void sha256_free(struct sha256 *d)
{
    if (!d)
        return;
    EVP_MD_CTX_free(d->ctx);
    mem_free(d);
}

void sha256_of(struct slice bytes, unsigned char out[SHA256_BYTES])
{
    struct sha256 *d = sha256_new();
    sha256_add(d, bytes);
    sha256_end(d, out);
    sha256_free(d);
}

void sha256_text(const unsigned char digest[SHA256_BYTES],
                 char out[SHA256_TEXT_BYTES])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < SHA256_BYTES; i++) {
        *out++ = digits[digest[i] >> 4];
        *out++ = digits[digest[i] & 15];
    }
    *out = '\0';
}
