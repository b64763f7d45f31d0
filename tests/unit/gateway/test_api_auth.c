/* The public API accepts tokens of a file that only its owner reads, JWTs
 * signed by a trusted key, and certificates; it refuses all others. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "bigtable/gateway/api_auth.h"
#include "tests/lib/check_main.h"

/* clang-format off */
/* A key that was thrown away, and tokens signed with it: of "ann", good until
 * 2100, and others with one thing wrong. */
#define JWT_KEY \
    "-----BEGIN PUBLIC KEY-----\n" \
    "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEZAZyPZtgA5ggdCX55tgtlLGKlyRi\n" \
    "IDoG3LdYsOsNtCaDMDJYKjHfk78eqSJl/CGsUNiWSLhkJWbxjTAreboUQg==\n" \
    "-----END PUBLIC KEY-----\n"
#define JWT_GOOD \
    "eyJhbGciOiAiRVMyNTYiLCAidHlwIjogIkpXVCJ9.eyJzdWIiOiAiYW5uIiwgImV" \
    "4cCI6IDQxMDI0NDQ4MDAsICJpc3MiOiAiaHR0cHM6Ly9pc3N1ZXIiLCAiYXVkIjo" \
    "gInF1YXJyeSJ9.sn4cKCqGmfhuRU37GQqaGuT2VKhUzG5CT0HStwDB4yXaY7iGV1" \
    "rsQLxHtqBGmkpLijzvNegfLtVFy7h7VclASw"
#define JWT_EXPIRED \
    "eyJhbGciOiAiRVMyNTYiLCAidHlwIjogIkpXVCJ9.eyJzdWIiOiAiYW5uIiwgImV" \
    "4cCI6IDEwMDAsICJpc3MiOiAiaHR0cHM6Ly9pc3N1ZXIiLCAiYXVkIjogInF1YXJ" \
    "yeSJ9.9GKqkHEgXwTj1qJI0Fkj2_nONstaJu-itjh-4Ck8ILCKMCYQavjLF26tqV" \
    "hRW_1aw8AYFyvHcdmuVEpycdX0QQ"
#define JWT_ENDLESS \
    "eyJhbGciOiAiRVMyNTYiLCAidHlwIjogIkpXVCJ9.eyJzdWIiOiAiYW5uIiwgIml" \
    "zcyI6ICJodHRwczovL2lzc3VlciIsICJhdWQiOiAicXVhcnJ5In0._sXoAggNTQE" \
    "V4y9wRv7ppCgy0O0dU1KVcePeO9cj9U4wfotUbWm33a4nV3UF44Yu3PWdSbiwgof" \
    "aVqjB-SQXmQ"
#define JWT_OTHER_KEY \
    "eyJhbGciOiAiRVMyNTYiLCAidHlwIjogIkpXVCJ9.eyJzdWIiOiAiYW5uIiwgImV" \
    "4cCI6IDQxMDI0NDQ4MDAsICJpc3MiOiAiaHR0cHM6Ly9pc3N1ZXIiLCAiYXVkIjo" \
    "gInF1YXJyeSJ9.Zm3wFwKKJGL1qYbwqxS0gBIXT2qHDVM7pSGgaO0i7evlqQpi_6" \
    "t6IsMCYidR5aMOK88eaizWtfq7DqrV_DX-ng"
#define JWT_HMAC \
    "eyJhbGciOiAiSFMyNTYiLCAidHlwIjogIkpXVCJ9.eyJzdWIiOiAiYW5uIiwgImV" \
    "4cCI6IDQxMDI0NDQ4MDAsICJpc3MiOiAiaHR0cHM6Ly9pc3N1ZXIiLCAiYXVkIjo" \
    "gInF1YXJyeSJ9.Rj8PUOl5q1tM3TviR-CnvR1eM-5SXBudCmAjiebhVCI"
#define JWT_NONE \
    "eyJhbGciOiAibm9uZSIsICJ0eXAiOiAiSldUIn0.eyJzdWIiOiAiYW5uIiwgImV4" \
    "cCI6IDQxMDI0NDQ4MDAsICJpc3MiOiAiaHR0cHM6Ly9pc3N1ZXIiLCAiYXVkIjog" \
    "InF1YXJyeSJ9."
#define JWT_BAD_NAME \
    "eyJhbGciOiAiRVMyNTYiLCAidHlwIjogIkpXVCJ9.eyJzdWIiOiAiYSBiIiwgImV" \
    "4cCI6IDQxMDI0NDQ4MDAsICJpc3MiOiAiaHR0cHM6Ly9pc3N1ZXIiLCAiYXVkIjo" \
    "gInF1YXJyeSJ9.l4CDooKdo--H0GY5R8UTKxuGISC7sWyY6Ph6oESIdHIxzov4qC" \
    "3IDMbJ6Wkkm6D_Eqd3_oXdWDRRIo2_ClYrCA"
#define JWT_OTHER_AUDIENCE \
    "eyJhbGciOiAiRVMyNTYiLCAidHlwIjogIkpXVCJ9.eyJzdWIiOiAiYW5uIiwgImV" \
    "4cCI6IDQxMDI0NDQ4MDAsICJpc3MiOiAiaHR0cHM6Ly9pc3N1ZXIiLCAiYXVkIjo" \
    "gIngifQ.qd2PdnyViB5i_bFM-xN8mivAsgHzaK29CwP6wXBvCtuyZwvoxqFpNoA7" \
    "WiNJkQXyAL5TbZhA0YvXxDlHBaV_PQ"
/* clang-format on */

/* Of "secret". */
#define HASH "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b"

/* --- Fixture ------------------------------------------------------------- */

static struct world *world;
static char path[500];
static char name[API_PRINCIPAL_BYTES];

static void run(task_fn fn)
{
    struct loop *l;
    world = world_real_new();
    snprintf(path, sizeof(path), "%s/file", test_tmpdir());
    ck_assert_int_eq(loop_new(world, "auth", &l, NULL), 0);
    loop_start(l);
    loop_call(l, "test", fn, NULL);
    loop_stop(l);
    loop_join(l);
    loop_free(l);
    world_free(world);
}

static void write_file(const char *text, mode_t mode)
{
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    fputs(text, f);
    fclose(f);
    ck_assert_int_eq(chmod(path, mode), 0);
}

/* --- Helpers ------------------------------------------------------------- */

static struct api_auth *must_open(const struct api_auth_options *o)
{
    struct err err = ERR_INIT;
    struct api_auth *a;
    ck_assert_msg(api_auth_open(world, o, &a, &err) == 0, "%s", err.text);
    return a;
}

static struct api_auth *open_tokens(void)
{
    return must_open(&(struct api_auth_options){.tokens = path});
}

static int
check(struct api_auth *a, const char *certificate, const char *authorization)
{
    return api_auth_check(a, slice_str(certificate), slice_str(authorization),
                          name, NULL);
}

/* --- Tests --------------------------------------------------------------- */

static void run_tokens(void *arg)
{
    struct api_auth *a;
    (void)arg;
    write_file("# comment\n\nann " HASH "\n"
               "bob 0000000000000000000000000000000000000000000000000000000000"
               "000000\n",
               0600);
    a = open_tokens();
    ck_assert_int_eq(check(a, "", "Bearer secret"), 0);
    ck_assert_str_eq(name, "ann");
    ck_assert_int_eq(check(a, "", "Bearer secre"), ERR_DENIED);
    ck_assert_int_eq(check(a, "", "Bearer "), ERR_DENIED);
    ck_assert_int_eq(check(a, "", "Bearer " HASH), ERR_DENIED);
    ck_assert_int_eq(check(a, "", "Basic secret"), ERR_DENIED);
    ck_assert_int_eq(check(a, "", ""), ERR_DENIED);
    /* A certificate is good by itself, and no help to a bad token. */
    ck_assert_int_eq(check(a, "carl", ""), 0);
    ck_assert_str_eq(name, "carl");
    ck_assert_int_eq(check(a, "carl", "Bearer bad"), ERR_DENIED);
    ck_assert_int_eq(check(a, "carl", "Bearer secret"), 0);
    ck_assert_str_eq(name, "ann");
    ck_assert_int_eq(check(a, "a b", ""), ERR_DENIED);
    /* Taken off the file it is out; a file that is damaged changes nothing. */
    write_file("ann nonsense\n", 0600);
    ck_assert_int_eq(api_auth_reload(a, NULL), ERR_INVALID);
    ck_assert_int_eq(check(a, "", "Bearer secret"), 0);
    write_file("", 0600);
    ck_assert_int_eq(api_auth_reload(a, NULL), 0);
    ck_assert_int_eq(check(a, "", "Bearer secret"), ERR_DENIED);
    api_auth_close(a);
}

START_TEST(test_tokens)
{
    run(run_tokens);
}

END_TEST

static void run_bad_files(void *arg)
{
    static const char *const bad[] = {"ann\n",           "ann 12\n",
                                      HASH "\n",         "a,b " HASH "\n",
                                      "ann " HASH "0\n", "ann G" HASH};
    struct api_auth_options o = {.tokens = path};
    struct err err = ERR_INIT;
    struct api_auth *a;
    (void)arg;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        write_file(bad[i], 0600);
        ck_assert_int_eq(api_auth_open(world, &o, &a, NULL), ERR_INVALID);
        ck_assert_ptr_null(a);
    }
    write_file("ann " HASH "\n", 0640);
    ck_assert_int_eq(api_auth_open(world, &o, &a, &err), ERR_DENIED);
    ck_assert_ptr_nonnull(strstr(err.hint, "chmod 600"));
    ck_assert_int_eq(remove(path), 0);
    ck_assert_int_eq(api_auth_open(world, &o, &a, NULL), ERR_NOTFOUND);
}

START_TEST(test_bad_files)
{
    /* They are refused at the start, with the line; so is one that others may
     * read. */
    run(run_bad_files);
}

END_TEST

static void run_jwt(void *arg)
{
    static const char *const bad[] = {
        JWT_EXPIRED, JWT_ENDLESS,  JWT_OTHER_KEY, JWT_HMAC,
        JWT_NONE,    JWT_BAD_NAME, "x.y.z",       "..",
    };
    struct api_auth_options o = {.jwt_key = path};
    struct err err = ERR_INIT;
    struct api_auth *a;
    int rc;
    (void)arg;
    write_file(JWT_KEY, 0644);
    rc = api_auth_open(world, &o, &a, &err);
    if (rc == ERR_UNSUPPORTED) {
        ck_assert_ptr_nonnull(strstr(err.hint, "libjwt-dev"));
        printf("SKIPPED: built without libjwt\n");
        return;
    }
    ck_assert_msg(rc == 0, "%s", err.text);
    ck_assert_int_eq(check(a, "", "Bearer " JWT_GOOD), 0);
    ck_assert_str_eq(name, "ann");
    ck_assert_int_eq(check(a, "", "Bearer " JWT_OTHER_AUDIENCE), 0);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        char text[2000];
        snprintf(text, sizeof(text), "Bearer %s", bad[i]);
        ck_assert_msg(check(a, "", text) == ERR_DENIED, "token %zu", i);
    }
    api_auth_close(a);
    o.jwt_issuer = "https://issuer";
    o.jwt_audience = "quarry";
    a = must_open(&o);
    ck_assert_int_eq(check(a, "", "Bearer " JWT_GOOD), 0);
    ck_assert_int_eq(check(a, "", "Bearer " JWT_OTHER_AUDIENCE), ERR_DENIED);
    api_auth_close(a);
    o.jwt_issuer = "https://other";
    a = must_open(&o);
    ck_assert_int_eq(check(a, "", "Bearer " JWT_GOOD), ERR_DENIED);
    api_auth_close(a);
    write_file("no key", 0644);
    ck_assert_int_eq(api_auth_open(world, &o, &a, NULL), ERR_INVALID);
}

START_TEST(test_jwt)
{
    /* Expired ones, ones without an end, of another key, with the public key as
     * a secret, with no signature, of no name: none of them is believed. */
    run(run_jwt);
}

END_TEST

TEST_MAIN("api auth", test_tokens, test_bad_files, test_jwt)
