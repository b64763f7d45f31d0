/* Who may talk: those with the right version, cluster and proof get in under
 * their name; all others get a closed connection, a count and a log line. */
#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/core/buf.h"
#include "base/core/rand.h"
#include "base/rpc/handshake.h"
#include "base/rpc/remote.h"
#include "base/rpc/security.h"
#include "base/rpc/vars.h"
#include "base/runtime/fiber.h"
#include "base/runtime/log.h"
#include "base/runtime/loop.h"
#include "base/runtime/sim_cluster.h"
#include "base/runtime/stream.h"
#include "tests/lib/check_main.h"

enum {
    WHO = 1,
    GUARDED = 2,
    BLOB = 3000000
};

/* --- Fixture: worlds ------------------------------------------------- */

static struct world *world;
static const char *address;
static struct vars *vars;
static char dir[300];

static const char *path_of(const char *name)
{
    static char paths[8][400];
    static unsigned at;
    char *p = paths[at++ % 8];
    snprintf(p, 400, "%s/%s", dir, name);
    return p;
}

/* Files lie in the real world, whichever the test runs in. */
static void put_file(const char *name, const char *text, unsigned mode)
{
    FILE *f = fopen(path_of(name), "w");
    ck_assert_ptr_nonnull(f);
    fputs(text, f);
    fclose(f);
    ck_assert_int_eq(chmod(path_of(name), mode), 0);
}

static void in_real_world(task_fn fn)
{
    struct err err = ERR_INIT;
    struct loop *l;
    address = "127.0.0.1:0";
    world = world_real_new();
    vars = vars_new();
    ck_assert_int_eq(loop_new(world, "rpc", &l, &err), 0);
    loop_start(l);
    loop_call(l, "test", fn, NULL);
    loop_stop(l);
    loop_join(l);
    loop_free(l);
    vars_free(vars);
    world_free(world);
}

/* --- Fixture: certificates ------------------------------------------- */

struct issuer {
    EVP_PKEY *key;
    X509 *cert;
};

static X509 *make_cert(const char *cn,
                       const char *dns,
                       EVP_PKEY *key,
                       const struct issuer *by,
                       long from_s,
                       long until_s)
{
    X509 *c = X509_new();
    X509_NAME *n = X509_get_subject_name(c);
    static long serial = 1;
    X509_set_version(c, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(c), serial++);
    X509_gmtime_adj(X509_getm_notBefore(c), from_s);
    X509_gmtime_adj(X509_getm_notAfter(c), until_s);
    X509_set_pubkey(c, key);
    if (cn)
        X509_NAME_add_entry_by_txt(n, "CN", MBSTRING_ASC,
                                   (const unsigned char *)cn, -1, -1, 0);
    X509_set_issuer_name(c, by ? X509_get_subject_name(by->cert) : n);
    if (!by) {
        X509_EXTENSION *e = X509V3_EXT_conf_nid(
            NULL, NULL, NID_basic_constraints, "critical,CA:TRUE");
        X509_add_ext(c, e, -1);
        X509_EXTENSION_free(e);
    }
    if (dns) {
        char text[100];
        X509_EXTENSION *e;
        snprintf(text, sizeof(text), "%s%s",
                 strchr(dns, ':') ? "" : "DNS:", dns);
        e = X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, text);
        X509_add_ext(c, e, -1);
        X509_EXTENSION_free(e);
    }
    ck_assert_int_gt(X509_sign(c, by ? by->key : key, EVP_sha256()), 0);
    return c;
}

static struct issuer make_authority(const char *name, const char *file)
{
    struct issuer a = {.key = EVP_EC_gen("P-256")};
    FILE *f = fopen(path_of(file), "w");
    a.cert = make_cert(name, NULL, a.key, NULL, -1000, 100000);
    PEM_write_X509(f, a.cert);
    fclose(f);
    return a;
}

static void free_issuer(struct issuer *a)
{
    EVP_PKEY_free(a->key);
    X509_free(a->cert);
}

/* NAME.crt and NAME.key. */
static void issue(const struct issuer *by,
                  const char *name,
                  const char *cn,
                  const char *dns,
                  long from_s,
                  long until_s)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = make_cert(cn, dns, key, by, from_s, until_s);
    char file[50];
    FILE *f;
    snprintf(file, sizeof(file), "%s.crt", name);
    f = fopen(path_of(file), "w");
    PEM_write_X509(f, cert);
    fclose(f);
    snprintf(file, sizeof(file), "%s.key", name);
    f = fopen(path_of(file), "w");
    PEM_write_PrivateKey(f, key, NULL, NULL, 0, NULL, NULL);
    fclose(f);
    chmod(path_of(file), 0600);
    X509_free(cert);
    EVP_PKEY_free(key);
}

static int load_tls(const char *cluster,
                    const char *name,
                    const char *authority,
                    struct rpc_security **out,
                    struct err *err)
{
    char cert[50];
    char key[50];
    snprintf(cert, sizeof(cert), "%s.crt", name);
    snprintf(key, sizeof(key), "%s.key", name);
    return rpc_security_tls(world, cluster, path_of(cert), path_of(key),
                            path_of(authority), out, err);
}

static struct rpc_security *
must_tls(const char *cluster, const char *name, const char *authority)
{
    struct rpc_security *s;
    struct err err = ERR_INIT;
    ck_assert_msg(load_tls(cluster, name, authority, &s, &err) == 0, "%s",
                  err.text);
    return s;
}

static struct rpc_security *
must_key(const char *cluster, const char *principal, const char *file)
{
    struct rpc_security *s;
    struct err err = ERR_INIT;
    ck_assert_msg(rpc_security_key(world, cluster, principal, path_of(file), &s,
                                   &err) == 0,
                  "%s", err.text);
    return s;
}

/* --- Fixture: a server that says who calls --------------------------- */

static struct rpc_server *server;
static struct rpc_listener *listener;

static int who(void *ctx, struct rpc_call *call, struct err *err)
{
    (void)ctx;
    (void)err;
    buf_append_slice(call->reply_body, call->principal);
    if (!slice_eq(call->actor, call->principal))
        buf_printf(call->reply_body, " by %.*s", SLICE_ARG(call->actor));
    buf_append_slice(call->reply_attachment, call->attachment);
    return 0;
}

static bool is_gateway(void *ctx, struct slice connected)
{
    (void)ctx;
    return slice_eq_str(connected, "gateway");
}

static uint64_t patience_us = 20000000; /* With a handshake. */

static void start(const struct rpc_security *s)
{
    static const struct rpc_method methods[] = {{WHO, "who", who},
                                                {GUARDED, "guarded", who}};
    struct rpc_listen_options o = {
        .security = s, .vars = vars, .handshake_us = patience_us};
    struct err err = ERR_INIT;
    server = rpc_server_new(world);
    rpc_server_add(server, methods, 2, NULL);
    rpc_server_let_act(server, is_gateway, NULL);
    rpc_server_guard(server, GUARDED);
    ck_assert_msg(rpc_listen(server, address, &o, &listener, &err) == 0, "%s",
                  err.text);
}

static void stop(void)
{
    rpc_listener_close(listener);
    rpc_server_free(server);
}

/* Who the server says that calls with @s, on behalf of @act_as, is; "" when it
 * does not get in, with the reason in @err. */
static const char *
name_acting(const struct rpc_security *s, const char *act_as, struct err *err)
{
    struct rpc_call_options o = {.act_as = slice_str(act_as)};
    static char name[200];
    struct rpc_channel *c =
        rpc_channel_new(rpc_listener_address(listener),
                        &(struct rpc_channel_options){
                            .security = s, .connect_timeout_us = 20000000});
    struct buf body = BUF_INIT;
    int rc = rpc_call(c, WHO, &o, SLICE_EMPTY, SLICE_EMPTY, &body, NULL, err);
    snprintf(name, sizeof(name), "%s", rc ? "" : buf_cstr(&body));
    buf_close(&body);
    rpc_channel_free(c);
    return name;
}

static const char *name_of(const struct rpc_security *s, struct err *err)
{
    return name_acting(s, "", err);
}

static uint64_t refused(const char *why)
{
    char name[100];
    snprintf(name, sizeof(name), "rpc.server.refused.%s", why);
    return var_read(vars_get(vars, name));
}

/* --- None ------------------------------------------------------------ */

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

/* --- On behalf of others --------------------------------------------- */

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

/* What is between processes of the cluster nobody else calls, nor does one of
 * them on behalf of somebody else. */
START_TEST(test_guarded)
{
    in_real_world(guarded);
}

END_TEST

/* Who may call for others is treated as they are, and known; nobody else is. */
START_TEST(test_act_as)
{
    in_real_world(acting);
}

END_TEST

/* --- Keys ------------------------------------------------------------ */

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

/* Who knows the key gets in; nobody else learns anything; keys that others can
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
    /* What cannot be read changes nothing. */
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
    rpc_security_free(ours); /* What was made of it has its own share. */
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

/* --- TLS ------------------------------------------------------------- */

static void copy_file(const char *from, const char *to)
{
    char command[900];
    snprintf(command, sizeof(command), "cp -p '%s' '%s'", path_of(from),
             path_of(to));
    ck_assert_int_eq(system(command), 0);
}

static void make_certificates(void)
{
    struct issuer ours = make_authority("our authority", "ca.crt");
    struct issuer theirs = make_authority("their authority", "ca2.crt");
    issue(&ours, "server", "server", "IP:127.0.0.1", -100, 10000);
    issue(&ours, "shared", "ignored", "DNS:other,DNS:blue", -100, 10000);
    issue(&ours, "common", "blue", NULL, -100, 10000);
    issue(&ours, "masked", "blue", "n1.cell", -100, 10000);
    issue(&ours, "host", "ignored", "DNS:localhost", -100, 10000);
    issue(&ours, "elsewhere", "ignored", "IP:127.0.0.2", -100, 10000);
    issue(&ours, "n1", "ignored", "n1.cell", -100, 10000);
    issue(&ours, "cn", "plain name", NULL, -100, 10000);
    issue(&ours, "expired", "n2", NULL, -1000, -10);
    issue(&ours, "early", "n2", NULL, 5000, 10000);
    issue(&ours, "nameless", NULL, NULL, -100, 10000);
    issue(&theirs, "foreign", "n1", NULL, -100, 10000);
    free_issuer(&ours);
    free_issuer(&theirs);
}

static void tls(void *arg)
{
    static const char *const bad[] = {"expired", "early", "foreign"};
    struct rpc_security *ours;
    struct rpc_security *s;
    struct err err = ERR_INIT;
    (void)arg;
    make_certificates();
    ours = must_tls("blue", "server", "ca.crt");
    start(ours);
    s = must_tls("blue", "n1", "ca.crt");
    ck_assert_str_eq(name_of(s, &err), "n1.cell");
    rpc_security_free(s);
    s = must_tls("blue", "cn", "ca.crt");
    ck_assert_str_eq(name_of(s, &err), "plain name");
    rpc_security_free(s);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        s = must_tls("blue", bad[i], "ca.crt");
        ck_assert_str_eq(name_of(s, &err), "");
        ck_assert_uint_eq(refused("proof"), i + 1);
        rpc_security_free(s);
    }
    s = must_tls("red", "n1", "ca.crt");
    ck_assert_str_eq(name_of(s, &err), "");
    ck_assert_ptr_nonnull(strstr(err.text, "wrong cluster"));
    rpc_security_free(s);
    /* One that does not trust our authority does not talk to us. */
    s = must_tls("blue", "n1", "ca2.crt");
    ck_assert_str_eq(name_of(s, &err), "");
    ck_assert_ptr_nonnull(strstr(err.text, "certificate"));
    rpc_security_free(s);
    s = rpc_security_none("blue", "n1"); /* No TLS at all. */
    ck_assert_str_eq(name_of(s, &err), "");
    rpc_security_free(s);
    stop();
    rpc_security_free(ours);
    ck_assert_int_eq(load_tls("blue", "nameless", "ca.crt", &s, &err),
                     ERR_INVALID);
    ck_assert_int_eq(rpc_security_tls(world, "b", path_of("n1.crt"),
                                      path_of("server.key"), path_of("ca.crt"),
                                      &s, &err),
                     ERR_INVALID);
    put_file("junk.crt", "no certificate", 0644);
    ck_assert_int_eq(rpc_security_tls(world, "b", path_of("junk.crt"),
                                      path_of("n1.key"), path_of("ca.crt"), &s,
                                      &err),
                     ERR_INVALID);
}

/* Certificates of our authority get in under their name; expired, early,
 * foreign and missing ones do not. */
START_TEST(test_tls)
{
    in_real_world(tls);
}

END_TEST

/* What a client of certificate "cn" says to a server of certificate @name,
 * called by @host: "" when all is well. */
static const char *
call_server(const char *name, const char *host, struct err *err)
{
    struct rpc_security *ours = must_tls("blue", name, "ca.crt");
    struct rpc_security *s = must_tls("blue", "cn", "ca.crt");
    struct rpc_channel *c;
    char called[100];
    const char *port;
    int rc;
    start(ours);
    port = strrchr(rpc_listener_address(listener), ':');
    snprintf(called, sizeof(called), "%s%s", host, port);
    c = rpc_channel_new(called, &(struct rpc_channel_options){.security = s});
    *err = ERR_INIT;
    rc = rpc_call(c, WHO, NULL, SLICE_EMPTY, SLICE_EMPTY, NULL, NULL, err);
    ck_assert(rc == 0 || rc == ERR_DENIED);
    rpc_channel_free(c);
    stop();
    rpc_security_free(ours);
    rpc_security_free(s);
    return err->text;
}

static void tls_names(void *arg)
{
    struct err err;
    (void)arg;
    make_certificates();
    ck_assert_str_eq(call_server("server", "127.0.0.1", &err), "");
    ck_assert_str_eq(call_server("shared", "127.0.0.1", &err), "");
    ck_assert_str_eq(call_server("common", "127.0.0.1", &err), "");
    ck_assert_str_eq(call_server("host", "localhost", &err), "");
    ck_assert_ptr_nonnull(strstr(
        call_server("n1", "127.0.0.1", &err),
        "its certificate is for \"n1.cell\", not for 127.0.0.1 or blue"));
    ck_assert_ptr_nonnull(strstr(err.hint, "names its host"));
    ck_assert_str_ne(call_server("masked", "127.0.0.1", &err), "");
    ck_assert_str_ne(call_server("elsewhere", "127.0.0.1", &err), "");
    ck_assert_str_ne(call_server("host", "127.0.0.1", &err), "");
    ck_assert_str_ne(call_server("server", "localhost", &err), "");
}

/* A server shows a certificate for the host that was called, name or address,
 * or for the cluster; with another, as every client has, it is not talked to.
 */
START_TEST(test_tls_names)
{
    in_real_world(tls_names);
}

END_TEST

static int failures;

static void send_blobs(void *arg)
{
    char *blob = malloc(BLOB);
    struct err err = ERR_INIT;
    struct rand_gen r;
    rand_init(&r, (uintptr_t)&r);
    for (size_t i = 0; i < BLOB; i++)
        blob[i] = (char)rand_u64(&r);
    for (int i = 0; i < 3; i++) {
        struct buf back = BUF_INIT;
        if (rpc_call(arg, WHO, NULL, SLICE_EMPTY, slice_make(blob, BLOB), NULL,
                     &back, &err) ||
            back.len != BLOB || memcmp(back.data, blob, BLOB) != 0) {
            printf("%s\n", err.text);
            failures++;
        }
        buf_close(&back);
    }
    free(blob);
}

static void tls_bulk(void *arg)
{
    struct rpc_security *ours = must_tls("blue", "server", "ca.crt");
    struct rpc_security *s = must_tls("blue", "n1", "ca.crt");
    struct rpc_channel *c;
    struct fiber *f[4];
    (void)arg;
    failures = 0;
    start(ours);
    c = rpc_channel_new(rpc_listener_address(listener),
                        &(struct rpc_channel_options){.security = s});
    for (int i = 0; i < 4; i++)
        f[i] = fiber_start(loop_self(), "sender", send_blobs, c);
    for (int i = 0; i < 4; i++)
        fiber_join(f[i]);
    ck_assert_int_eq(failures, 0);
    rpc_channel_free(c);
    stop();
    rpc_security_free(ours);
    rpc_security_free(s);
}

/* Megabytes both ways at once through TLS. */
START_TEST(test_tls_bulk)
{
    make_certificates();
    in_real_world(tls_bulk);
}

END_TEST

/* --- Strangers ------------------------------------------------------- */

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

static void strangers(void *arg)
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

static void strangers_logged(void *arg)
{
    struct err err = ERR_INIT;
    struct logger *l;
    char *text;
    unsigned lines = 0;
    ck_assert_int_eq(logger_open(path_of("log"), LOG_LEVEL_INFO, &l, &err), 0);
    world_set_logger(world, l);
    strangers(arg);
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
START_TEST(test_strangers)
{
    key_files();
    in_real_world(strangers_logged);
}

END_TEST

/* --- In the simulation ----------------------------------------------- */

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
    vars = vars_new();
    sim_cluster_run(c, sim_scenario, c);
    sim_cluster_free(c);
    vars_free(vars);
}

END_TEST

static void renewed(void *arg)
{
    struct rpc_security *ours;
    struct rpc_security *n1;
    struct rpc_security *foreign;
    struct err err = ERR_INIT;
    (void)arg;
    make_certificates();
    copy_file("server.crt", "live.crt");
    copy_file("server.key", "live.key");
    copy_file("ca.crt", "live-ca.crt");
    ours = must_tls("blue", "live", "live-ca.crt");
    n1 = must_tls("blue", "n1", "ca.crt");
    foreign = must_tls("blue", "foreign", "ca.crt");
    start(ours);
    ck_assert_str_eq(name_of(n1, &err), "n1.cell");
    ck_assert_str_eq(name_of(foreign, &err), "");
    /* Another name is refused, and everything stays. */
    copy_file("n1.crt", "live.crt");
    copy_file("n1.key", "live.key");
    ck_assert_int_eq(rpc_security_reload(ours, world, &err), ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(err.text, "is for n1.cell"));
    ck_assert_str_eq(name_of(n1, &err), "n1.cell");
    /* Another authority: who it did not sign is out. */
    copy_file("server.crt", "live.crt");
    copy_file("server.key", "live.key");
    copy_file("ca2.crt", "live-ca.crt");
    ck_assert_int_eq(rpc_security_reload(ours, world, &err), 0);
    ck_assert_str_eq(name_of(n1, &err), "");
    stop();
    rpc_security_free(ours);
    rpc_security_free(n1);
    rpc_security_free(foreign);
}

/* Certificates and authorities are replaced while the server serves. */
START_TEST(test_renewed)
{
    in_real_world(renewed);
}

END_TEST

int main(void)
{
    const TTest *const tests[] = {
        test_none,      test_guarded,  test_act_as,    test_keys,
        test_rotation,  test_renewed,  test_impostor,  test_tls,
        test_tls_names, test_tls_bulk, test_strangers, test_simulated};
    snprintf(dir, sizeof(dir), "%s", test_tmpdir());
    return check_main("security", tests, ARRAY_LEN(tests));
}
