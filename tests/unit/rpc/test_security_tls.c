/* Authentication by certificates: those of the cluster's authority get in
 * under the name in them, and files that are renewed are read again. */
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "tests/unit/rpc/security_fixture.h"

/* --- Fixture: certificates ----------------------------------------------- */

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

/* --- TLS ----------------------------------------------------------------- */

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

/* The error of a client of certificate "cn" that calls a server of
 * certificate @name as @host: "" when it succeeds. */
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

static void ends(void *arg)
{
    struct rpc_security *none = rpc_security_none("blue", "n");
    struct rpc_security *s;
    int64_t left_s;
    (void)arg;
    make_certificates();
    s = must_tls("blue", "server", "ca.crt");
    left_s = rpc_security_end_s(s) - (int64_t)(world_now_us(world) / 1000000);
    ck_assert_int_le(left_s, 10001);
    ck_assert_int_ge(left_s, 9000);
    ck_assert_int_eq(rpc_security_end_s(none), 0);
    rpc_security_free(s);
    rpc_security_free(none);
}

/* It is known when a certificate ends. */
START_TEST(test_ends)
{
    in_real_world(ends);
}

END_TEST

int main(void)
{
    const TTest *const tests[] = {test_tls, test_tls_names, test_tls_bulk,
                                  test_renewed, test_ends};
    snprintf(dir, sizeof(dir), "%s", test_tmpdir());
    return check_main("security_tls", tests, ARRAY_LEN(tests));
}
