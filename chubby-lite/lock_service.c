/* The address of a lock service that others run, as one line of text: it fits
 * where an address of our own cell does, and needs no options of its own in all
 * the places that hand it on.
 */
#include "chubby-lite/lock_service.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/runtime/tls.h"
#include "base/runtime/world.h"
#include "chubby-lite/lock_path.h"

#define ROOT_DEFAULT "/quarry"

static const struct {
    const char *prefix;
    enum lock_service_kind kind;
} services[] = {
    {"zookeeper:", LOCK_SERVICE_ZOOKEEPER},
    {"etcd:", LOCK_SERVICE_ETCD},
};

static enum lock_service_kind kind_of(struct slice text, size_t *prefix_bytes)
{
    for (size_t i = 0; i < ARRAY_LEN(services); i++) {
        struct slice prefix = slice_str(services[i].prefix);
        if (slice_starts_with(text, prefix)) {
            *prefix_bytes = prefix.len;
            return services[i].kind;
        }
    }
    return LOCK_SERVICE_OWN;
}

const char *lock_service_of_environment(void)
{
    const char *text = getenv(LOCK_SERVICE_VARIABLE);

    return text && *text ? text : NULL;
}

bool lock_service_is_named(struct slice text)
{
    size_t prefix_bytes;

    return kind_of(text, &prefix_bytes) != LOCK_SERVICE_OWN;
}

/* "host:port" or "[v6]:port". */
static int check_server(struct slice server, struct err *err)
{
    size_t colon = server.len;
    size_t i;

    while (colon > 0 && server.data[colon - 1] != ':')
        colon--;
    if (colon < 2 || colon == server.len)
        return err_set(err, ERR_INVALID, "\"%.*s\" is not HOST:PORT",
                       SLICE_ARG(server));
    for (i = colon; i < server.len; i++)
        if (server.data[i] < '0' || server.data[i] > '9')
            return err_set(err, ERR_INVALID, "\"%.*s\" has no port",
                           SLICE_ARG(server));
    for (i = 0; i < server.len; i++)
        if ((unsigned char)server.data[i] <= ' ' || server.data[i] == '@')
            return err_set(err, ERR_INVALID, "\"%.*s\" is not HOST:PORT",
                           SLICE_ARG(server));
    return 0;
}

static int
take_servers(struct slice list, struct lock_service *out, struct err *err)
{
    struct buf servers = BUF_INIT;
    int rc = 0;

    while (list.len > 0 && !rc) {
        size_t end = slice_find_byte(list, ',');
        struct slice one = slice_trim(slice_sub(list, 0, end));
        list = slice_sub(list, end + 1, list.len);
        rc = check_server(one, err);
        buf_printf(&servers, "%s%.*s", servers.len ? "," : "", SLICE_ARG(one));
    }
    if (!rc && servers.len == 0)
        rc = err_set(err, ERR_INVALID, "no HOST:PORT is named");
    if (rc)
        buf_close(&servers);
    else
        out->servers = buf_take(&servers);
    return rc;
}

/* A root is a path of plain names: the service shows it to people. */
static int
take_root(struct slice root, struct lock_service *out, struct err *err)
{
    int rc;

    if (root.len == 0)
        root = SLICE_LIT(ROOT_DEFAULT);
    rc = path_check(root, err);
    if (!rc && root.len == 1)
        rc = err_set(
            err, ERR_INVALID,
            "the root must be a directory of its own, as " ROOT_DEFAULT);
    for (size_t i = 0; !rc && i < root.len; i++)
        if ((unsigned char)root.data[i] >= 0x7f || root.data[i] == '%')
            rc = err_set(err, ERR_INVALID, "\"%.*s\": plain letters, please",
                         SLICE_ARG(root));
    if (!rc && out->kind == LOCK_SERVICE_ZOOKEEPER &&
        slice_starts_with(root, SLICE_LIT("/zookeeper")))
        rc = err_set(err, ERR_INVALID, "/zookeeper is ZooKeeper's own");
    if (!rc)
        out->root = mem_strndup(root.data, root.len);
    return rc;
}

/* Where the value of setting @name goes; NULL: the service has none. */
static char **setting_of(struct lock_service *s, struct slice name)
{
    const struct {
        const char *name;
        char **value;
        bool of_zookeeper;
    } settings[] = {
        {"auth", &s->auth, true},
        {"ca", &s->ca, false},
        {"cert", &s->cert, false},
        {"key", &s->key, false},
    };

    for (size_t i = 0; i < ARRAY_LEN(settings); i++)
        if (slice_eq_str(name, settings[i].name) &&
            (settings[i].of_zookeeper || s->kind != LOCK_SERVICE_ZOOKEEPER))
            return settings[i].value;
    return NULL;
}

static int
take_setting(struct slice one, struct lock_service *out, struct err *err)
{
    size_t end = slice_find_byte(one, '=');
    struct slice name = slice_sub(one, 0, end);
    struct slice value = slice_sub(one, end + 1, one.len);
    char **to = setting_of(out, name);

    if (!to)
        return err_set(
            err, ERR_INVALID, "\"%.*s\": it can be %s", SLICE_ARG(name),
            out->kind == LOCK_SERVICE_ZOOKEEPER ? "auth alone"
                                                : "auth, ca, cert or key");
    if (value.len == 0 || *to)
        return err_set(err, ERR_INVALID, "%.*s: one file, please",
                       SLICE_ARG(name));
    *to = mem_strndup(value.data, value.len);
    return 0;
}

/* Certificates are of use with an authority alone, and with their keys. */
static int check_tls(const struct lock_service *s, struct err *err)
{
    if ((s->cert != NULL) != (s->key != NULL))
        return err_set(err, ERR_INVALID, "cert and key go together");
    if (s->cert && !s->ca)
        return err_set(err, ERR_INVALID,
                       "cert needs ca, the authority of the servers");
    return 0;
}

static int
take_settings(struct slice list, struct lock_service *out, struct err *err)
{
    int rc = 0;

    while (list.len > 0 && !rc) {
        size_t end = slice_find_byte(list, '&');
        rc = take_setting(slice_sub(list, 0, end), out, err);
        list = slice_sub(list, end + 1, list.len);
    }
    return rc;
}

int lock_service_parse(struct slice text,
                       struct lock_service *out,
                       struct err *err)
{
    struct slice rest = text;
    size_t prefix_bytes = 0;
    size_t slash;
    size_t question;
    int rc;

    *out = (struct lock_service){.kind = kind_of(text, &prefix_bytes)};
    if (out->kind == LOCK_SERVICE_OWN)
        return err_set(
            err, ERR_INVALID,
            "\"%.*s\": it begins with zookeeper: or etcd:", SLICE_ARG(text));
    if (text.len > LOCK_SERVICE_TEXT_BYTES_MAX)
        return err_set(
            err, ERR_INVALID,
            "the address of the lock service is longer than %d bytes",
            LOCK_SERVICE_TEXT_BYTES_MAX);
    rest = slice_sub(text, prefix_bytes, text.len);
    question = slice_find_byte(rest, '?');
    slash = slice_find_byte(slice_sub(rest, 0, question), '/');
    rc = take_servers(slice_sub(rest, 0, slash), out, err);
    if (!rc)
        rc = take_root(slice_sub(rest, slash, question), out, err);
    if (!rc)
        rc = take_settings(slice_sub(rest, question + 1, rest.len), out, err);
    if (!rc)
        rc = check_tls(out, err);
    if (rc)
        err_wrap(err, "lock service %.*s", SLICE_ARG(text));
    return rc;
}

void lock_service_close(struct lock_service *s)
{
    mem_free(s->servers);
    mem_free(s->root);
    mem_free(s->auth);
    mem_free(s->ca);
    mem_free(s->cert);
    mem_free(s->key);
}

void lock_service_put_public(const struct lock_service *s, struct buf *out)
{
    for (size_t i = 0; i < ARRAY_LEN(services); i++)
        if (services[i].kind == s->kind)
            buf_append_str(out, services[i].prefix);
    buf_printf(out, "%s%s", s->servers, s->root);
}

int lock_service_read_auth(struct world *w,
                           const struct lock_service *s,
                           struct buf *out,
                           struct err *err)
{
    char text[LOCK_SERVICE_AUTH_BYTES_MAX];
    struct slice line;
    struct file *f;
    size_t got = 0;
    int rc;

    if (!s->auth)
        return 0;
    rc = file_open(w, s->auth, FILE_READ, &f, err);
    if (rc)
        return rc;
    rc = file_read_at(f, 0, text, sizeof(text), &got, err);
    file_close(f);
    line = slice_make(text, rc ? 0 : got);
    line = slice_trim(slice_sub(line, 0, slice_find_byte(line, '\n')));
    if (!rc && (slice_find_byte(line, ':') == 0 ||
                slice_find_byte(line, ':') == line.len))
        rc = err_set(err, ERR_INVALID,
                     "%s: its first line is not USER:PASSWORD", s->auth);
    if (!rc)
        buf_append_slice(out, line);
    return rc;
}

/* Append a file of PEM texts; nothing for NULL. */
static int
read_pem(struct world *w, const char *path, struct buf *out, struct err *err)
{
    char *text;
    struct file *f;
    size_t got = 0;
    int rc;

    if (!path)
        return 0;
    rc = file_open(w, path, FILE_READ, &f, err);
    if (rc)
        return rc;
    text = mem_alloc(LOCK_SERVICE_PEM_BYTES_MAX);
    rc = file_read_at(f, 0, text, LOCK_SERVICE_PEM_BYTES_MAX, &got, err);
    file_close(f);
    if (!rc && got == LOCK_SERVICE_PEM_BYTES_MAX)
        rc = err_set(err, ERR_TOOBIG, "%s has more than %zu bytes", path,
                     LOCK_SERVICE_PEM_BYTES_MAX - 1);
    if (!rc)
        buf_append(out, text, got);
    memset(text, 0, LOCK_SERVICE_PEM_BYTES_MAX);
    mem_free(text);
    return rc;
}

int lock_service_read_tls(struct world *w,
                          const struct lock_service *s,
                          struct tls_context **out,
                          struct err *err)
{
    struct buf pems[3] = {BUF_INIT, BUF_INIT, BUF_INIT};
    const char *const paths[3] = {s->cert, s->key, s->ca};
    int rc = 0;

    *out = NULL;
    if (!s->ca)
        return 0;
    for (size_t i = 0; i < ARRAY_LEN(pems) && !rc; i++)
        rc = read_pem(w, paths[i], &pems[i], err);
    if (!rc) {
        rc = tls_client_context_new(buf_slice(&pems[0]), buf_slice(&pems[1]),
                                    buf_slice(&pems[2]), "h2", out, err);
        if (rc)
            err_wrap(err, "TLS of the lock service (%s%s%s)", s->ca,
                     s->cert ? ", " : "", s->cert ? s->cert : "");
    }
    for (size_t i = 0; i < ARRAY_LEN(pems); i++)
        buf_close(&pems[i]);
    return rc;
}
