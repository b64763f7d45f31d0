/* The settings of a server process: from its options, else from its
 * configuration file, else defaults.
 */
#ifndef CLI_SERVER_SETTINGS_H
#define CLI_SERVER_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/core/err.h"
#include "base/crypt/master_key.h"
#include "base/runtime/log.h"
#include "base/trace/tracer.h"
#include "cli/command.h"
#include "cli/console/access.h"

struct conf;
struct role;
struct rpc_security;
struct world;

#define SERVER_ROLES_MAX 16
#define SERVER_CELL_MAX  9

/* Texts are owned by the settings. */
struct server_settings {
    struct conf *conf;       /* Owned; empty without a file. */
    const char *config;      /* Of --config; NULL: none. Borrowed. */
    const struct args *args; /* Of the command line. Borrowed. */
    char *data;
    char *name;
    char *listen;
    char *address; /* To be reached at; "": where it listens. */
    char *cluster;
    char *rack;
    char *cluster_version_max; /* A number; "": all that the program speaks. */
    char *cell;
    char *cell_members[SERVER_CELL_MAX];
    char *lock_service; /* That others run (lock_service.h); "": our own. */
    size_t cell_count;
    const struct role *roles[SERVER_ROLES_MAX];
    size_t role_count;
    char *key; /* Paths; "": none. */
    char *certificate;
    char *certificate_key;
    char *authority;
    char *log;
    char *audit_log; /* "": none. */
    char *pid_file;
    char *bigtable_api;    /* Address; "": none. */
    char *console;         /* The same. */
    char *api_certificate; /* Paths; "": none. */
    char *api_certificate_key;
    char *api_authority;
    char *api_tokens;
    char *api_jwt_key;
    /* Where the master key is: section [encryption]. */
    struct master_key_source encryption; /* Texts of `conf`. */
    char *console_tokens;
    struct console_access_options access; /* Of the console. */
    char *console_names; /* Names it may be called by, with commas. */
    char *log_levels;    /* "info,rpc=debug". Owned. */
    struct trace_settings traces;
    bool says_sample;           /* `trace-sample` is set. */
    char *trace_export;         /* A URL; "": as the environment says. */
    char *trace_export_headers; /* Paths; "": none. */
    char *trace_export_authority;
    enum log_format log_format;
};

extern const struct option server_options[];
extern const struct option server_security_options[];

/* From the command line and the file it names. Parks. Errors: ERR_USAGE,
 * ERR_INVALID (says file and line). The caller closes @out in any case. */
MUST_CHECK int server_settings_read(struct world *w,
                                    const struct args *args,
                                    struct server_settings *out,
                                    struct err *err);
void server_settings_close(struct server_settings *s);
/* The value that the environment has for setting @name of [server], in
 * *@variable; NULL: it has none. */
const char *server_settings_variable(const char *name, const char **variable);
/* Add to @err, which is about the value of @name, the variable that has it, if
 * that is where it comes from. */
void server_settings_blame(const struct args *args,
                           const char *name,
                           struct err *err);
/* The text of setting @name of [server] when nobody sets it; NULL: there is
 * none. */
const char *server_settings_default(const char *name);

/* Read the master keys again, from where the configuration file says now.
 * Parks. On error all stays as it was. Errors: those of master_keys_reload(),
 * and of the file. */
MUST_CHECK int server_settings_reload_keys(struct world *w,
                                           const struct server_settings *s,
                                           struct master_keys *keys,
                                           struct err *err);

/* The security they ask for; *@out is owned. Parks. */
MUST_CHECK int server_settings_security(struct world *w,
                                        const struct server_settings *s,
                                        struct rpc_security **out,
                                        struct err *err);

#endif /* CLI_SERVER_SETTINGS_H */
