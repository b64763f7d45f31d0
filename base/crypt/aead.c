/* AES-GCM through OpenSSL, with two contexts for each thread: creating a
 * context and expanding a key cost more than sealing a small block. A
 * context remembers its key, so that the next text under the same key reuses
 * the schedule. */
#include "base/crypt/aead.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "base/core/coding.h"
#include "base/core/panic.h"

/* One direction of a thread: a context, and the key that is set in it. */
struct aead_way {
    EVP_CIPHER_CTX *context;
    bool has_key;
    struct aead_key key;
};

struct aead_thread {
    struct aead_way seal;
    struct aead_way open;
};

static pthread_once_t aead_once = PTHREAD_ONCE_INIT;
static pthread_key_t aead_slot;

static void aead_thread_free(void *p)
{
    struct aead_thread *t = p;
    EVP_CIPHER_CTX_free(t->seal.context);
    EVP_CIPHER_CTX_free(t->open.context);
    OPENSSL_cleanse(t, sizeof(*t));
    mem_free(t);
}

static void aead_make_slot(void)
{
    if (pthread_key_create(&aead_slot, aead_thread_free))
        PANIC("no thread-specific key is left");
}

static struct aead_thread *aead_of_thread(void)
{
    struct aead_thread *t;

    pthread_once(&aead_once, aead_make_slot);
    t = pthread_getspecific(aead_slot);
    if (LIKELY(t))
        return t;
    t = mem_zalloc(1, sizeof(*t));
    t->seal.context = EVP_CIPHER_CTX_new();
    t->open.context = EVP_CIPHER_CTX_new();
    if (!t->seal.context || !t->open.context ||
        EVP_EncryptInit_ex(t->seal.context, EVP_aes_256_gcm(), NULL, NULL,
                           NULL) != 1 ||
        EVP_DecryptInit_ex(t->open.context, EVP_aes_256_gcm(), NULL, NULL,
                           NULL) != 1 ||
        pthread_setspecific(aead_slot, t))
        PANIC("no AES-256-GCM in this OpenSSL");
    return t;
}

/* The bytes of @key if @way must be given them, else NULL. */
static const unsigned char *aead_new_key(struct aead_way *way,
                                         const struct aead_key *key)
{
    if (way->has_key && memcmp(&way->key, key, sizeof(*key)) == 0)
        return NULL;
    way->key = *key;
    way->has_key = true;
    return key->bytes;
}

static const unsigned char *aead_bytes(struct slice s)
{
    return (const unsigned char *)s.data;
}

void aead_seal(const struct aead_key *key,
               const unsigned char nonce[AEAD_NONCE_BYTES],
               struct slice aad,
               struct slice plain,
               char *out)
{
    struct aead_way *way = &aead_of_thread()->seal;
    EVP_CIPHER_CTX *c = way->context;
    unsigned char *to = (unsigned char *)out;
    int n = 0;
    int rc;

    PRE(plain.len <= AEAD_TEXT_BYTES_MAX && aad.len <= AEAD_TEXT_BYTES_MAX);
    rc = EVP_EncryptInit_ex(c, NULL, NULL, aead_new_key(way, key), nonce);
    if (rc == 1 && aad.len)
        rc = EVP_EncryptUpdate(c, NULL, &n, aead_bytes(aad), (int)aad.len);
    if (rc == 1 && plain.len)
        rc = EVP_EncryptUpdate(c, to, &n, aead_bytes(plain), (int)plain.len);
    if (rc == 1)
        rc = EVP_EncryptFinal_ex(c, to + plain.len, &n);
    if (rc == 1)
        rc = EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_GET_TAG, (int)AEAD_TAG_BYTES,
                                 to + plain.len);
    if (rc != 1)
        PANIC("AES-256-GCM of OpenSSL failed");
}

int aead_open(const struct aead_key *key,
              const unsigned char nonce[AEAD_NONCE_BYTES],
              struct slice aad,
              struct slice sealed,
              char *out,
              struct err *err)
{
    struct aead_way *way = &aead_of_thread()->open;
    EVP_CIPHER_CTX *c = way->context;
    unsigned char *to = (unsigned char *)out;
    unsigned char tag[AEAD_TAG_BYTES];
    size_t bytes = sealed.len - AEAD_TAG_BYTES;
    int n = 0;
    int rc;

    if (sealed.len < AEAD_TAG_BYTES || bytes > AEAD_TEXT_BYTES_MAX)
        return err_set(err, ERR_CORRUPT, "sealed bytes of a wrong length");
    memcpy(tag, sealed.data + bytes, sizeof(tag));
    rc = EVP_DecryptInit_ex(c, NULL, NULL, aead_new_key(way, key), nonce);
    if (rc == 1)
        rc = EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_TAG, (int)AEAD_TAG_BYTES,
                                 tag);
    if (rc == 1 && aad.len)
        rc = EVP_DecryptUpdate(c, NULL, &n, aead_bytes(aad), (int)aad.len);
    if (rc == 1 && bytes)
        rc = EVP_DecryptUpdate(c, to, &n, aead_bytes(sealed), (int)bytes);
    if (rc != 1)
        PANIC("AES-256-GCM of OpenSSL failed");
    if (EVP_DecryptFinal_ex(c, to + bytes, &n) != 1)
        return err_set(err, ERR_CORRUPT,
                       "damaged: its authentication tag is wrong");
    return 0;
}

static void aead_hmac(struct slice key, struct slice text, unsigned char *out)
{
    unsigned int n = 0;
    if (!HMAC(EVP_sha256(), key.data, (int)key.len, aead_bytes(text), text.len,
              out, &n) ||
        n != AEAD_KEY_BYTES)
        PANIC("HMAC-SHA256 of OpenSSL failed");
}

/* RFC 5869; one block of output is all that a key needs. */
void aead_derive(const struct aead_key *key,
                 struct slice salt,
                 const char *purpose,
                 struct aead_key *out)
{
    struct aead_key extracted;
    char info[64];
    size_t len = strlen(purpose);

    PRE(len < sizeof(info));
    memcpy(info, purpose, len);
    info[len] = 1;
    aead_hmac(salt, slice_make(key->bytes, AEAD_KEY_BYTES), extracted.bytes);
    aead_hmac(slice_make(extracted.bytes, AEAD_KEY_BYTES),
              slice_make(info, len + 1), out->bytes);
    OPENSSL_cleanse(&extracted, sizeof(extracted));
}

uint64_t aead_key_name(const struct aead_key *key, const char *label)
{
    unsigned char digest[AEAD_KEY_BYTES];
    uint64_t name;

    aead_hmac(slice_make(key->bytes, AEAD_KEY_BYTES), slice_str(label), digest);
    name = get_le64((const char *)digest);
    return name ? name : 1;
}
