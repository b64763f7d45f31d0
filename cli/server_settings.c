/* Parsing of the options of a server and of sections [server] and [encryption]
 * of its configuration, into one struct with defaults. They are checked before
 * anything is opened; roles check their own sections.
 */
#include "cli/server_settings.h"

#include <string.h>

#include "base/core/buf.h"
#include "base/core/conf.h"
#include "base/core/panic.h"
#include "base/core/slice.h"
#include "base/core/text.h"
#include "base/rpc/security.h"
#include "base/runtime/busy_poll.h"
#include "base/runtime/world.h"
#include "chubby-lite/lock_service.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/remote_call.h"
#include "cli/role.h"

#define SECTION    "server"
#define ENCRYPTION "encryption"

const struct option server_options[] = {
    {"config", 'c', "FILE", "options from a file, section [server]"},
    {"data", 0, "DIR", "where it keeps its files (quarry-server)"},
    {"listen", 0, "ADDR", "host:port to listen on (127.0.0.1:7400)"},
    {"address", 0, "ADDR", "host:port where others reach it, if another"},
    {"roles", 0, "LIST",
     "what it is: lock,namenode,chunk,tablet,master,\n"
     "jobs,worker,gateway,follow (all of them)"},
    {"cell", 0, "ADDR,…",
     "the nodes with lock servers and namenodes, the\n"
     "same on every node (this node alone)"},
    {"lock-service", 0, "WHERE",
     "locks in zookeeper:HOST:PORT,…/ROOT or\n"
     "etcd:HOST:PORT,…/ROOT instead of the role lock,\n"
     "the same on every node"},
    {"name", 0, "NAME", "of this node (its address)"},
    {"rack", 0, "NAME", "where it stands: copies are spread over racks"},
    {"console", 0, "ADDR", "show pages and metrics there, by HTTP"},
    {"console-tokens", 0, "FILE",
     "who may see it, and change things through it\n(quarry token new "
     "--console); without: all may see"},
    {"bigtable-api", 0, "ADDR", "serve the public Bigtable API (gRPC) there"},
    {"cluster-version-max", 0, "N",
     "use nothing newer than this version of a cluster,\nand refuse a cluster "
     "that was raised further (all\nthat the program speaks)"},
    {"busy-poll", 0, "MICROSECONDS",
     "how long a thread looks for work before it\nsleeps (50; 0: not at all)"},
    {NULL, 0, NULL, NULL},
};

const struct option server_security_options[] = {
    {"cluster", 0, "NAME", "of the cluster: others are refused (quarry)"},
    {"key", 0, "FILE", "the cluster's key: who does not know it is refused"},
    {"certificate", 0, "FILE", "instead of a key, TLS: our certificate,"},
    {"certificate-key", 0, "FILE", "its key,"},
    {"authority", 0, "FILE", "and who signed those of the others"},
    {"api-certificate", 0, "FILE", "TLS of the public API: its certificate,"},
    {"api-certificate-key", 0, "FILE", "its key,"},
    {"api-authority", 0, "FILE", "and who signed its clients' certificates"},
    {"api-tokens", 0, "FILE", "who may call it (quarry token new)"},
    {"api-jwt-key", 0, "FILE",
     "a public key: who has a JWT signed with it may"},
    {"log", 0, "FILE", "instead of standard error"},
    {"audit-log", 0, "FILE", "who did what, as JSON lines: changes, refusals"},
    {"log-level", 0, "LEVEL",
     "debug, info (default), warn or error; also of\n"
     "components: info,rpc=debug (see quarry log-level);\n"
     "if not given $QUARRY_LOG, else that of the file"},
    {"log-format", 0, "FORMAT",
     "text (default), or json: an object a line; if not\n"
     "given $QUARRY_LOG_FORMAT, else that of the file"},
    {"pid-file", 0, "FILE", "holds the process's number while it runs"},
    {NULL, 0, NULL, NULL},
};

/* --- one setting --------------------------------------------------------- */

/* Settings that the environment has, too: a process that somebody else starts
 * can be made to say more. */
static const struct {
    const char *name;
    const char *variable;
} in_environment[] = {{"log-level", "QUARRY_LOG"},
                      {"log-format", "QUARRY_LOG_FORMAT"}};

const char *server_settings_variable(const char *name, const char **variable)
{
    for (size_t i = 0; i < ARRAY_LEN(in_environment); i++) {
        *variable = in_environment[i].variable;
        if (strcmp(name, in_environment[i].name) == 0)
            return remote_variable(*variable);
    }
    return NULL;
}

void server_settings_blame(const struct args *args,
                           const char *name,
                           struct err *err)
{
    const char *variable;
    if (!args_value(args, name) && server_settings_variable(name, &variable))
        err_wrap(err, "$%s", variable);
}

/* The command line beats the environment, which beats the file. */
static char *server_settings_setting(const struct args *args,
                                     struct conf *conf,
                                     const char *key,
                                     const char *otherwise)
{
    const char *variable;
    const char *in_file = conf_get(conf, SECTION, key);
    const char *value = args_value(args, key);
    if (!value)
        value = server_settings_variable(key, &variable);
    if (!value)
        value = in_file;
    return mem_strdup(value ? value : otherwise);
}

static int read_conf(const char *path, struct conf **out, struct err *err)
{
    struct buf text = BUF_INIT;
    int rc = 0;
    if (path)
        rc = cli_read_file(path, &text, err);
    if (rc == 0)
        rc = conf_parse(buf_slice(&text), path ? path : "", out, err);
    buf_close(&text);
    return rc;
}

/* --- lists --------------------------------------------------------------- */

static const struct role *find_role(struct slice name)
{
    for (size_t i = 0; server_roles[i]; i++)
        if (slice_eq_str(name, server_roles[i]->name))
            return server_roles[i];
    return NULL;
}

/* The next item of a list with commas; false at its end. */
static bool next_item(struct slice *list, struct slice *item)
{
    size_t at;
    if (list->len == 0)
        return false;
    at = slice_find_byte(*list, ',');
    *item = slice_trim(slice_sub(*list, 0, at));
    *list = slice_sub(*list, at + 1, list->len);
    return true;
}

static int unknown_role(struct slice name, struct err *err)
{
    struct buf names = BUF_INIT;
    for (size_t i = 0; server_roles[i]; i++)
        buf_printf(&names, "%s%s", i ? ", " : "", server_roles[i]->name);
    err_set(err, ERR_INVALID, "there is no role \"%.*s\"", SLICE_ARG(name));
    err_hint(err, "roles: %s", buf_cstr(&names));
    buf_close(&names);
    return ERR_INVALID;
}

static bool is_wanted(const struct role *r, struct slice list)
{
    struct slice item;
    while (next_item(&list, &item))
        if (slice_eq_str(item, r->name))
            return true;
    return false;
}

static bool is_lock(const struct role *r)
{
    return strcmp(r->name, "lock") == 0;
}

/* Roles come in the table's order, whatever the list's. */
static int
read_roles(struct server_settings *s, const char *text, struct err *err)
{
    struct slice list = slice_str(text);
    struct slice item;
    while (next_item(&list, &item))
        if (!find_role(item))
            return unknown_role(item, err);
    for (size_t i = 0; server_roles[i]; i++) {
        PRE(s->role_count < SERVER_ROLES_MAX);
        if (*text ? is_wanted(server_roles[i], slice_str(text))
                  : !*s->lock_service || !is_lock(server_roles[i]))
            s->roles[s->role_count++] = server_roles[i];
    }
    return 0;
}

static int read_cell(struct server_settings *s, struct err *err)
{
    struct slice list = slice_str(s->cell);
    struct slice item;
    if (lock_service_is_named(list)) {
        err_set(err, ERR_INVALID,
                "cell = %s: the cell is the nodes that keep the names of files",
                s->cell);
        err_hint(err, "a lock service that others run is lock-service = …");
        return ERR_INVALID;
    }
    while (next_item(&list, &item)) {
        if (s->cell_count == SERVER_CELL_MAX)
            return err_set(err, ERR_INVALID, "a cell has at most %d nodes",
                           SERVER_CELL_MAX);
        s->cell_members[s->cell_count++] = mem_strndup(item.data, item.len);
    }
    return 0;
}

static int check_lock_service(const struct server_settings *s, struct err *err)
{
    struct lock_service where;
    int rc = 0;
    if (!*s->lock_service)
        return 0;
    rc = lock_service_parse(slice_str(s->lock_service), &where, err);
    lock_service_close(&where);
    for (size_t i = 0; i < s->role_count && rc == 0; i++)
        if (is_lock(s->roles[i]))
            rc = err_set(err, ERR_INVALID,
                         "lock-service says where the locks are: leave the "
                         "role lock out of roles");
    return rc;
}

/* --- all of them --------------------------------------------------------- */

static int check_security(const struct server_settings *s, struct err *err)
{
    bool any = *s->certificate || *s->certificate_key || *s->authority;
    bool all = *s->certificate && *s->certificate_key && *s->authority;
    if (any && !all)
        return err_set(err, ERR_INVALID,
                       "TLS needs certificate, certificate-key and authority");
    if (!*s->api_certificate != !*s->api_certificate_key)
        return err_set(err, ERR_INVALID,
                       "api-certificate and api-certificate-key belong "
                       "together");
    if (*s->api_authority && !*s->api_certificate)
        return err_set(err, ERR_INVALID,
                       "api-authority needs api-certificate: clients show "
                       "certificates with TLS alone");
    if (any && *s->key)
        return err_set(err, ERR_INVALID, "a key or certificates, not both");
    return 0;
}

/* Of the whole process, from now on. */
static int set_busy_poll(const char *text, struct err *err)
{
    uint64_t us;
    if (text_parse_u64(slice_str(text), &us, NULL) || us > BUSY_POLL_US_MAX)
        return err_set(err, ERR_INVALID, "busy-poll \"%s\": 0 to %d", text,
                       BUSY_POLL_US_MAX);
    busy_poll_set_us(us);
    return 0;
}

/* trace-sample and trace-slow; "": the default. */
static int read_traces(struct server_settings *s,
                       const char *sample,
                       const char *slow,
                       struct err *err)
{
    s->traces = (struct trace_settings){.one_in = TRACE_ONE_IN_DEFAULT,
                                        .slow_us = TRACE_SLOW_US_DEFAULT};
    s->says_sample = *sample != '\0';
    if (*sample && text_parse_u64(slice_str(sample), &s->traces.one_in, NULL))
        return err_set(err, ERR_INVALID,
                       "trace-sample \"%s\": one trace in this number; "
                       "0: none",
                       sample);
    if (strcmp(slow, "0") == 0)
        s->traces.slow_us = 0;
    else if (*slow &&
             text_parse_duration(slice_str(slow), &s->traces.slow_us, NULL))
        return err_set(err, ERR_INVALID,
                       "trace-slow \"%s\": a duration, as 500ms; 0: no call",
                       slow);
    return 0;
}

/* The configured names, and those of the addresses. */
static char *
console_names(struct conf *conf, const char *console, const char *address)
{
    const char *told = conf_get(conf, SECTION, "console-names");
    struct buf b = BUF_INIT;
    buf_printf(&b, "%s,%s,%s", console, address, told ? told : "");
    return buf_take(&b);
}

static int
read_console_access(struct server_settings *s, struct conf *c, struct err *err)
{
    struct console_access_options *o = &s->access;
    int rc;
    o->tokens = s->console_tokens;
    rc = conf_get_bool(c, SECTION, "console-metrics-token",
                       &o->metrics_need_token, err);
    if (rc == 0)
        rc = conf_get_bool(c, SECTION, "console-proxy", &o->behind_proxy, err);
    return rc;
}

/* The settings that are texts, where they are kept and what they are when
 * nobody sets them. */
static const struct {
    const char *name;
    size_t at;
    const char *when_missing;
} texts[] = {
    {"data", offsetof(struct server_settings, data), "quarry-server"},
    {"listen", offsetof(struct server_settings, listen), "127.0.0.1:7400"},
    {"address", offsetof(struct server_settings, address), ""},
    {"name", offsetof(struct server_settings, name), ""},
    {"cluster", offsetof(struct server_settings, cluster), "quarry"},
    {"rack", offsetof(struct server_settings, rack), ""},
    {"cluster-version-max",
     offsetof(struct server_settings, cluster_version_max), ""},
    {"cell", offsetof(struct server_settings, cell), ""},
    {"lock-service", offsetof(struct server_settings, lock_service), ""},
    {"key", offsetof(struct server_settings, key), ""},
    {"certificate", offsetof(struct server_settings, certificate), ""},
    {"certificate-key", offsetof(struct server_settings, certificate_key), ""},
    {"authority", offsetof(struct server_settings, authority), ""},
    {"log", offsetof(struct server_settings, log), ""},
    {"log-level", offsetof(struct server_settings, log_levels), "info"},
    {"audit-log", offsetof(struct server_settings, audit_log), ""},
    {"pid-file", offsetof(struct server_settings, pid_file), ""},
    {"bigtable-api", offsetof(struct server_settings, bigtable_api), ""},
    {"console", offsetof(struct server_settings, console), ""},
    {"console-tokens", offsetof(struct server_settings, console_tokens), ""},
    {"trace-export", offsetof(struct server_settings, trace_export), ""},
    {"trace-export-headers",
     offsetof(struct server_settings, trace_export_headers), ""},
    {"trace-export-authority",
     offsetof(struct server_settings, trace_export_authority), ""},
    {"api-certificate", offsetof(struct server_settings, api_certificate), ""},
    {"api-certificate-key",
     offsetof(struct server_settings, api_certificate_key), ""},
    {"api-authority", offsetof(struct server_settings, api_authority), ""},
    {"api-tokens", offsetof(struct server_settings, api_tokens), ""},
    {"api-jwt-key", offsetof(struct server_settings, api_jwt_key), ""},
};

const char *server_settings_default(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        if (strcmp(texts[i].name, name) == 0)
            return texts[i].when_missing;
    return NULL;
}

static char **setting_text(struct server_settings *s, size_t i)
{
    return (char **)(void *)((char *)s + texts[i].at);
}

static int
take_texts(struct server_settings *s, const struct args *args, struct err *err)
{
    struct conf *c = s->conf;
    char *roles = server_settings_setting(args, c, "roles", "");
    char *format = server_settings_setting(args, c, "log-format", "text");
    char *busy_poll = server_settings_setting(args, c, "busy-poll", "");
    char *sample = server_settings_setting(args, c, "trace-sample", "");
    char *slow = server_settings_setting(args, c, "trace-slow", "");
    int rc = 0;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        *setting_text(s, i) = server_settings_setting(args, c, texts[i].name,
                                                      texts[i].when_missing);
    s->console_names = console_names(c, s->console, s->address);
    if (!log_format_parse(slice_str(format), &s->log_format)) {
        rc = err_set(err, ERR_INVALID, "log-format \"%s\": text or json",
                     format);
        server_settings_blame(args, "log-format", err);
    }
    if (rc == 0)
        rc = read_console_access(s, c, err);
    if (rc == 0)
        rc = read_roles(s, roles, err);
    if (rc == 0 && *busy_poll)
        rc = set_busy_poll(busy_poll, err);
    if (rc == 0)
        rc = read_traces(s, sample, slow, err);
    mem_free(sample);
    mem_free(slow);
    mem_free(busy_poll);
    mem_free(roles);
    mem_free(format);
    return rc;
}

static int
read_encryption(struct conf *c, struct master_key_source *out, struct err *err)
{
    *out = (struct master_key_source){
        .key_file = conf_get(c, ENCRYPTION, "key-file"),
        .key_command = conf_get(c, ENCRYPTION, "key-command"),
        .previous_key_file = conf_get(c, ENCRYPTION, "previous-key-file"),
        .previous_key_command = conf_get(c, ENCRYPTION, "previous-key-command"),
    };
    return conf_check_section(c, ENCRYPTION, err);
}

int server_settings_read(struct world *w,
                         const struct args *args,
                         struct server_settings *out,
                         struct err *err)
{
    int rc;
    *out = (struct server_settings){.conf = NULL};
    (void)w;
    out->args = args;
    out->config = args_value(args, "config");
    rc = read_conf(out->config, &out->conf, err);
    if (rc == 0)
        rc = take_texts(out, args, err);
    if (rc == 0)
        rc = read_cell(out, err);
    if (rc == 0)
        rc = check_lock_service(out, err);
    if (rc == 0)
        rc = check_security(out, err);
    if (rc == 0)
        rc = read_encryption(out->conf, &out->encryption, err);
    /* Roles ask for theirs when they are opened; a misspelt directory must not
     * have another one made before. */
    if (rc == 0)
        rc = conf_check_section(out->conf, SECTION, err);
    return rc;
}

int server_settings_reload_keys(struct world *w,
                                const struct server_settings *s,
                                struct master_keys *keys,
                                struct err *err)
{
    struct master_key_source source;
    struct conf *conf;
    int rc = read_conf(s->config, &conf, err);
    if (rc)
        return rc;
    rc = read_encryption(conf, &source, err);
    if (rc == 0 && keys && master_key_is_given(&source))
        rc = master_keys_reload(keys, w, &source, err);
    else if (rc == 0 && !keys && master_key_is_given(&source))
        rc = err_set(err, ERR_INVALID,
                     "[encryption] was not there when this server started: "
                     "start it again");
    else if (rc == 0 && keys)
        rc = err_set(err, ERR_INVALID,
                     "[encryption] names no master key any more: the one "
                     "before stays in use");
    conf_free(conf);
    return rc;
}

void server_settings_close(struct server_settings *s)
{
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        mem_free(*setting_text(s, i));
    mem_free(s->console_names);
    for (size_t i = 0; i < s->cell_count; i++)
        mem_free(s->cell_members[i]);
    conf_free(s->conf);
}

int server_settings_security(struct world *w,
                             const struct server_settings *s,
                             struct rpc_security **out,
                             struct err *err)
{
    const char *who = *s->name ? s->name : s->listen;
    if (*s->key)
        return rpc_security_key(w, s->cluster, who, s->key, out, err);
    if (*s->certificate)
        return rpc_security_tls(w, s->cluster, s->certificate,
                                s->certificate_key, s->authority, out, err);
    *out = rpc_security_none(s->cluster, who);
    return 0;
}
