/* The first bytes of a connection: hello, challenge, proof, welcome, as
 * security.h and docs/protocols.md describe. Both sides' nonces and a label
 * of the side are part of each proof, so that no proof can be replayed or
 * reflected. */
#include "base/rpc/handshake.h"

#include <string.h>

#include "base/core/coding.h"
#include "base/core/panic.h"
#include "base/core/text.h"
#include "base/rpc/frame.h"
#include "base/rpc/security_internal.h"
#include "base/rpc/shared_ring.h"
#include "base/runtime/loop.h"
#include "base/runtime/shared_memory.h"
#include "base/runtime/stream.h"
#include "base/runtime/tls.h"
#include "base/runtime/world.h"

#define HELLO_MAGIC     UINT32_C(0x48505251) /* "QRPH" */
#define CHALLENGE_MAGIC UINT32_C(0x41505251) /* "QRPA" */
#define WELCOME_MAGIC   UINT32_C(0x57505251) /* "QRPW" */

/* Labels keep a proof of one side from being accepted as the other's. */
#define CLIENT_LABEL "quarry rpc client 1"
#define SERVER_LABEL "quarry rpc server 1"

/* Offsets in a hello; the two names follow it. */
enum {
    HELLO_AT_MAGIC = 0,
    HELLO_AT_VERSION_MIN = 4,
    HELLO_AT_VERSION_MAX = 5,
    HELLO_AT_KIND = 6,
    HELLO_AT_CLUSTER_BYTES = 7,
    HELLO_AT_PRINCIPAL_BYTES = 8,
    HELLO_AT_SHARES = 9, /* 1: attachments may go through shared memory. */
    HELLO_AT_RESERVED = 10,
    HELLO_AT_NONCE = 12,
};

STATIC_ASSERT(HELLO_AT_NONCE + HANDSHAKE_NONCE_BYTES == HANDSHAKE_HELLO_BYTES,
              "a hello is 44 bytes and its names");

/* Offsets in challenge and welcome: magic, version, status, reserved, then the
 * nonce or the proof. */
enum {
    ANSWER_AT_MAGIC = 0,
    ANSWER_AT_VERSION = 4,
    ANSWER_AT_STATUS = 5, /* 0, or 1 + enum handshake_refusal. */
    ANSWER_AT_SHARES = 6, /* 1, in a welcome: they will. */
    ANSWER_AT_BYTES = 8,
};

STATIC_ASSERT(ANSWER_AT_BYTES + HANDSHAKE_NONCE_BYTES ==
                  HANDSHAKE_CHALLENGE_BYTES,
              "a challenge is 40 bytes");
STATIC_ASSERT(ANSWER_AT_BYTES + HANDSHAKE_PROOF_BYTES ==
                  HANDSHAKE_WELCOME_BYTES,
              "a welcome is 40 bytes");

static const char *const refusal_names[] = {
#define X(name, text) text,
    HANDSHAKE_REFUSALS(X)
#undef X
};

const char *handshake_refusal_name(enum handshake_refusal r)
{
    return refusal_names[r];
}

static const struct rpc_security *or_default(const struct rpc_security *s)
{
    return s ? s : &rpc_security_default;
}

static struct world *world_here(void)
{
    return loop_world(loop_self());
}

static int write_bytes(struct stream *s, struct slice bytes, struct err *err)
{
    return stream_write(s, &bytes, 1, err);
}

/* The segment that this side offers to share; NULL if it cannot. */
static struct shared_memory *make_segment(const struct stream *s,
                                          struct sharing *sharing)
{
    struct shared_memory *own = NULL;
    if (stream_shares_memory(s))
        (void)!shared_memory_new(shared_ring_segment_bytes(), &own,
                                 &sharing->refused);
    return own;
}

/* --- hello --------------------------------------------------------------- */

static void
put_hello(const struct rpc_security *s, bool shares, struct buf *out)
{
    size_t cluster = strlen(s->cluster);
    size_t principal = strlen(s->principal);
    char *p = buf_extend(out, HANDSHAKE_HELLO_BYTES);
    memset(p, 0, HANDSHAKE_HELLO_BYTES);
    put_le32(p + HELLO_AT_MAGIC, HELLO_MAGIC);
    p[HELLO_AT_VERSION_MIN] = PROTOCOL_VERSION_MIN;
    p[HELLO_AT_VERSION_MAX] = PROTOCOL_VERSION_MAX;
    p[HELLO_AT_KIND] = (char)s->kind;
    p[HELLO_AT_CLUSTER_BYTES] = (char)cluster;
    p[HELLO_AT_PRINCIPAL_BYTES] = (char)principal;
    p[HELLO_AT_SHARES] = shares;
    world_random_bytes(world_here(), p + HELLO_AT_NONCE, HANDSHAKE_NONCE_BYTES);
    buf_append(out, s->cluster, cluster);
    buf_append(out, s->principal, principal);
}

int hello_decode(const char fixed[HANDSHAKE_HELLO_BYTES],
                 struct hello *h,
                 size_t *more,
                 struct err *err)
{
    size_t cluster = (unsigned char)fixed[HELLO_AT_CLUSTER_BYTES];
    size_t principal = (unsigned char)fixed[HELLO_AT_PRINCIPAL_BYTES];
    if (get_le32(fixed + HELLO_AT_MAGIC) != HELLO_MAGIC)
        return err_set(err, ERR_CORRUPT, "hello: bad magic %08x",
                       get_le32(fixed + HELLO_AT_MAGIC));
    if (cluster > RPC_NAME_BYTES_MAX || principal > RPC_NAME_BYTES_MAX)
        return err_set(err, ERR_CORRUPT, "hello: names of %zu and %zu bytes",
                       cluster, principal);
    if (fixed[HELLO_AT_RESERVED] || fixed[HELLO_AT_RESERVED + 1] ||
        (fixed[HELLO_AT_SHARES] & ~1))
        return err_set(err, ERR_CORRUPT, "hello: reserved bytes in use");
    *more = cluster + principal;
    *h = (struct hello){
        .version_min = (unsigned char)fixed[HELLO_AT_VERSION_MIN],
        .version_max = (unsigned char)fixed[HELLO_AT_VERSION_MAX],
        .kind = (unsigned char)fixed[HELLO_AT_KIND],
        .shares = fixed[HELLO_AT_SHARES] == 1,
        .cluster = {fixed + HANDSHAKE_HELLO_BYTES, cluster},
        .principal = {fixed + HANDSHAKE_HELLO_BYTES + cluster, principal},
    };
    return 0;
}

/* --- the server ---------------------------------------------------------- */

/* A hello: its bytes, and the decoded fields. */
struct greeting {
    char bytes[HANDSHAKE_HELLO_BYTES + 2 * RPC_NAME_BYTES_MAX];
    size_t len;
    struct hello hello;
};

static int read_hello(struct stream *s,
                      struct greeting *g,
                      enum handshake_refusal *why,
                      struct err *err)
{
    size_t more;
    int rc = stream_read_full(s, g->bytes, HANDSHAKE_HELLO_BYTES, err);
    *why = HANDSHAKE_SILENT;
    if (rc)
        return rc;
    *why = HANDSHAKE_PROTOCOL;
    rc = hello_decode(g->bytes, &g->hello, &more, err);
    if (rc)
        return rc;
    *why = HANDSHAKE_SILENT;
    g->len = HANDSHAKE_HELLO_BYTES + more;
    return more ? stream_read_full(s, g->bytes + HANDSHAKE_HELLO_BYTES, more,
                                   err)
                : 0;
}

/* Names appear unescaped in logs, access lists and terminals. */
static bool is_printable_name(struct slice name)
{
    struct buf shown = BUF_INIT;
    bool same;
    text_put_escaped(&shown, name, 0);
    same = slice_eq(buf_slice(&shown), name);
    buf_close(&shown);
    return same;
}

static int check_hello(const struct rpc_security *sec,
                       const struct hello *h,
                       enum handshake_refusal *why,
                       struct err *err)
{
    *why = HANDSHAKE_VERSION;
    if (h->version_min > PROTOCOL_VERSION_MAX ||
        h->version_max < PROTOCOL_VERSION_MIN ||
        h->version_min > h->version_max)
        return err_set(err, ERR_UNSUPPORTED,
                       "it speaks versions %u to %u, this program %d to %d",
                       h->version_min, h->version_max, PROTOCOL_VERSION_MIN,
                       PROTOCOL_VERSION_MAX);
    *why = HANDSHAKE_KIND;
    if (h->kind != (unsigned)sec->kind)
        return err_set(err, ERR_DENIED, "it wants security kind %u, not %d",
                       h->kind, sec->kind);
    *why = HANDSHAKE_CLUSTER;
    if (!slice_eq_str(h->cluster, sec->cluster))
        return err_set(err, ERR_DENIED, "it belongs to cluster \"%.*s\"",
                       SLICE_ARG(h->cluster));
    *why = HANDSHAKE_NAME;
    if (!is_printable_name(h->principal))
        return err_set(err, ERR_DENIED,
                       "its principal has characters that cannot be printed");
    return 0;
}

/* The version that both sides speak; of a client that none fits, the newest of
 * this program. */
static unsigned choose_version(const struct hello *h)
{
    bool fits = h->version_max >= PROTOCOL_VERSION_MIN;
    return fits ? MIN_OF(h->version_max, (unsigned)PROTOCOL_VERSION_MAX)
                : PROTOCOL_VERSION_MAX;
}

static void
start_answer(char *p, uint32_t magic, const struct hello *h, unsigned status)
{
    memset(p, 0, HANDSHAKE_WELCOME_BYTES);
    put_le32(p + ANSWER_AT_MAGIC, magic);
    p[ANSWER_AT_VERSION] = (char)choose_version(h);
    p[ANSWER_AT_STATUS] = (char)status;
}

/* True if @got was made with one of the keys; our own proof then uses the
 * same key. */
static bool check_proof(const struct rpc_security *sec,
                        const struct slice parts[2],
                        const unsigned char got[HANDSHAKE_PROOF_BYTES],
                        unsigned char proof[HANDSHAKE_PROOF_BYTES])
{
    struct security_secrets *x = security_secrets_ref(sec);
    bool right = false;
    for (size_t i = 0; i < security_key_count(x) && !right; i++) {
        unsigned char want[HANDSHAKE_PROOF_BYTES];
        security_mac(x, i, CLIENT_LABEL, parts, 2, want);
        security_mac(x, i, SERVER_LABEL, parts, 2, proof);
        right = security_same(want, got, sizeof(want));
    }
    security_secrets_unref(x);
    return right;
}

/* Challenge the client, check its proof, and set @proof to our own. */
static int handshake_challenge(const struct rpc_security *sec,
                               struct stream *s,
                               const struct greeting *g,
                               enum handshake_refusal *why,
                               unsigned char proof[HANDSHAKE_PROOF_BYTES],
                               struct err *err)
{
    char question[HANDSHAKE_CHALLENGE_BYTES];
    unsigned char got[HANDSHAKE_PROOF_BYTES];
    struct slice parts[2] = {{g->bytes, g->len}, {question, sizeof(question)}};
    int rc;
    start_answer(question, CHALLENGE_MAGIC, &g->hello, 0);
    world_random_bytes(world_here(), question + ANSWER_AT_BYTES,
                       HANDSHAKE_NONCE_BYTES);
    *why = HANDSHAKE_SILENT;
    rc = write_bytes(s, parts[1], err);
    if (rc == 0)
        rc = stream_read_full(s, got, sizeof(got), err);
    if (rc)
        return rc;
    *why = HANDSHAKE_PROOF;
    if (!check_proof(sec, parts, got, proof))
        return err_set(err, ERR_DENIED, "it does not know the cluster's key");
    return 0;
}

/* Send a client the reason, if that reveals nothing. */
static void handshake_refuse(const struct rpc_security *sec,
                             struct stream *s,
                             const struct hello *h,
                             enum handshake_refusal why)
{
    char answer[HANDSHAKE_WELCOME_BYTES];
    if (sec->kind == RPC_SECURITY_KEY || why == HANDSHAKE_PROTOCOL ||
        why == HANDSHAKE_SILENT)
        return;
    start_answer(answer, WELCOME_MAGIC, h, 1 + (unsigned)why);
    (void)!write_bytes(s, slice_make(answer, sizeof(answer)), NULL);
}

/* Send the welcome, and exchange the segments if it promises that. */
static int handshake_welcome(struct stream *s,
                             bool shares,
                             char answer[HANDSHAKE_WELCOME_BYTES],
                             struct sharing *sharing,
                             struct err *err)
{
    struct shared_memory *own = shares ? make_segment(s, sharing) : NULL;
    int rc;
    answer[ANSWER_AT_SHARES] = own != NULL;
    rc = write_bytes(s, slice_make(answer, HANDSHAKE_WELCOME_BYTES), err);
    if (rc == 0 && own)
        return shared_ring_open(s, false, own, &sharing->ring,
                                &sharing->refused, err);
    shared_memory_free(own);
    return rc;
}

/* Errors: ERR_DENIED (a certificate's name that cannot be printed). */
static int name_client(const struct rpc_security *sec,
                       const struct stream *s,
                       const struct hello *h,
                       char principal[RPC_NAME_BYTES_MAX + 1],
                       struct err *err)
{
    if (sec->kind == RPC_SECURITY_TLS) {
        tls_peer_name(s, principal, RPC_NAME_BYTES_MAX + 1);
        return is_printable_name(slice_str(principal))
                   ? 0
                   : err_set(err, ERR_DENIED,
                             "its certificate's name cannot be printed");
    }
    memcpy(principal, h->principal.data, h->principal.len);
    principal[h->principal.len] = '\0';
    if (h->principal.len == 0)
        memcpy(principal, "anonymous", sizeof("anonymous"));
    return 0;
}

static int handshake_greet(const struct rpc_security *sec,
                           struct stream *s,
                           struct greeting *g,
                           char principal[RPC_NAME_BYTES_MAX + 1],
                           struct sharing *sharing,
                           enum handshake_refusal *why,
                           struct err *err)
{
    char answer[HANDSHAKE_WELCOME_BYTES];
    int rc = read_hello(s, g, why, err);
    if (rc)
        return rc;
    start_answer(answer, WELCOME_MAGIC, &g->hello, 0);
    sharing->version = choose_version(&g->hello);
    rc = check_hello(sec, &g->hello, why, err);
    if (rc == 0)
        rc = name_client(sec, s, &g->hello, principal, err);
    if (rc)
        handshake_refuse(sec, s, &g->hello, *why);
    else if (sec->kind == RPC_SECURITY_KEY)
        rc = handshake_challenge(
            sec, s, g, why, (unsigned char *)answer + ANSWER_AT_BYTES, err);
    if (rc)
        return rc;
    *why = HANDSHAKE_SILENT;
    return handshake_welcome(s, g->hello.shares, answer, sharing, err);
}

int handshake_accept(const struct rpc_security *sec,
                     struct stream **s,
                     char principal[RPC_NAME_BYTES_MAX + 1],
                     struct sharing *sharing,
                     enum handshake_refusal *why,
                     struct err *err)
{
    struct greeting g;
    int rc = 0;
    sec = or_default(sec);
    *sharing = (struct sharing){.refused = ERR_INIT};
    *why = HANDSHAKE_PROOF;
    if (sec->kind == RPC_SECURITY_TLS) {
        struct security_secrets *x = security_secrets_ref(sec);
        rc = tls_accept(security_tls(x), s, err);
        security_secrets_unref(x);
    }
    if (rc == 0)
        rc = handshake_greet(sec, *s, &g, principal, sharing, why, err);
    if (rc) {
        stream_close(*s);
        *s = NULL;
    }
    return rc;
}

/* --- the client ---------------------------------------------------------- */

/* A server that hangs up without an answer may have refused, or be stopping. */
static int hung_up(int rc, const char *address, struct err *err)
{
    if (rc != ERR_CLOSED)
        return rc;
    err_set(err, ERR_UNAVAILABLE,
            "%s closed the connection during the handshake", address);
    err_set_detail(err, ERR_DETAIL_HUNG_UP, "");
    err_hint(err, "if it lives, its log says why: key, cluster or version");
    return ERR_UNAVAILABLE;
}

static int check_answer(const char *p,
                        uint32_t magic,
                        const char *address,
                        struct err *err)
{
    unsigned status = (unsigned char)p[ANSWER_AT_STATUS];
    unsigned version = (unsigned char)p[ANSWER_AT_VERSION];
    if (get_le32(p + ANSWER_AT_MAGIC) != magic) {
        err_set(err, ERR_DENIED, "%s speaks another protocol", address);
        err_set_detail(err, ERR_DETAIL_OTHER_PROTOCOL, "");
        return ERR_DENIED;
    }
    if (status > 0 && status <= HANDSHAKE_REFUSAL_COUNT)
        return err_set(err, ERR_DENIED, "%s refuses: wrong %s", address,
                       refusal_names[status - 1]);
    if (status || version < PROTOCOL_VERSION_MIN ||
        version > PROTOCOL_VERSION_MAX)
        return err_set(err, ERR_UNSUPPORTED, "%s speaks version %u", address,
                       version);
    return 0;
}

/* Answer the server's challenge; @owed is the proof that the server must
 * send. */
static int handshake_prove(const struct rpc_security *sec,
                           const char *address,
                           struct stream *s,
                           const struct buf *hello,
                           unsigned char owed[HANDSHAKE_PROOF_BYTES],
                           struct err *err)
{
    char question[HANDSHAKE_CHALLENGE_BYTES];
    unsigned char proof[HANDSHAKE_PROOF_BYTES];
    struct slice parts[2] = {buf_slice(hello), {question, sizeof(question)}};
    struct security_secrets *x;
    int rc = stream_read_full(s, question, sizeof(question), err);
    if (rc == 0)
        rc = check_answer(question, CHALLENGE_MAGIC, address, err);
    if (rc)
        return rc;
    x = security_secrets_ref(sec);
    security_mac(x, 0, CLIENT_LABEL, parts, 2, proof);
    security_mac(x, 0, SERVER_LABEL, parts, 2, owed);
    security_secrets_unref(x);
    return write_bytes(s, slice_make(proof, sizeof(proof)), err);
}

static int handshake_introduce(const struct rpc_security *sec,
                               const char *address,
                               struct stream *s,
                               const struct buf *hello,
                               bool *shares,
                               unsigned *version,
                               struct err *err)
{
    char answer[HANDSHAKE_WELCOME_BYTES];
    unsigned char owed[HANDSHAKE_PROOF_BYTES] = {0};
    int rc = write_bytes(s, buf_slice(hello), err);
    if (rc == 0 && sec->kind == RPC_SECURITY_KEY)
        rc = handshake_prove(sec, address, s, hello, owed, err);
    if (rc == 0)
        rc = stream_read_full(s, answer, sizeof(answer), err);
    if (rc == 0)
        rc = check_answer(answer, WELCOME_MAGIC, address, err);
    if (rc == 0 && !security_same(owed, answer + ANSWER_AT_BYTES, sizeof(owed)))
        rc = err_set(err, ERR_DENIED, "%s does not know the cluster's key",
                     address);
    *shares = rc == 0 && answer[ANSWER_AT_SHARES] == 1;
    *version = rc ? 0 : (unsigned char)answer[ANSWER_AT_VERSION];
    return rc;
}

/* Exchange hello and welcome, and share memory if both sides can. */
static int handshake_meet(const struct rpc_security *sec,
                          const char *address,
                          struct stream *s,
                          struct sharing *sharing,
                          struct err *err)
{
    struct shared_memory *own = make_segment(s, sharing);
    struct buf hello = BUF_INIT;
    bool shares;
    int rc;
    put_hello(sec, own != NULL, &hello);
    rc = handshake_introduce(sec, address, s, &hello, &shares,
                             &sharing->version, err);
    buf_close(&hello);
    if (shares && own)
        return shared_ring_open(s, true, own, &sharing->ring, &sharing->refused,
                                err);
    shared_memory_free(own);
    return rc;
}

/* With TLS the server's certificate must be for the host that was called, or
 * for the cluster. */
static int handshake_encrypt(const struct rpc_security *sec,
                             const char *address,
                             struct stream **s,
                             struct err *err)
{
    size_t skip = *address == '['; /* IPv6 */
    const char *end = strrchr(address, skip ? ']' : ':');
    size_t len = end ? (size_t)(end - address) : strlen(address);
    char *host = mem_strndup(address + skip, len - skip);
    struct security_secrets *x = security_secrets_ref(sec);
    int rc = tls_connect(security_tls(x), host, sec->cluster, s, err);
    security_secrets_unref(x);
    mem_free(host);
    return hung_up(rc, address, err);
}

int handshake_connect(const struct rpc_security *sec,
                      const char *address,
                      struct stream **s,
                      struct sharing *sharing,
                      struct err *err)
{
    int rc = 0;
    *sharing = (struct sharing){.refused = ERR_INIT};
    sec = or_default(sec);
    if (sec->kind == RPC_SECURITY_NONE && !stream_is_local(*s)) {
        rc =
            err_set(err, ERR_DENIED,
                    "%s: calls without security stay on this machine", address);
        err_hint(err, "give both sides the cluster's key or certificates");
    }
    if (rc == 0 && sec->kind == RPC_SECURITY_TLS)
        rc = handshake_encrypt(sec, address, s, err);
    if (rc == 0)
        rc = hung_up(handshake_meet(sec, address, *s, sharing, err), address,
                     err);
    if (rc) {
        stream_close(*s);
        *s = NULL;
    }
    return rc;
}
