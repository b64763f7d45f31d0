/* AES-256-GCM seals as the standard's vectors say, and refuses what changed. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/rand.h"
#include "base/crypt/aead.h"
#include "tests/lib/check_main.h"

/* --- Helpers ------------------------------------------------------------- */

static struct slice from_hex(const char *hex, char *out)
{
    size_t n = strlen(hex) / 2;
    for (size_t i = 0; i < n; i++) {
        unsigned byte;
        ck_assert_int_eq(sscanf(hex + 2 * i, "%2x", &byte), 1);
        out[i] = (char)byte;
    }
    return slice_make(out, n);
}

struct vector {
    const char *key, *nonce, *plain, *aad, *sealed; /* Ciphertext and tag. */
};

/* Test cases 13 to 16 of the specification of GCM (McGrew and Viega), which
 * NIST's validation suite has as well. */
static const struct vector vectors[] = {
    {"0000000000000000000000000000000000000000000000000000000000000000",
     "000000000000000000000000", "", "", "530f8afbc74536b9a963b4f1c4cb738b"},
    {"0000000000000000000000000000000000000000000000000000000000000000",
     "000000000000000000000000", "00000000000000000000000000000000", "",
     "cea7403d4d606b6e074ec5d3baf39d18d0d1c8a799996bf0265b98b5d48ab919"},
    {"feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308",
     "cafebabefacedbaddecaf888",
     "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
     "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b391aafd255",
     "",
     "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
     "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662898015ad"
     "b094dac5d93471bdec1a502270e3cc6c"},
    {"feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308",
     "cafebabefacedbaddecaf888",
     "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
     "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
     "feedfacedeadbeeffeedfacedeadbeefabaddad2",
     "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
     "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662"
     "76fc6ece0f4e1768cddf8853bb2d551b"},
};

static void check_vector(const struct vector *v)
{
    struct aead_key key;
    char key_bytes[32], nonce_bytes[12], plain_bytes[80], aad_bytes[32];
    char sealed_bytes[96], out[96];
    unsigned char nonce[AEAD_NONCE_BYTES];
    struct slice plain = from_hex(v->plain, plain_bytes);
    struct slice aad = from_hex(v->aad, aad_bytes);
    struct slice sealed = from_hex(v->sealed, sealed_bytes);
    struct err err = ERR_INIT;

    memcpy(key.bytes, from_hex(v->key, key_bytes).data, sizeof(key.bytes));
    memcpy(nonce, from_hex(v->nonce, nonce_bytes).data, sizeof(nonce));
    aead_seal(&key, nonce, aad, plain, out);
    ck_assert_mem_eq(out, sealed.data, sealed.len);
    ck_assert_int_eq(aead_open(&key, nonce, aad, sealed, out, &err), 0);
    if (plain.len)
        ck_assert_mem_eq(out, plain.data, plain.len);
    memcpy(out, plain.data, plain.len); /* In place, too. */
    aead_seal(&key, nonce, aad, slice_make(out, plain.len), out);
    ck_assert_mem_eq(out, sealed.data, sealed.len);
    ck_assert_int_eq(
        aead_open(&key, nonce, aad, slice_make(out, sealed.len), out, &err), 0);
    if (plain.len)
        ck_assert_mem_eq(out, plain.data, plain.len);
}

/* --- Tests --------------------------------------------------------------- */

/* The vectors, twice over, so that each key follows every other one. */
START_TEST(test_known_answers)
{
    for (size_t i = 0; i < ARRAY_LEN(vectors); i++)
        for (size_t j = 0; j < ARRAY_LEN(vectors); j++) {
            check_vector(&vectors[i]);
            check_vector(&vectors[j]);
        }
}

END_TEST

/* HKDF as RFC 5869 has it; the value was computed with Python's hmac. */
START_TEST(test_derived_key)
{
    static const char want[] =
        "9998833e37c0b7fb26feaeb06c01552631f34e166a591dcd5e210c2fa9e3f25c";
    char want_bytes[32];
    struct aead_key key, derived, other;
    char salt[16];

    for (size_t i = 0; i < 32; i++)
        key.bytes[i] = (unsigned char)i;
    for (size_t i = 0; i < 16; i++)
        salt[i] = (char)(100 + i);
    aead_derive(&key, slice_make(salt, 16), "test purpose", &derived);
    ck_assert_mem_eq(derived.bytes, from_hex(want, want_bytes).data, 32);
    aead_derive(&key, slice_make(salt, 16), "test purposf", &other);
    ck_assert(memcmp(other.bytes, derived.bytes, 32) != 0);
}

END_TEST

/* One bit of key, nonce, associated data, ciphertext or tag is enough. */
START_TEST(test_every_flipped_bit_is_refused)
{
    struct aead_key key = {{1, 2, 3}};
    unsigned char nonce[AEAD_NONCE_BYTES] = {9};
    char aad[5] = "place";
    char text[20] = "a text of some bytes";
    char sealed[36], out[36];

    struct {
        void *p;
        size_t len;
    } parts[] = {{key.bytes, 32}, {nonce, 12}, {aad, 5}, {sealed, 36}};
    struct err err = ERR_INIT;

    aead_seal(&key, nonce, slice_make(aad, 5), slice_make(text, 20), sealed);
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        for (size_t bit = 0; bit < parts[i].len * 8; bit++) {
            unsigned char *p = (unsigned char *)parts[i].p + bit / 8;
            *p ^= (unsigned char)(1u << bit % 8);
            ck_assert_int_eq(aead_open(&key, nonce, slice_make(aad, 5),
                                       slice_make(sealed, 36), out, &err),
                             ERR_CORRUPT);
            *p ^= (unsigned char)(1u << bit % 8);
        }
    for (size_t len = 0; len < 36; len++)
        ck_assert_int_eq(aead_open(&key, nonce, slice_make(aad, 5),
                                   slice_make(sealed, len), out, &err),
                         ERR_CORRUPT);
    ck_assert_int_eq(aead_open(&key, nonce, slice_make(aad, 5),
                               slice_make(sealed, 36), out, &err),
                     0);
    ck_assert_mem_eq(out, text, 20);
}

END_TEST

static void *seal_much(void *arg)
{
    struct rand_gen r;
    struct buf text = BUF_INIT;
    size_t wrong = 0;

    rand_init(&r, (uint64_t) * (int *)arg);
    for (int i = 0; i < 500; i++) {
        struct aead_key key = {{(unsigned char)(i / 3)}};
        unsigned char nonce[AEAD_NONCE_BYTES] = {(unsigned char)i};
        size_t len = rand_below(&r, 9000);
        buf_clear(&text);
        buf_append_fill(&text, (char)i, len);
        buf_extend(&text, AEAD_TAG_BYTES);
        aead_seal(&key, nonce, SLICE_LIT("x"), slice_make(text.data, len),
                  text.data);
        ck_assert_int_eq(aead_open(&key, nonce, SLICE_LIT("x"),
                                   slice_make(text.data, text.len), text.data,
                                   NULL),
                         0);
        for (size_t at = 0; at < len; at++)
            wrong += text.data[at] != (char)i;
    }
    ck_assert_uint_eq(wrong, 0);
    buf_close(&text);
    return NULL;
}

/* Threads have contexts of their own, which go when they end. */
START_TEST(test_threads)
{
    pthread_t threads[4];
    int seeds[4] = {1, 2, 3, 4};
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(
            pthread_create(&threads[i], NULL, seal_much, &seeds[i]), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
}

END_TEST

TEST_MAIN("aead",
          test_known_answers,
          test_derived_key,
          test_every_flipped_bit_is_refused,
          test_threads)
