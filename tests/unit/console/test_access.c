/* The console's tokens, sessions, and limits on wrong tokens. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/core/buf.h"
#include "base/runtime/world.h"
#include "cli/console/access.h"
#include "cli/console/attempt_limit.h"
#include "cli/console/sessions.h"
#include "cli/console/token_file.h"
#include "tests/lib/check_main.h"

#define TOKEN "0123456789abcdef"
/* Its SHA-256. */
#define HASH "9f9f5111f7b27a781f1f1ddde5ebc2dd2b796bfc7365c9c28b548e564176929f"

static int parse(const char *text, struct console_tokens *out, struct err *err)
{
    return console_tokens_parse(slice_str(text), "f", out, err);
}

/* --- the file ------------------------------------------------------------ */

/* A token is found by itself, whether its line has it or its hash. */
START_TEST(test_tokens)
{
    struct console_tokens t;
    const struct console_token *k;
    ck_assert_int_eq(parse("# who\n\nalice operate sha256:" HASH "\n"
                           " wall\tview  another-long-token-1 \n",
                           &t, NULL),
                     0);
    ck_assert_uint_eq(t.count, 2);
    k = console_tokens_find(&t, SLICE_LIT(TOKEN));
    ck_assert_ptr_nonnull(k);
    ck_assert_str_eq(k->name, "alice");
    ck_assert_int_eq(k->right, CONSOLE_OPERATE);
    k = console_tokens_find(&t, SLICE_LIT("another-long-token-1"));
    ck_assert_ptr_nonnull(k);
    ck_assert_int_eq(k->right, CONSOLE_VIEW);
    ck_assert_ptr_null(console_tokens_find(&t, SLICE_LIT("")));
    ck_assert_ptr_null(console_tokens_find(&t, SLICE_LIT(HASH)));
    ck_assert_ptr_null(console_tokens_find(&t, SLICE_LIT(TOKEN "0")));
    console_tokens_close(&t);
}

END_TEST

/* Lines that are wrong are refused with their number. */
START_TEST(test_wrong_lines)
{
    static const char *const bad[] = {
        "alice",
        "alice operate",
        "alice own " TOKEN,
        "alice view short",
        "alice view sha256:abc",
        "alice view sha256:" HASH "00",
        "a,b view " TOKEN,
        "alice view " TOKEN " more",
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct console_tokens t;
        struct err err = ERR_INIT;
        struct buf text = BUF_INIT;
        buf_printf(&text, "# one\n%s\n", bad[i]);
        ck_assert_msg(parse(buf_cstr(&text), &t, &err) == ERR_INVALID, "%s",
                      bad[i]);
        ck_assert_ptr_nonnull(strstr(err.text, "f:2: "));
        ck_assert_ptr_null(t.at);
        buf_close(&text);
    }
}

END_TEST

/* A file that others may read is refused; reading again replaces the tokens. */
START_TEST(test_file)
{
    struct world *w = world_real_new();
    struct console_tokens t;
    struct err err = ERR_INIT;
    char path[300];
    FILE *f;
    snprintf(path, sizeof(path), "%s/tokens", test_tmpdir());
    ck_assert_int_eq(console_tokens_read(w, path, &t, &err), ERR_NOTFOUND);
    f = fopen(path, "w");
    fprintf(f, "alice view %s\n", TOKEN);
    fclose(f);
    ck_assert_int_eq(chmod(path, 0640), 0);
    ck_assert_int_eq(console_tokens_read(w, path, &t, &err), ERR_DENIED);
    ck_assert_ptr_nonnull(strstr(err.hint, "chmod 600"));
    ck_assert_int_eq(chmod(path, 0600), 0);
    ck_assert_int_eq(console_tokens_read(w, path, &t, &err), 0);
    ck_assert_uint_eq(t.count, 1);
    console_tokens_close(&t);
    world_free(w);
}

END_TEST

/* --- sessions ------------------------------------------------------------ */

static struct console_sessions sessions;

static struct console_token token_of(const char *name, enum console_right right)
{
    struct console_token t = {.right = right};
    snprintf(t.name, sizeof(t.name), "%s", name);
    api_token_hash(slice_str(name), t.hash);
    return t;
}

static void begin(const struct console_token *t, uint64_t now_s, char *cookie)
{
    console_sessions_begin(&sessions, t, now_s, cookie);
}

static struct console_session *session_of(const char *cookie, uint64_t now_s)
{
    return console_sessions_find(&sessions, slice_str(cookie), now_s);
}

/* A session is found by its cookie until its time is over or it is ended. */
START_TEST(test_session)
{
    struct console_token t = token_of("alice", CONSOLE_OPERATE);
    char one[CONSOLE_SECRET_TEXT];
    char two[CONSOLE_SECRET_TEXT];
    sessions = (struct console_sessions){.world = world_real_new()};
    ck_assert_ptr_null(session_of("", 0));
    begin(&t, 100, one);
    begin(&t, 200, two);
    ck_assert_str_ne(one, two);
    ck_assert_uint_eq(strlen(one), 64);
    ck_assert_str_eq(session_of(one, 100)->token.name, "alice");
    ck_assert_str_ne(session_of(one, 100)->form_token,
                     session_of(two, 200)->form_token);
    ck_assert_ptr_nonnull(session_of(one, 99 + CONSOLE_SESSION_S));
    ck_assert_ptr_null(session_of(one, 100 + CONSOLE_SESSION_S));
    ck_assert_ptr_nonnull(session_of(two, 100 + CONSOLE_SESSION_S));
    console_session_end(session_of(two, 200));
    ck_assert_ptr_null(session_of(two, 200));
    one[0] = one[0] == '0' ? '1' : '0';
    ck_assert_ptr_null(session_of(one, 100));
    world_free(sessions.world);
}

END_TEST

/* The oldest session makes room. */
START_TEST(test_most_sessions)
{
    struct console_token t = token_of("alice", CONSOLE_VIEW);
    static char cookies[CONSOLE_SESSIONS_MAX + 1][CONSOLE_SECRET_TEXT];
    sessions = (struct console_sessions){.world = world_real_new()};
    for (size_t i = 0; i <= CONSOLE_SESSIONS_MAX; i++)
        begin(&t, 100 + i, cookies[i]);
    ck_assert_ptr_null(session_of(cookies[0], 400));
    for (size_t i = 1; i <= CONSOLE_SESSIONS_MAX; i++)
        ck_assert_ptr_nonnull(session_of(cookies[i], 400));
    world_free(sessions.world);
}

END_TEST

/* A token that is gone ends its sessions; another right is theirs at once. */
START_TEST(test_sessions_after_reload)
{
    struct console_token now[] = {token_of("alice", CONSOLE_VIEW)};
    struct console_token alice = token_of("alice", CONSOLE_OPERATE);
    struct console_token bob = token_of("bob", CONSOLE_OPERATE);
    const struct console_tokens tokens = {now, 1};
    char a[CONSOLE_SECRET_TEXT];
    char b[CONSOLE_SECRET_TEXT];
    sessions = (struct console_sessions){.world = world_real_new()};
    begin(&alice, 100, a);
    begin(&bob, 100, b);
    console_sessions_keep(&sessions, &tokens);
    ck_assert_int_eq(session_of(a, 100)->token.right, CONSOLE_VIEW);
    ck_assert_ptr_null(session_of(b, 100));
    world_free(sessions.world);
}

END_TEST

/* --- wrong tokens -------------------------------------------------------- */

static struct attempt_limit limit;

static uint64_t wait_of(const char *peer, uint64_t now_s)
{
    return attempt_limit_wait_s(&limit, slice_str(peer), now_s);
}

static void fail_from(const char *peer, uint64_t now_s)
{
    attempt_limit_fail(&limit, slice_str(peer), now_s);
}

/* Some failures at once, then one every few seconds; by address, whatever the
 * port. */
START_TEST(test_attempts)
{
    limit = (struct attempt_limit){.at = {{0}}};
    for (int i = 0; i < ATTEMPTS_MAX; i++) {
        ck_assert_uint_eq(wait_of("10.0.0.7:1", 1000), 0);
        fail_from("10.0.0.7:2", 1000);
    }
    ck_assert_uint_eq(wait_of("10.0.0.7:3", 1000), ATTEMPT_EVERY_S);
    ck_assert_uint_eq(wait_of("10.0.0.7", 1000), ATTEMPT_EVERY_S);
    ck_assert_uint_eq(wait_of("10.0.0.8:3", 1000), 0);
    ck_assert_uint_eq(wait_of("10.0.0.7:3", 1000 + ATTEMPT_EVERY_S), 0);
    fail_from("10.0.0.7:3", 1000 + ATTEMPT_EVERY_S);
    ck_assert_uint_gt(wait_of("10.0.0.7:3", 1000 + ATTEMPT_EVERY_S), 0);
    ck_assert_uint_eq(wait_of("10.0.0.7:3", 2000), 0);
}

END_TEST

/* Addresses of one network of IPv6 count together. */
START_TEST(test_attempts_of_networks)
{
    limit = (struct attempt_limit){.at = {{0}}};
    for (int i = 0; i < ATTEMPTS_MAX; i++)
        fail_from("[2001:db8::1]:80", 50);
    ck_assert_uint_gt(wait_of("[2001:db8::2]:81", 50), 0);
    ck_assert_uint_gt(wait_of("2001:db8::3", 50), 0);
    ck_assert_uint_eq(wait_of("[2001:db8:0:1::1]:80", 50), 0);
}

END_TEST

/* However many addresses fail, the newest are remembered. */
START_TEST(test_most_addresses)
{
    char peer[32];
    limit = (struct attempt_limit){.at = {{0}}};
    for (int i = 0; i < 3 * ATTEMPT_ADDRESSES_MAX; i++) {
        snprintf(peer, sizeof(peer), "10.1.%d.%d:1", i / 256, i % 256);
        fail_from(peer, 1000 + (uint64_t)i);
    }
    for (int i = 0; i < ATTEMPTS_MAX; i++)
        fail_from("10.9.9.9:1", 9000);
    ck_assert_uint_gt(wait_of("10.9.9.9:1", 9000), 0);
}

END_TEST

/* --- origins ------------------------------------------------------------- */

/* A form comes from a page of the name and port that it is sent to. */
START_TEST(test_origins)
{
    ck_assert(console_origin_is("http://n1:7480", "n1:7480"));
    ck_assert(console_origin_is("https://N1:7480", "n1:7480"));
    ck_assert(!console_origin_is("http://n1:7481", "n1:7480"));
    ck_assert(!console_origin_is("http://n1:7480.evil", "n1:7480"));
    ck_assert(!console_origin_is("null", "null"));
    ck_assert(!console_origin_is("evil://n1:7480", "n1:7480"));
    ck_assert(!console_origin_is("http://n1", NULL));
    ck_assert(!console_origin_is("", ""));
}

END_TEST

/* Equal bytes are equal, and nothing else. */
START_TEST(test_equal)
{
    ck_assert(console_bytes_equal("abc", "abc", 3));
    ck_assert(!console_bytes_equal("abc", "abd", 3));
    ck_assert(!console_bytes_equal("xbc", "abc", 3));
    ck_assert(console_bytes_equal("x", "y", 0));
}

END_TEST

TEST_MAIN("access",
          test_tokens,
          test_wrong_lines,
          test_file,
          test_session,
          test_most_sessions,
          test_sessions_after_reload,
          test_attempts,
          test_attempts_of_networks,
          test_most_addresses,
          test_origins,
          test_equal)
