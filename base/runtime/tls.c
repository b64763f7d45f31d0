/* TLS 1.3 over a stream, with OpenSSL working in memory.
 *
 * Bytes from the stream below are fed into one memory BIO; bytes for it are
 * taken from another. Plain bytes count as written only once the stream below
 * has accepted their cipher text, so that a slow reader slows its writer down
 * here too.
 */
#include "base/runtime/tls.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>

#include "base/core/macros.h"
#include "base/core/panic.h"
#include "base/core/text.h"
#include "base/runtime/loop.h"
#include "base/runtime/stream_ops.h"
#include "base/runtime/world.h"

/* Cipher text moved at once. */
#define STEP_BYTES ((size_t)8 << 10)
/* Plain bytes encrypted before they must be sent. */
#define BATCH_BYTES ((size_t)64 << 10)
#define NAME_BYTES  256

struct tls_context {
    SSL_CTX *ssl;
    bool nameless;        /* Peers need no certificate. */
    const char *protocol; /* By ALPN; NULL: any. */
    char name[NAME_BYTES];
    int64_t end_s; /* Of the certificate; 0: not known. */
};

struct tls_stream {
    struct stream base;
    struct stream *lower; /* Owned. */
    SSL *ssl;             /* Owned, with the two below. */
    BIO *in;              /* Cipher text from the stream below, */
    BIO *out;             /* and for it. */
    size_t unreported;    /* Plain bytes encrypted whose cipher text the
                             stream below has not accepted completely. */
    char peer_name[NAME_BYTES];
};

/* --- errors -------------------------------------------------------------- */

/* The oldest error of OpenSSL's queue, which is emptied. */
static const char *take_reason(void)
{
    unsigned long code = ERR_get_error();
    const char *reason = code ? ERR_reason_error_string(code) : NULL;
    ERR_clear_error();
    return reason ? reason : "protocol error";
}

static int bad_pem(const char *what, struct err *err)
{
    return err_set(err, ERR_INVALID, "%s: %s", what, take_reason());
}

/* --- names --------------------------------------------------------------- */

/* Copy @s unless it is empty, too long or holds a NUL. */
static bool copy_name(const ASN1_STRING *s, char out[NAME_BYTES])
{
    int len = ASN1_STRING_length(s);
    const unsigned char *data = ASN1_STRING_get0_data(s);
    if (len <= 0 || len >= NAME_BYTES || memchr(data, 0, (size_t)len))
        return false;
    memcpy(out, data, (size_t)len);
    out[len] = '\0';
    return true;
}

static bool dns_name_of(const X509 *cert, char out[NAME_BYTES])
{
    GENERAL_NAMES *names =
        X509_get_ext_d2i(cert, NID_subject_alt_name, NULL, NULL);
    bool found = false;
    for (int i = 0; i < sk_GENERAL_NAME_num(names) && !found; i++) {
        const GENERAL_NAME *n = sk_GENERAL_NAME_value(names, i);
        found = n->type == GEN_DNS && copy_name(n->d.dNSName, out);
    }
    GENERAL_NAMES_free(names);
    return found;
}

static bool common_name_of(const X509 *cert, char out[NAME_BYTES])
{
    const X509_NAME *subject = X509_get_subject_name(cert);
    int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
    if (at < 0)
        return false;
    return copy_name(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)),
                     out);
}

static bool name_of(const X509 *cert, char out[NAME_BYTES])
{
    return dns_name_of(cert, out) || common_name_of(cert, out);
}

/* --- contexts ------------------------------------------------------------ */

static int64_t end_of(const X509 *cert)
{
    struct tm t;
    if (!cert || ASN1_TIME_to_tm(X509_get0_notAfter(cert), &t) != 1)
        return 0;
    return 86400 * text_days_from_date(t.tm_year + 1900, (unsigned)t.tm_mon + 1,
                                       (unsigned)t.tm_mday) +
           3600 * t.tm_hour + 60 * t.tm_min + t.tm_sec;
}

static int use_certificates(struct tls_context *c, BIO *pem, struct err *err)
{
    X509 *cert = PEM_read_bio_X509(pem, NULL, NULL, NULL);
    bool ok = cert && SSL_CTX_use_certificate(c->ssl, cert) == 1;
    if (ok && !name_of(cert, c->name)) {
        X509_free(cert);
        return err_set(err, ERR_INVALID, "the certificate has no name");
    }
    c->end_s = end_of(cert);
    X509_free(cert);
    if (!ok)
        return bad_pem("certificate", err);
    while ((cert = PEM_read_bio_X509(pem, NULL, NULL, NULL)))
        if (SSL_CTX_add0_chain_cert(c->ssl, cert) != 1) {
            X509_free(cert);
            return bad_pem("chain of certificates", err);
        }
    ERR_clear_error(); /* The error that says there is no further one. */
    return 0;
}

static int use_key(struct tls_context *c, BIO *pem, struct err *err)
{
    EVP_PKEY *key = PEM_read_bio_PrivateKey(pem, NULL, NULL, NULL);
    bool ok = key && SSL_CTX_use_PrivateKey(c->ssl, key) == 1 &&
              SSL_CTX_check_private_key(c->ssl) == 1;
    EVP_PKEY_free(key);
    return ok ? 0 : bad_pem("key", err);
}

static int use_authority(struct tls_context *c, BIO *pem, struct err *err)
{
    X509_STORE *store = SSL_CTX_get_cert_store(c->ssl);
    size_t count = 0;
    X509 *cert;
    while ((cert = PEM_read_bio_X509(pem, NULL, NULL, NULL))) {
        bool ok = X509_STORE_add_cert(store, cert) == 1 &&
                  SSL_CTX_add_client_CA(c->ssl, cert) == 1;
        X509_free(cert);
        if (!ok)
            return bad_pem("authority", err);
        count++;
    }
    if (count == 0)
        return bad_pem("authority", err);
    ERR_clear_error();
    return 0;
}

/* Run @use over the text of @pem. */
static int with_pem(struct tls_context *c,
                    struct slice pem,
                    int (*use)(struct tls_context *c, BIO *b, struct err *err),
                    struct err *err)
{
    BIO *b;
    int rc;
    if (pem.len == 0 || pem.len > INT32_MAX)
        return err_set(err, ERR_INVALID, "an empty file");
    b = BIO_new_mem_buf(pem.data, (int)pem.len);
    rc = use(c, b, err);
    BIO_free(b);
    return rc;
}

static struct tls_context *new_context(int verify)
{
    struct tls_context *c = mem_zalloc(1, sizeof(*c));
    c->ssl = SSL_CTX_new(TLS_method());
    if (!c->ssl || !SSL_CTX_set_min_proto_version(c->ssl, TLS1_3_VERSION))
        PANIC("TLS 1.3: %s", take_reason());
    SSL_CTX_set_verify(c->ssl, verify, NULL);
    SSL_CTX_set_num_tickets(c->ssl, 0);
    SSL_CTX_set_mode(c->ssl, SSL_MODE_ENABLE_PARTIAL_WRITE |
                                 SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                 SSL_MODE_RELEASE_BUFFERS);
    return c;
}

/* @authority may be empty. *@c is freed on error. */
static int fill_context(struct tls_context **c,
                        struct slice certificate,
                        struct slice key,
                        struct slice authority,
                        struct err *err)
{
    int rc = with_pem(*c, certificate, use_certificates, err);
    if (rc == 0)
        rc = with_pem(*c, key, use_key, err);
    if (rc == 0 && authority.len)
        rc = with_pem(*c, authority, use_authority, err);
    if (rc) {
        tls_context_free(*c);
        *c = NULL;
    }
    return rc;
}

int tls_context_new(struct slice certificate,
                    struct slice key,
                    struct slice authority,
                    struct tls_context **out,
                    struct err *err)
{
    *out = NULL;
    if (authority.len == 0)
        return err_set(err, ERR_INVALID, "authority: an empty file");
    *out = new_context(SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT);
    return fill_context(out, certificate, key, authority, err);
}

/* Choose c->protocol, if it is among those offered. */
static int on_protocols(SSL *ssl,
                        const unsigned char **out,
                        unsigned char *out_len,
                        const unsigned char *in,
                        unsigned in_len,
                        void *arg)
{
    const struct tls_context *c = arg;
    size_t wanted = strlen(c->protocol);
    (void)ssl;
    for (size_t at = 0; at < in_len && at + 1 + in[at] <= in_len;
         at += 1 + (size_t)in[at])
        if (in[at] == wanted && memcmp(in + at + 1, c->protocol, wanted) == 0) {
            *out = in + at + 1;
            *out_len = in[at];
            return SSL_TLSEXT_ERR_OK;
        }
    return SSL_TLSEXT_ERR_ALERT_FATAL;
}

int tls_public_context_new(struct slice certificate,
                           struct slice key,
                           struct slice authority,
                           bool optional,
                           const char *protocol,
                           struct tls_context **out,
                           struct err *err)
{
    int verify = SSL_VERIFY_NONE;
    if (authority.len)
        verify =
            SSL_VERIFY_PEER | (optional ? 0 : SSL_VERIFY_FAIL_IF_NO_PEER_CERT);
    *out = new_context(verify);
    (*out)->nameless = authority.len == 0 || optional;
    (*out)->protocol = protocol;
    SSL_CTX_set_alpn_select_cb((*out)->ssl, on_protocols, *out);
    return fill_context(out, certificate, key, authority, err);
}

static void offer_protocol(struct tls_context *c)
{
    unsigned char list[32];
    size_t len = strlen(c->protocol);

    PRE(len > 0 && len < sizeof(list));
    list[0] = (unsigned char)len;
    memcpy(list + 1, c->protocol, len);
    if (SSL_CTX_set_alpn_protos(c->ssl, list, (unsigned)len + 1) != 0)
        PANIC("TLS: %s is no protocol", c->protocol);
}

int tls_client_context_new(struct slice certificate,
                           struct slice key,
                           struct slice authority,
                           const char *protocol,
                           struct tls_context **out,
                           struct err *err)
{
    int rc;

    *out = NULL;
    if (authority.len == 0)
        return err_set(err, ERR_INVALID, "authority: an empty file");
    *out = new_context(SSL_VERIFY_PEER);
    (*out)->protocol = protocol;
    offer_protocol(*out);
    if (certificate.len > 0 || key.len > 0)
        return fill_context(out, certificate, key, authority, err);
    rc = with_pem(*out, authority, use_authority, err);
    if (rc) {
        tls_context_free(*out);
        *out = NULL;
    }
    return rc;
}

void tls_context_free(struct tls_context *c)
{
    if (!c)
        return;
    SSL_CTX_free(c->ssl);
    mem_free(c);
}

const char *tls_context_name(const struct tls_context *c)
{
    return c->name;
}

int64_t tls_context_end_s(const struct tls_context *c)
{
    return c->end_s;
}

/* --- cipher text --------------------------------------------------------- */

static struct tls_stream *tls_stream(struct stream *s)
{
    return (struct tls_stream *)s;
}

/* Give the stream below as much as it accepts without waiting. */
static int tls_flush(struct tls_stream *t, struct err *err)
{
    int rc = 0;
    while (rc == 0 && BIO_pending(t->out) > 0) {
        struct slice part;
        char *data;
        size_t done = 0;
        long len = BIO_get_mem_data(t->out, &data);
        if (t->lower->closed)
            return stream__closed_error(t->lower, err);
        part = slice_make(data, (size_t)len);
        rc = t->lower->ops->write(t->lower, &part, 1, 0, &done, err);
        if (rc || done == 0)
            break;
        /* Reading is the way to discard bytes of a memory BIO. */
        for (char dropped[1024]; done;) {
            int n =
                BIO_read(t->out, dropped, (int)MIN_OF(done, sizeof(dropped)));
            PRE(n > 0);
            done -= (size_t)n;
        }
    }
    return rc;
}

/* Feed the bytes that have arrived; *@fed is false when there are none.
 * *@end is true at the end of the stream. */
static int tls_feed(struct tls_stream *t, bool *fed, bool *end, struct err *err)
{
    char bytes[STEP_BYTES];
    size_t got;
    int rc = stream_try_read(t->lower, bytes, sizeof(bytes), &got, end, err);
    *fed = rc == 0 && got > 0;
    if (*fed && BIO_write(t->in, bytes, (int)got) != (int)got)
        PANIC("a memory BIO refuses %zu bytes", got);
    return rc;
}

static int tls_failed(struct tls_stream *t, struct err *err)
{
    long verify = SSL_get_verify_result(t->ssl);
    (void)tls_flush(t, NULL); /* Sends the alert with the reason to the peer. */
    if (verify != X509_V_OK) {
        ERR_clear_error();
        return err_set(err, ERR_DENIED, "%s: its certificate: %s", t->base.peer,
                       X509_verify_cert_error_string(verify));
    }
    return err_set(err, ERR_DENIED, "%s: TLS: %s", t->base.peer, take_reason());
}

/* --- the stream ---------------------------------------------------------- */

static int read_tls(struct stream *base,
                    void *dst,
                    size_t len,
                    size_t *got,
                    bool *end,
                    struct err *err)
{
    struct tls_stream *t = tls_stream(base);
    int rc = 0;
    while (rc == 0) {
        bool fed;
        bool ended;
        int why;
        ERR_clear_error();
        if (SSL_read_ex(t->ssl, dst, len, got) == 1)
            break;
        why = SSL_get_error(t->ssl, 0);
        if (why == SSL_ERROR_ZERO_RETURN) {
            *end = true;
            break;
        }
        if (why != SSL_ERROR_WANT_READ)
            return tls_failed(t, err);
        rc = tls_flush(t, err);
        if (rc == 0)
            rc = tls_feed(t, &fed, &ended, err);
        if (rc == 0 && ended)
            return err_set(err, ERR_CLOSED, "%s: cut off", base->peer);
        if (rc == 0 && !fed)
            break;
    }
    return rc;
}

/* Encrypt up to BATCH_BYTES of the parts. */
static int tls_encrypt(struct tls_stream *t,
                       const struct slice *parts,
                       size_t part_count,
                       size_t skip,
                       struct err *err)
{
    for (size_t i = 0; i < part_count && t->unreported < BATCH_BYTES; i++) {
        struct slice part = slice_sub(parts[i], skip, parts[i].len);
        skip = 0;
        while (part.len && t->unreported < BATCH_BYTES) {
            size_t n;
            ERR_clear_error();
            if (SSL_write_ex(t->ssl, part.data, part.len, &n) != 1)
                return tls_failed(t, err);
            t->unreported += n;
            part = slice_sub(part, n, part.len);
        }
    }
    return 0;
}

static int write_tls(struct stream *base,
                     const struct slice *parts,
                     size_t part_count,
                     size_t skip,
                     size_t *done,
                     struct err *err)
{
    struct tls_stream *t = tls_stream(base);
    int rc = 0;
    if (t->unreported == 0)
        rc = tls_encrypt(t, parts, part_count, skip, err);
    if (rc == 0)
        rc = tls_flush(t, err);
    if (rc == 0 && BIO_pending(t->out) == 0) {
        *done = t->unreported;
        t->unreported = 0;
    }
    return rc;
}

static int wait_tls(struct stream *base, enum stream_side side, struct err *err)
{
    return stream__wait(tls_stream(base)->lower, side, err);
}

/* The close_notify alert is sent first. */
static void end_writing(struct stream *base)
{
    struct tls_stream *t = tls_stream(base);
    ERR_clear_error();
    SSL_shutdown(t->ssl);
    (void)tls_flush(t, NULL);
    ERR_clear_error();
    stream_end_writing(t->lower);
}

static void close_tls(struct stream *base)
{
    struct tls_stream *t = tls_stream(base);
    ERR_clear_error();
    if (SSL_is_init_finished(t->ssl) && !t->lower->closed) {
        SSL_shutdown(t->ssl);
        (void)tls_flush(t, NULL);
    }
    ERR_clear_error();
    stream_close(t->lower); /* A fiber that waits in it keeps it alive. */
    t->lower = NULL;
}

static void free_tls(struct stream *base)
{
    struct tls_stream *t = tls_stream(base);
    SSL_free(t->ssl);
    mem_free(t);
}

static bool is_local(const struct stream *base)
{
    return stream_is_local(((const struct tls_stream *)base)->lower);
}

static const struct stream_ops tls_ops = {
    .read = read_tls,
    .write = write_tls,
    .wait = wait_tls,
    .end_writing = end_writing,
    .close = close_tls,
    .free = free_tls,
    .is_local = is_local,
};

/* --- the handshake ------------------------------------------------------- */

static struct tls_stream *tls_wrap(const struct tls_context *c,
                                   struct stream *s)
{
    struct tls_stream *t = mem_zalloc(1, sizeof(*t));
    uint64_t now_us = world_now_us(loop_world(s->loop));
    t->base.ops = &tls_ops;
    t->base.loop = s->loop;
    t->base.users = 1;
    snprintf(t->base.peer, sizeof(t->base.peer), "%s", s->peer);
    t->lower = s;
    t->ssl = SSL_new(c->ssl);
    t->in = BIO_new(BIO_s_mem());
    t->out = BIO_new(BIO_s_mem());
    if (!t->ssl || !t->in || !t->out)
        PANIC("TLS: %s", take_reason());
    SSL_set_bio(t->ssl, t->in, t->out);
    X509_VERIFY_PARAM_set_time(SSL_get0_param(t->ssl),
                               (time_t)(now_us / 1000000));
    return t;
}

/* Flush, waiting for room. */
static int flush_all(struct tls_stream *t, struct err *err)
{
    int rc = tls_flush(t, err);
    while (rc == 0 && BIO_pending(t->out) > 0) {
        rc = stream__wait(t->lower, STREAM_WRITING, err);
        if (rc == 0)
            rc = tls_flush(t, err);
    }
    return rc;
}

/* Wait for the peer's next bytes. */
static int feed_some(struct tls_stream *t, struct err *err)
{
    bool fed = false;
    bool end = false;
    int rc = 0;
    while (rc == 0 && !fed) {
        rc = tls_feed(t, &fed, &end, err);
        if (rc == 0 && end)
            return err_set(err, ERR_CLOSED, "%s: closed during the handshake",
                           t->base.peer);
        if (rc == 0 && !fed)
            rc = stream__wait(t->lower, STREAM_READING, err);
    }
    return rc;
}

static int shake_hands(struct tls_stream *t, struct err *err)
{
    for (;;) {
        int done;
        int rc;
        ERR_clear_error();
        done = SSL_do_handshake(t->ssl);
        if (done != 1 && SSL_get_error(t->ssl, done) != SSL_ERROR_WANT_READ)
            return tls_failed(t, err);
        rc = flush_all(t, err);
        if (rc == 0 && done != 1)
            rc = feed_some(t, err);
        if (rc || done == 1)
            return rc;
    }
}

static int check_peer(struct tls_stream *t, struct err *err)
{
    X509 *cert = SSL_get1_peer_certificate(t->ssl);
    bool ok = cert && name_of(cert, t->peer_name);
    X509_free(cert);
    return ok ? 0
              : err_set(err, ERR_DENIED, "%s: its certificate has no name",
                        t->base.peer);
}

/* Every client has a certificate of the authority, and could pose as a
 * server without this check. */
static int check_server(const struct tls_stream *t,
                        const char *host,
                        const char *group,
                        struct err *err)
{
    X509 *cert = SSL_get1_peer_certificate(t->ssl);
    bool ok = X509_check_ip_asc(cert, host, 0) == 1 ||
              X509_check_host(cert, host, 0, 0, NULL) == 1 ||
              X509_check_host(cert, group, 0, 0, NULL) == 1;
    X509_free(cert);
    ERR_clear_error(); /* The error that says the name is not an address. */
    if (ok)
        return 0;
    err_set(err, ERR_DENIED,
            "%s: its certificate is for \"%s\", not for %s or %s", t->base.peer,
            t->peer_name, host, group);
    err_hint(err, "a server's certificate names its host, or the cluster");
    return ERR_DENIED;
}

/* Finish a handshake whose outcome is @rc. */
static int tls_secured(struct tls_stream *t, struct stream **s, int rc)
{
    *s = rc ? NULL : &t->base;
    if (rc)
        stream_close(&t->base);
    return rc;
}

int tls_connect(const struct tls_context *c,
                const char *host,
                const char *group,
                struct stream **s,
                struct err *err)
{
    struct tls_stream *t = tls_wrap(c, *s);
    int rc;
    SSL_set_connect_state(t->ssl);
    rc = shake_hands(t, err);
    if (rc == 0)
        rc = check_peer(t, err);
    if (rc == 0)
        rc = check_server(t, host, group, err);
    return tls_secured(t, s, rc);
}

int tls_accept(const struct tls_context *c, struct stream **s, struct err *err)
{
    struct tls_stream *t = tls_wrap(c, *s);
    int rc;
    SSL_set_accept_state(t->ssl);
    rc = shake_hands(t, err);
    if (rc == 0 && !(c->nameless && !SSL_get0_peer_certificate(t->ssl)))
        rc = check_peer(t, err);
    return tls_secured(t, s, rc);
}

void tls_peer_name(const struct stream *s, char *out, size_t bytes)
{
    PRE(s->ops == &tls_ops);
    snprintf(out, bytes, "%s", ((const struct tls_stream *)s)->peer_name);
}
