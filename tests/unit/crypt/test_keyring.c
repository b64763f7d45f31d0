/* Data keys survive in KEYS, by the right master key alone. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/panic.h"
#include "base/core/rand.h"
#include "base/crypt/aead.h"
#include "base/crypt/keyring.h"
#include "base/crypt/master_key.h"
#include "base/crypt/sealed_file.h"
#include "base/crypt/sealer.h"
#include "base/runtime/world.h"
#include "tests/lib/check_main.h"

/* --- Fixture ------------------------------------------------------------- */

static struct world *world;
static char directory[512];

static void setup(void)
{
    world = world_real_new();
    snprintf(directory, sizeof(directory), "%s", test_tmpdir());
}

static const char *path_of(const char *name)
{
    static char path[600];
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    return path;
}

static void put_file(const char *name, const char *text, mode_t mode)
{
    FILE *f = fopen(path_of(name), "w");
    ck_assert_ptr_nonnull(f);
    fputs(text, f);
    fclose(f);
    ck_assert_int_eq(chmod(path_of(name), mode), 0);
}

static struct master_keys *master(unsigned char first)
{
    unsigned char bytes[32] = {first};
    return master_keys_of(bytes);
}

static int open_keys(struct master_keys *m,
                     bool create,
                     struct keyring **out,
                     struct err *err)
{
    int rc = keyring_open(world, keyring_world_place(world, path_of("KEYS")), m,
                          create, out, err);
    master_keys_unref(m);
    return rc;
}

static struct keyring *must_open(unsigned char first)
{
    struct keyring *k;
    struct err err = ERR_INIT;
    ck_assert_msg(open_keys(master(first), true, &k, &err) == 0, "%s",
                  err.text);
    ck_assert_ptr_nonnull(k);
    return k;
}

/* A unit of @text, sealed by a sealer of its own. */
static void seal_text(struct keyring *k, const char *text, struct buf *unit)
{
    struct unit_sealer *s;
    struct err err = ERR_INIT;
    ck_assert_int_eq(unit_sealer_new(k, "test", &s, &err), 0);
    buf_clear(unit);
    unit_seal(s, SLICE_LIT("here"), slice_str(text),
              buf_extend(unit, strlen(text) + UNIT_BYTES_MORE));
    unit_sealer_free(s);
}

static int
open_text(struct keyring *k, const struct buf *unit, const char *want)
{
    struct unit_opener *o = unit_opener_new(k, "test");
    struct err err = ERR_INIT;
    char *out = mem_alloc(unit->len);
    int rc = unit_open(o, SLICE_LIT("here"), buf_slice(unit), out, &err);
    if (rc == 0) {
        ck_assert_uint_eq(unit->len, strlen(want) + UNIT_BYTES_MORE);
        ck_assert_mem_eq(out, want, strlen(want));
    }
    mem_free(out);
    unit_opener_free(o);
    return rc;
}

static void read_keys_bytes(struct buf *out)
{
    FILE *f = fopen(path_of("KEYS"), "r");
    ck_assert_ptr_nonnull(f);
    buf_clear(out);
    out->len = fread(buf_reserve(out, 1 << 16), 1, 1 << 16, f);
    fclose(f);
}

static void write_keys_bytes(const struct buf *b)
{
    FILE *f = fopen(path_of("KEYS"), "w");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(b->data, 1, b->len, f), b->len);
    fclose(f);
}

/* --- Tests --------------------------------------------------------------- */

/* Without KEYS and without a master key nothing is encrypted, and no KEYS is
 * made by who may not. */
START_TEST(test_nothing_is_encrypted_unasked)
{
    struct keyring *k;
    struct err err = ERR_INIT;
    setup();
    ck_assert_int_eq(open_keys(NULL, true, &k, &err), 0);
    ck_assert_ptr_null(k);
    ck_assert_int_eq(open_keys(master(1), false, &k, &err), 0);
    ck_assert_ptr_null(k);
    world_free(world);
}

END_TEST

/* Sealed texts are opened after the keys were read again; data keys from
 * before a rotation still open, and the new one seals. */
START_TEST(test_rotation)
{
    struct buf first = BUF_INIT, second = BUF_INIT;
    struct keyring_status status;
    struct keyring *k;
    struct err err = ERR_INIT;

    setup();
    k = must_open(1);
    seal_text(k, "before", &first);
    ck_assert_int_eq(keyring_rotate(k, &err), 0);
    seal_text(k, "after", &second);
    ck_assert(get_le64(first.data) != get_le64(second.data));
    keyring_unref(k);
    k = must_open(1);
    keyring_get_status(k, &status);
    ck_assert_uint_eq(status.key_count, 2);
    ck_assert_uint_eq(status.current_id, get_le64(second.data));
    ck_assert_int_eq(open_text(k, &first, "before"), 0);
    ck_assert_int_eq(open_text(k, &second, "after"), 0);
    keyring_unref(k);
    buf_close(&first);
    buf_close(&second);
    world_free(world);
}

END_TEST

/* A process that has the keyring open opens what another sealed with a key that
 * was made meanwhile. */
START_TEST(test_rotation_by_another)
{
    struct buf unit = BUF_INIT;
    struct keyring *here, *there;
    struct err err = ERR_INIT;

    setup();
    here = must_open(1);
    there = must_open(1);
    ck_assert_int_eq(keyring_rotate(there, &err), 0);
    seal_text(there, "by another", &unit);
    ck_assert_int_eq(open_text(here, &unit, "by another"), 0);
    ck_assert_uint_eq(keyring_current_id(here), keyring_current_id(there));
    keyring_unref(here);
    keyring_unref(there);
    buf_close(&unit);
    world_free(world);
}

END_TEST

/* A missing master key and a wrong one have errors of their own. */
START_TEST(test_wrong_master_key)
{
    struct keyring *k;
    struct err err = ERR_INIT;

    setup();
    keyring_unref(must_open(1));
    ck_assert_int_eq(open_keys(NULL, true, &k, &err), ERR_DENIED);
    ck_assert_ptr_nonnull(strstr(err.text, "no master key was given"));
    ck_assert_int_eq(open_keys(master(2), true, &k, &err), ERR_DENIED);
    ck_assert_ptr_nonnull(strstr(err.text, "the one given is"));
    world_free(world);
}

END_TEST

/* Any changed byte of KEYS is told; with the checksum made good, too, by the
 * tags. */
START_TEST(test_tampered_keys)
{
    struct buf good = BUF_INIT, bad = BUF_INIT;
    struct keyring *k;
    struct err err = ERR_INIT;

    setup();
    k = must_open(1);
    ck_assert_int_eq(keyring_rotate(k, &err), 0);
    keyring_unref(k);
    read_keys_bytes(&good);
    for (size_t at = 0; at < good.len; at++) {
        int rc;
        buf_clear(&bad);
        buf_append_slice(&bad, buf_slice(&good));
        bad.data[at] ^= 1;
        write_keys_bytes(&bad);
        rc = open_keys(master(1), true, &k, &err);
        ck_assert_int_eq(rc, ERR_CORRUPT);
    }
    buf_close(&good);
    buf_close(&bad);
    world_free(world);
}

END_TEST

static int read_masters(const struct master_key_source *s, struct err *err)
{
    struct master_keys *m;
    int rc = master_keys_read(world, s, &m, err);
    master_keys_unref(m);
    return rc;
}

#define HEX_KEY                                                                \
    "00112233445566778899aabbccddeeff00112233445566778899AABBCCDDEEFF"

/* Keys are read as hexadecimal digits or base64, from a file that nobody else
 * may read or from a command. */
START_TEST(test_master_key_sources)
{
    unsigned char hex[32], base64[32];
    struct err err = ERR_INIT;
    char path[600];

    setup();
    ck_assert_int_eq(
        master_key_parse(SLICE_LIT(" " HEX_KEY "\n"), "t", hex, &err), 0);
    ck_assert_int_eq(
        master_key_parse(
            SLICE_LIT("ABEiM0RVZneImaq7zN3u/wARIjNEVWZ3iJmqu8zd7v8="), "t",
            base64, &err),
        0);
    ck_assert_mem_eq(hex, base64, 32);
    put_file("key", HEX_KEY "\n", 0600);
    snprintf(path, sizeof(path), "%s", path_of("key"));
    ck_assert_int_eq(
        read_masters(&(struct master_key_source){.key_file = path}, &err), 0);
    put_file("key", HEX_KEY "\n", 0640);
    ck_assert_int_eq(
        read_masters(&(struct master_key_source){.key_file = path}, &err),
        ERR_DENIED);
    put_file("key", "too short", 0400);
    ck_assert_int_eq(
        read_masters(&(struct master_key_source){.key_file = path}, &err),
        ERR_INVALID);
    ck_assert_int_eq(
        read_masters(
            &(struct master_key_source){.key_command = "echo " HEX_KEY}, &err),
        0);
    ck_assert_int_eq(
        read_masters(&(struct master_key_source){.key_command = "exit 3"},
                     &err),
        ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(err.text, "status 3"));
    ck_assert_int_eq(read_masters(
                         &(struct master_key_source){
                             .key_command = "head -c 100000 /dev/zero"},
                         &err),
                     ERR_INVALID);
    ck_assert_int_eq(
        read_masters(&(struct master_key_source){.key_file = path,
                                                 .key_command = "true"},
                     &err),
        ERR_INVALID);
    world_free(world);
}

END_TEST

/* With a new master key and the one before, KEYS is sealed again and nothing
 * else changes; then the one before is of no use. */
START_TEST(test_new_master_key)
{
    static const char new_key[] =
        "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff";
    struct master_key_source both;
    struct buf unit = BUF_INIT;
    struct master_keys *m;
    struct keyring *k;
    struct err err = ERR_INIT;
    char old_path[600], new_path[600];
    bool done;

    setup();
    put_file("old", HEX_KEY, 0600);
    snprintf(old_path, sizeof(old_path), "%s", path_of("old"));
    put_file("new", new_key, 0600);
    snprintf(new_path, sizeof(new_path), "%s", path_of("new"));
    ck_assert_int_eq(
        master_keys_read(
            world, &(struct master_key_source){.key_file = old_path}, &m, &err),
        0);
    ck_assert_int_eq(open_keys(m, true, &k, &err), 0);
    seal_text(k, "kept", &unit);
    keyring_unref(k);

    both = (struct master_key_source){.key_file = new_path,
                                      .previous_key_file = old_path};
    ck_assert_int_eq(master_keys_read(world, &both, &m, &err), 0);
    ck_assert_int_eq(open_keys(m, true, &k, &err), 0);
    ck_assert_int_eq(open_text(k, &unit, "kept"), 0);
    ck_assert_int_eq(keyring_rewrap(k, &done, &err), 0);
    ck_assert(done);
    ck_assert_int_eq(keyring_rewrap(k, &done, &err), 0);
    ck_assert(!done);
    keyring_unref(k);

    both.previous_key_file = NULL;
    ck_assert_int_eq(master_keys_read(world, &both, &m, &err), 0);
    ck_assert_int_eq(open_keys(m, true, &k, &err), 0);
    ck_assert_int_eq(open_text(k, &unit, "kept"), 0);
    keyring_unref(k);
    both.key_file = old_path;
    ck_assert_int_eq(master_keys_read(world, &both, &m, &err), 0);
    ck_assert_int_eq(open_keys(m, true, &k, &err), ERR_DENIED);
    buf_close(&unit);
    world_free(world);
}

END_TEST

/* A process that has KEYS open continues across a new master key, notified
 * or not, and across unreadable key files. */
START_TEST(test_master_key_is_read_again)
{
    static const char new_key[] =
        "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff";
    struct master_key_source source;
    struct buf unit = BUF_INIT;
    struct master_keys *m, *other;
    struct keyring *k, *beside;
    struct err err = ERR_INIT;
    char path[600];
    bool done;

    setup();
    put_file("key", HEX_KEY, 0600);
    snprintf(path, sizeof(path), "%s", path_of("key"));
    source = (struct master_key_source){.key_file = path};
    ck_assert_int_eq(master_keys_read(world, &source, &m, &err), 0);
    ck_assert_int_eq(master_keys_read(world, &source, &other, &err), 0);
    ck_assert_int_eq(open_keys(master_keys_ref(m), true, &k, &err), 0);
    ck_assert_int_eq(open_keys(other, true, &beside, &err), 0);
    seal_text(k, "kept", &unit);

    ck_assert_int_eq(chmod(path, 0644), 0);
    ck_assert_int_eq(master_keys_reload(m, world, NULL, &err), ERR_DENIED);
    ck_assert_int_eq(keyring_rewrap(k, &done, &err), 0);
    ck_assert(!done);
    put_file("key", new_key, 0600);
    ck_assert_int_eq(master_keys_reload(m, world, NULL, &err), 0);
    ck_assert_int_eq(master_keys_reload(m, world, &source, &err), 0);
    ck_assert(keyring_is_outdated(k));
    ck_assert_int_eq(keyring_rewrap(k, &done, &err), 0);
    ck_assert(done);
    ck_assert(!keyring_is_outdated(k));
    ck_assert_int_eq(open_text(k, &unit, "kept"), 0);

    /* Whom nobody told asks again, but not all the time. */
    ck_assert_int_eq(keyring_rotate(k, &err), 0);
    seal_text(k, "later", &unit);
    world_sleep_us(world, 1100000);
    ck_assert_int_eq(open_text(beside, &unit, "later"), 0);
    buf_close(&unit);
    keyring_unref(k);
    keyring_unref(beside);
    master_keys_unref(m);
    world_free(world);
}

END_TEST

/* Texts sealed with a lent key are opened with that loan and by the owner,
 * not with another loan, and the loan opens nothing else. */
START_TEST(test_loans)
{
    unsigned char mine[KEYRING_SALT_BYTES], theirs[KEYRING_SALT_BYTES];
    struct keyring *k, *borrowed, *other, *view;
    struct buf unit = BUF_INIT, own = BUF_INIT;
    struct key_loan loan, another;
    struct err err = ERR_INIT;

    setup();
    k = must_open(1);
    key_loan_name(SLICE_LIT("mine"), mine);
    key_loan_name(SLICE_LIT("theirs"), theirs);
    ck_assert_int_eq(keyring_lend(k, mine, &loan, &err), 0);
    ck_assert_int_eq(keyring_lend(k, theirs, &another, &err), 0);
    ck_assert_uint_eq(loan.key_id, keyring_current_id(k));
    ck_assert_mem_ne(loan.key.bytes, another.key.bytes, AEAD_KEY_BYTES);
    borrowed = keyring_new_borrowed(world, &loan);
    other = keyring_new_borrowed(world, &another);
    view = keyring_view_loan(k, mine);
    seal_text(borrowed, "lent", &unit);
    seal_text(k, "own", &own);
    ck_assert_int_eq(open_text(borrowed, &unit, "lent"), 0);
    ck_assert_int_eq(open_text(view, &unit, "lent"), 0);
    ck_assert_int_eq(open_text(other, &unit, "lent"), ERR_CORRUPT);
    ck_assert_int_eq(open_text(k, &unit, "lent"), ERR_CORRUPT);
    ck_assert_int_eq(open_text(borrowed, &own, "own"), ERR_CORRUPT);
    ck_assert_int_eq(open_text(view, &own, "own"), ERR_CORRUPT);

    /* The owner's view opens what was lent before a rotation, too. */
    ck_assert_int_eq(keyring_rotate(k, &err), 0);
    ck_assert_int_eq(open_text(view, &unit, "lent"), 0);
    seal_text(view, "later", &unit);
    ck_assert_int_eq(open_text(view, &unit, "later"), 0);
    ck_assert_int_eq(open_text(borrowed, &unit, "later"), ERR_CORRUPT);
    key_loan_close(&loan);
    ck_assert_ptr_null(keyring_new_borrowed(world, &loan));
    keyring_unref(view);
    keyring_unref(borrowed);
    keyring_unref(other);
    keyring_unref(k);
    buf_close(&unit);
    buf_close(&own);
    world_free(world);
}

END_TEST

/* Units of another place, another purpose, or with any byte changed are
 * refused; those of many sealers are opened by one opener. */
START_TEST(test_units)
{
    struct keyring *k;
    struct buf unit = BUF_INIT;
    struct unit_opener *o;
    struct err err = ERR_INIT;
    char out[64];

    setup();
    k = keyring_new_ephemeral(world);
    o = unit_opener_new(k, "test");
    for (int i = 0; i < 20; i++) {
        seal_text(k, "some text", &unit);
        ck_assert_int_eq(
            unit_open(o, SLICE_LIT("here"), buf_slice(&unit), out, &err), 0);
        ck_assert_mem_eq(out, "some text", 9);
    }
    ck_assert_int_eq(
        unit_open(o, SLICE_LIT("there"), buf_slice(&unit), out, &err),
        ERR_CORRUPT);
    for (size_t at = 0; at < unit.len; at++) {
        unit.data[at] ^= 4;
        ck_assert_int_ne(
            unit_open(o, SLICE_LIT("here"), buf_slice(&unit), out, &err), 0);
        unit.data[at] ^= 4;
    }
    unit_opener_free(o);
    o = unit_opener_new(k, "test2");
    ck_assert_int_eq(
        unit_open(o, SLICE_LIT("here"), buf_slice(&unit), out, &err),
        ERR_CORRUPT);
    unit_opener_free(o);
    o = unit_opener_new(NULL, "test");
    ck_assert_int_eq(
        unit_open(o, SLICE_LIT("here"), buf_slice(&unit), out, &err),
        ERR_DENIED);
    unit_opener_free(o);
    keyring_unref(k);
    buf_close(&unit);
    world_free(world);
}

END_TEST

/* No key and nonce come twice, whatever sealers come and go, and however often
 * the same text is sealed. */
START_TEST(test_no_nonce_comes_twice)
{
    enum {
        SEALERS = 40,
        UNITS = 50,
    };

    static char heads[SEALERS * UNITS][UNIT_HEAD_BYTES];
    struct keyring *k;
    size_t same = 0;
    size_t n = 0;

    setup();
    k = keyring_new_ephemeral(world);
    for (int i = 0; i < SEALERS; i++) {
        struct unit_sealer *s;
        char unit[UNIT_BYTES_MORE + 4];
        ck_assert_int_eq(unit_sealer_new(k, "test", &s, NULL), 0);
        for (int j = 0; j < UNITS; j++) {
            unit_seal(s, SLICE_EMPTY, SLICE_LIT("same"), unit);
            memcpy(heads[n++], unit, UNIT_HEAD_BYTES);
        }
        unit_sealer_free(s);
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            same += memcmp(heads[i], heads[j], UNIT_HEAD_BYTES) == 0;
    ck_assert_uint_eq(same, 0);
    keyring_unref(k);
    world_free(world);
}

END_TEST

/* A file of pieces is what was written, at whatever offsets, and says nothing.
 */
START_TEST(test_file_of_pieces)
{
    enum {
        BYTES = 300000
    };

    static char model[BYTES], back[BYTES];
    struct keyring *k;
    struct sealed_file *f;
    struct rand_gen r;
    struct err err = ERR_INIT;
    struct file *raw;
    uint64_t size = 0, told;
    size_t got;

    setup();
    rand_init(&r, test_seed());
    k = keyring_new_ephemeral(world);
    for (int i = 0; i < 60; i++) {
        uint64_t at = rand_below(&r, MIN_OF(size, BYTES - 1) + 1);
        size_t len = rand_below(&r, MIN_OF(BYTES - at, 100000)) + 1;
        memset(model + at, 'a' + i % 26, len);
        ck_assert_int_eq(sealed_file_open(world, path_of("pieces"),
                                          FILE_WRITE | FILE_CREATE, k, &f,
                                          &err),
                         0);
        ck_assert_int_eq(
            sealed_file_write_at(f, at, slice_make(model + at, len), &err), 0);
        size = MAX_OF(size, at + len);
        ck_assert_int_eq(sealed_file_size(f, &told, &err), 0);
        ck_assert_uint_eq(told, size);
        ck_assert_int_eq(
            sealed_file_read_at(f, at / 2, back, BYTES, &got, &err), 0);
        ck_assert_uint_eq(got, size - at / 2);
        ck_assert_mem_eq(back, model + at / 2, got);
        sealed_file_close(f);
    }
    ck_assert_int_eq(
        file_open(world, path_of("pieces"), FILE_READ | FILE_WRITE, &raw, &err),
        0);
    ck_assert_int_eq(file_read_at(raw, 0, back, BYTES, &got, &err), 0);
    for (char c = 'a'; c <= 'z'; c++) {
        char run[20];
        memset(run, c, sizeof(run));
        for (size_t i = 0; i + sizeof(run) < got; i++)
            if (memcmp(back + i, run, sizeof(run)) == 0)
                ck_abort_msg("it says %c", c);
    }
    back[100] ^= 1;
    ck_assert_int_eq(
        file_write_at(raw, 100, &(struct slice){back + 100, 1}, 1, &err), 0);
    file_close(raw);
    ck_assert_int_eq(
        sealed_file_open(world, path_of("pieces"), FILE_READ, k, &f, &err), 0);
    ck_assert_int_eq(sealed_file_read_at(f, 0, back, 10, &got, &err),
                     ERR_CORRUPT);
    sealed_file_close(f);
    ck_assert_int_eq(
        sealed_file_open(world, path_of("pieces"), FILE_READ, NULL, &f, &err),
        ERR_DENIED);
    keyring_unref(k);
    world_free(world);
}

END_TEST

TEST_MAIN("keyring",
          test_nothing_is_encrypted_unasked,
          test_rotation,
          test_rotation_by_another,
          test_wrong_master_key,
          test_tampered_keys,
          test_master_key_sources,
          test_new_master_key,
          test_master_key_is_read_again,
          test_loans,
          test_units,
          test_file_of_pieces,
          test_no_nonce_comes_twice)
