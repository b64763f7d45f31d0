/* Authentication: peers with the right version, cluster and proof get in
 * under their name; all others get a closed connection, a count and a log
 * line. Certificates are tested in test_security_tls.c. */
#include "tests/unit/rpc/security_fixture.h"

/* --- None ---------------------------------------------------------------- */

static void none(void *arg)
{
    struct rpc_security *ours = rpc_security_none("blue", "server");
    struct rpc_security *friend = rpc_security_none("blue", "n7");
    struct rpc_security *nameless = rpc_security_none("blue", "");
    struct rpc_security *stranger = rpc_security_none("red", "n7");
    struct rpc_listener *l;
    struct err err = ERR_INIT;
    (void)arg;
    start(ours);
    ck_assert_str_eq(name_of(friend, &err), "n7");
    ck_assert_str_eq(name_of(nameless, &err), "anonymous");
    ck_assert_str_eq(name_of(stranger, &err), "");
    ck_assert_int_eq(err.code, ERR_DENIED);
    ck_assert_ptr_nonnull(strstr(err.text, "wrong cluster"));
    ck_assert_uint_eq(refused("cluster"), 1);
    ck_assert_int_eq(rpc_listen(server, "0.0.0.0:0", NULL, &l, &err),
                     ERR_DENIED);
    stop();
    rpc_security_free(ours);
    rpc_security_free(friend);
    rpc_security_free(nameless);
    rpc_security_free(stranger);
}

/* Without security names are believed, clusters are told apart, and only this
 * machine is listened to. */
START_TEST(test_none)
{
    in_real_world(none);
}

END_TEST

/* --- On behalf of others ------------------------------------------------- */

static void acting(void *arg)
{
    struct rpc_security *ours = rpc_security_none("blue", "server");
    struct rpc_security *gateway = rpc_security_none("blue", "gateway");
    struct rpc_security *mallory = rpc_security_none("blue", "mallory");
    struct err err = ERR_INIT;
    (void)arg;
    start(ours);
    ck_assert_str_eq(name_acting(gateway, "alice", &err), "alice by gateway");
    ck_assert_str_eq(name_acting(gateway, "", &err), "gateway");
    ck_assert_str_eq(name_acting(mallory, "mallory", &err), "mallory");
    ck_assert_str_eq(name_acting(mallory, "alice", &err), "");
    ck_assert_int_eq(err.code, ERR_DENIED);
    ck_assert_str_eq(err.text, "mallory may not act for alice");
    ck_assert_str_eq(name_acting(gateway, "no name", &err), "");
    ck_assert_int_eq(err.code, ERR_INVALID);
    stop();
    rpc_security_free(ours);
    rpc_security_free(gateway);
    rpc_security_free(mallory);
}

static int
call_guarded(const struct rpc_security *s, const char *act_as, struct err *err)
{
    struct rpc_call_options o = {.act_as = slice_str(act_as)};
    struct rpc_channel *c =
        rpc_channel_new(rpc_listener_address(listener),
                        &(struct rpc_channel_options){
                            .security = s, .connect_timeout_us = 20000000});
    int rc =
        rpc_call(c, GUARDED, &o, SLICE_EMPTY, SLICE_EMPTY, NULL, NULL, err);
    rpc_channel_free(c);
    return rc;
}

static void guarded(void *arg)
{
    struct rpc_security *ours = rpc_security_none("blue", "server");
    struct rpc_security *gateway = rpc_security_none("blue", "gateway");
    struct rpc_security *mallory = rpc_security_none("blue", "mallory");
    struct err err = ERR_INIT;
    (void)arg;
    start(ours);
    ck_assert_int_eq(call_guarded(gateway, "", &err), 0);
    ck_assert_int_eq(call_guarded(gateway, "alice", &err), ERR_DENIED);
    ck_assert_int_eq(call_guarded(mallory, "", &err), ERR_DENIED);
    ck_assert_str_eq(err.text, "mallory may not call guarded, which is between "
                               "the cluster's own processes");
    stop();
    rpc_security_free(ours);
    rpc_security_free(gateway);
    rpc_security_free(mallory);
}

/* Internal methods are called neither by others nor by a member on behalf of
 * others. */
START_TEST(test_guarded)
{
    in_real_world(guarded);
}

END_TEST

/* A caller that may act for others gets their rights, and stays known; no
 * other caller does. */
START_TEST(test_act_as)
{
    in_real_world(acting);
}

END_TEST

/* --- Keys ---------------------------------------------------------------- */

static void key_files(void)
{
    put_file("key", "  0123456789abcdef0123\n", 0600);
    put_file("other", "0123456789abcdef0124", 0600);
    put_file("short", "0123456789abcde", 0600);
    put_file("open", "0123456789abcdef0123", 0640);
}

static void keys(void *arg)
{
    struct rpc_security *ours;
    struct rpc_security *s[5];
    struct err err = ERR_INIT;
    (void)arg;
    key_files();
    ours = must_key("blue", "server", "key");
    s[0] = must_key("blue", "n1", "key");
    s[1] = must_key("blue", "n1", "other");
    s[2] = must_key("red", "n1", "key");
    s[3] = rpc_security_none("blue", "n1");
    start(ours);
    ck_assert_str_eq(name_of(s[0], &err), "n1");
    for (int i = 1; i < 4; i++) {
        ck_assert_str_eq(name_of(s[i], &err), "");
        ck_assert_int_eq(err.code, ERR_UNAVAILABLE); /* No word why. */
        ck_assert_ptr_nonnull(strstr(err.hint, "log"));
    }
    ck_assert_uint_eq(refused("proof"), 1);
    ck_assert_uint_eq(refused("cluster"), 1);
    ck_assert_uint_eq(refused("kind"), 1);
    stop();
    start(s[3]); /* A server without a key: it cannot prove itself. */
    ck_assert_str_eq(name_of(s[0], &err), "");
    stop();
    for (int i = 0; i < 4; i++)
        rpc_security_free(s[i]);
    rpc_security_free(ours);
    ck_assert_int_eq(
        rpc_security_key(world, "", "", path_of("short"), &ours, &err),
        ERR_INVALID);
    ck_assert_int_eq(
        rpc_security_key(world, "", "", path_of("open"), &ours, &err),
        ERR_DENIED);
    ck_assert_ptr_nonnull(strstr(err.hint, "chmod 600"));
    ck_assert_int_eq(
        rpc_security_key(world, "", "", path_of("none"), &ours, &err),
        ERR_NOTFOUND);
}

/* Peers that know the key get in; others learn nothing; keys that others can
 * read or guess are refused. */
START_TEST(test_keys)
{
    in_real_world(keys);
}

END_TEST

static void rotation(void *arg)
{
    struct rpc_security *ours;
    struct rpc_security *as;
    struct rpc_security *old;
    struct rpc_security *fresh;
    struct err err = ERR_INIT;
    (void)arg;
    put_file("old", "0123456789abcdef-old\n", 0600);
    put_file("fresh", "0123456789abcdef-fresh\n", 0600);
    put_file("cluster", "0123456789abcdef-old\n", 0600);
    ours = must_key("blue", "server", "cluster");
    as = rpc_security_as(ours, "n1");
    old = must_key("blue", "old", "old");
    fresh = must_key("blue", "fresh", "fresh");
    start(ours);
    ck_assert_str_eq(name_of(old, &err), "old");
    ck_assert_str_eq(name_of(fresh, &err), "");
    /* Both are let in; the old one is shown. */
    put_file("cluster", "0123456789abcdef-old\n\n  0123456789abcdef-fresh ",
             0600);
    ck_assert_int_eq(rpc_security_reload(ours, world, &err), 0);
    ck_assert_str_eq(name_of(old, &err), "old");
    ck_assert_str_eq(name_of(fresh, &err), "fresh");
    ck_assert_str_eq(name_of(as, &err), "n1");
    /* The new one is shown, by those of the same files too. */
    put_file("cluster", "0123456789abcdef-fresh\n0123456789abcdef-old\n", 0600);
    ck_assert_int_eq(rpc_security_reload(ours, world, &err), 0);
    ck_assert_str_eq(name_of(old, &err), "old");
    ck_assert_str_eq(name_of(as, &err), "n1");
    /* The old one is out. */
    put_file("cluster", "0123456789abcdef-fresh\n", 0600);
    ck_assert_int_eq(rpc_security_reload(ours, world, &err), 0);
    ck_assert_str_eq(name_of(old, &err), "");
    ck_assert_str_eq(name_of(fresh, &err), "fresh");
    ck_assert_str_eq(name_of(as, &err), "n1");
    /* Unreadable files change nothing. */
    put_file("cluster", "short\n", 0600);
    ck_assert_int_eq(rpc_security_reload(ours, world, &err), ERR_INVALID);
    put_file("cluster",
             "0123456789abcdef-1\n0123456789abcdef-2\n0123456789abcdef-3\n",
             0600);
    ck_assert_int_eq(rpc_security_reload(ours, world, &err), ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(err.text, "more than 2 keys"));
    put_file("cluster", "0123456789abcdef-old\n", 0644);
    ck_assert_int_eq(rpc_security_reload(ours, world, &err), ERR_DENIED);
    ck_assert_str_eq(name_of(fresh, &err), "fresh");
    stop();
    rpc_security_free(ours); /* Its copy has its own share. */
    ck_assert_int_eq(rpc_security_reload(as, world, &err), ERR_DENIED);
    rpc_security_free(as);
    rpc_security_free(old);
    rpc_security_free(fresh);
}

/* A key is changed while the server serves: two are accepted meanwhile. */
START_TEST(test_rotation)
{
    in_real_world(rotation);
}

END_TEST

struct caller {
    struct rpc_channel *channel;
    struct err err;
    int rc;
};

static void call_once(void *arg)
{
    struct caller *c = arg;
    c->rc = rpc_call(c->channel, WHO, NULL, SLICE_EMPTY, SLICE_EMPTY, NULL,
                     NULL, &c->err);
}

/* A server that says back what it hears: the labels keep that from being a
 * proof. */
static void impostor(void *arg)
{
    struct rpc_security *s = must_key("blue", "n1", "key");
    struct caller caller = {.err = ERR_INIT};
    struct stream_listener *l;
    struct stream *to = NULL;
    struct err err = ERR_INIT;
    struct fiber *f;
    struct slice part;
    char bytes[200];
    size_t got;
    (void)arg;
    ck_assert_int_eq(stream_listen(address, &l, &err), 0);
    caller.channel =
        rpc_channel_new(stream_listener_address(l),
                        &(struct rpc_channel_options){.security = s});
    f = fiber_start(loop_self(), "caller", call_once, &caller);
    ck_assert_int_eq(stream_accept(l, &to, &err), 0);
    ck_assert_int_eq(stream_read(to, bytes, sizeof(bytes), &got, &err), 0);
    ck_assert_uint_ge(got, HANDSHAKE_HELLO_BYTES);
    part = slice_make(bytes, got);
    ck_assert_int_eq(stream_write(to, &part, 1, &err), 0);
    fiber_join(f);
    ck_assert_int_eq(caller.rc, ERR_DENIED);
    ck_assert_ptr_nonnull(strstr(caller.err.text, "another protocol"));
    rpc_channel_free(caller.channel);
    stream_close(to);
    stream_listener_close(l);
    rpc_security_free(s);
}

/* A server that only reflects is not believed. */
START_TEST(test_impostor)
{
    key_files();
    in_real_world(impostor);
}

END_TEST

/* --- Unauthenticated peers ----------------------------------------------- */

static size_t bytes_back(const char *bytes, size_t len)
{
    struct err err = ERR_INIT;
    struct slice part = slice_make(bytes, len);
    struct stream *s;
    char p[1000];
    size_t total = 0;
    size_t got = 1;
    ck_assert_int_eq(stream_connect(rpc_listener_address(listener), &s, &err),
                     0);
    (void)!stream_write(s, &part, 1, &err);
    while (got && stream_read(s, p, sizeof(p), &got, &err) == 0)
        total += got;
    stream_close(s);
    return total;
}

static void unauthenticated(void *arg)
{
    struct rpc_security *ours = must_key("blue", "server", "key");
    struct rand_gen r;
    char junk[500];
    (void)arg;
    rand_init(&r, 3);
    patience_us = 300000;
    start(ours);
    for (int i = 0; i < 50; i++) {
        for (size_t b = 0; b < sizeof(junk); b++)
            junk[b] = (char)rand_u64(&r);
        if (i % 2) /* As a hello, with names of no length we take. */
            memcpy(junk, "QRPH\1\1\1\377\377\0\0\0", 12);
        ck_assert_uint_eq(bytes_back(junk, 1 + rand_below(&r, 499)), 0);
    }
    ck_assert_uint_gt(refused("protocol"), 20);
    ck_assert_uint_gt(refused("silent"), 0); /* Too short to be a hello. */
    stop();
    rpc_security_free(ours);
}

static char *read_log(void)
{
    FILE *f = fopen(path_of("log"), "r");
    char *p = calloc(1, 100000);
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_lt(fread(p, 1, 99999, f), 99999);
    fclose(f);
    return p;
}

static void unauthenticated_logged(void *arg)
{
    struct err err = ERR_INIT;
    struct logger *l;
    char *text;
    unsigned lines = 0;
    ck_assert_int_eq(logger_open(path_of("log"), LOG_LEVEL_INFO, &l, &err), 0);
    world_set_logger(world, l);
    unauthenticated(arg);
    world_set_logger(world, NULL);
    logger_close(l);
    text = read_log();
    for (const char *p = text; (p = strchr(p, '\n')); p++)
        lines++;
    ck_assert_uint_eq(lines, 1); /* Once per peer and minute. */
    ck_assert_ptr_nonnull(strstr(text, "WARN rpc refused peer=127.0.0.1"));
    free(text);
}

/* Junk gets not one byte back, is counted, and logged once. */
START_TEST(test_unauthenticated)
{
    key_files();
    in_real_world(unauthenticated_logged);
}

END_TEST

/* --- In the simulation --------------------------------------------------- */

static void sim_program(void *arg)
{
    struct rpc_security *s = rpc_security_none("blue", "n1");
    (void)arg;
    start(s);
    while (fiber_check(NULL) == 0)
        if (fiber_park_checked(NULL))
            break;
    stop();
    rpc_security_free(s);
}

static void sim_scenario(void *arg)
{
    struct sim_cluster *c = arg;
    struct rpc_security *s = rpc_security_none("blue", "client");
    struct err err = ERR_INIT;
    sim_boot(world, sim_program, NULL);
    world_sleep_us(sim_director(c), 10000);
    ck_assert_str_eq(name_of(s, &err), "client");
    rpc_security_free(s);
}

/* Simulated machines need no security, and keep names and clusters. */
START_TEST(test_simulated)
{
    struct sim_cluster *c = sim_cluster_new(5);
    world = sim_machine_new(c, "n1", &(struct sim_options){.network_us = 100});
    address = ":7";
    metrics = metrics_new();
    sim_cluster_run(c, sim_scenario, c);
    sim_cluster_free(c);
    metrics_free(metrics);
}

END_TEST

int main(void)
{
    const TTest *const tests[] = {
        test_none,     test_guarded,  test_act_as,          test_keys,
        test_rotation, test_impostor, test_unauthenticated, test_simulated};
    snprintf(dir, sizeof(dir), "%s", test_tmpdir());
    return check_main("security", tests, ARRAY_LEN(tests));
}
