/* The context of a command: target, format, open store.
 *
 * Threads: one. The store is opened by the first command that needs it and
 * stays open until cli_close(), so that the shell opens it once.
 */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

#define QUARRY_VERSION "0.2.0"

struct fs;
struct fs_lock;
struct master_keys;
struct quarry;
struct quarry_options;
struct quarry_table;
struct world;

enum cli_format {
    FORMAT_TEXT,
    FORMAT_JSON,
    FORMAT_CSV
};

struct cli {
    const char *target; /* Borrowed: "file:DIR", or a cluster. */
    /* Of a cluster, see remote_options; NULL: not given. */
    const char *key;
    const char *cluster;
    const char *principal;
    const char *certificate;
    const char *certificate_key;
    const char *authority;
    /* Master keys of a directory, see master_key_source; NULL: not given. */
    const char *encryption_key;
    const char *encryption_key_command;
    const char *previous_key;
    struct master_keys *master_keys; /* Of these, once they were read. Owned. */
    uint64_t wait_us;       /* For a directory that another process has. */
    uint64_t reach_us;      /* For somebody of a cluster who answers; 0: as
                               $QUARRY_TIMEOUT says. */
    int status;             /* The exit status of a command that did its work
                               and found something; 0 elsewhere. */
    enum cli_format format; /* Of what is printed on standard output. */
    bool quiet;             /* No progress, no remarks. */
    bool in_shell;
    uint64_t memtable_bytes; /* Of a directory that is opened; 0: the default
                                (quarry.h). Set before cli_store(). */
    struct world *world;     /* Owned. */
    struct world *remote;    /* Its files with remote names. Owned. */
    struct tracer *tracer;   /* Of commands whose spans are exported. Owned;
                                NULL: none has been. */
    struct quarry *store;    /* Owned; NULL until it is needed. */
};

/* How a command uses the store. */
enum cli_access {
    CLI_READ,     /* It must be there, and is not changed: others may write. */
    CLI_EXISTING, /* It must be there. */
    CLI_CREATE,   /* It is made when it is not. */
};

void cli_init(struct cli *cli);
void cli_close(struct cli *cli);

/* Call @attempt(@ctx) until it succeeds, fails otherwise than by ERR_BUSY, or
 * the user does not wait any longer (--wait). While another process has the
 * directory, the error says what can be done. */
MUST_CHECK int cli_wait(struct cli *cli,
                        int (*attempt)(void *ctx, struct err *err),
                        void *ctx,
                        struct err *err);

/* Lock @path of @fs, a directory's files or a cluster's. */
MUST_CHECK int cli_lock(struct cli *cli,
                        struct fs *fs,
                        const char *path,
                        struct fs_lock **out,
                        struct err *err);

/* Open the directory that @target names, beside the store of the cli: the user
 * may wait for it. @ctx is the cli. The caller closes it. */
MUST_CHECK int cli_open_waiting(void *ctx,
                                const char *target,
                                const struct quarry_options *opts,
                                struct quarry **out,
                                struct err *err);

/* The open store; borrowed. Errors: those of quarry_open(), with a hint. */
MUST_CHECK int cli_store(struct cli *cli,
                         enum cli_access access,
                         struct quarry **out,
                         struct err *err);

/* The master keys that the command line or the environment names. *@out is
 * borrowed; NULL: none. Errors: those of master_keys_read(). */
MUST_CHECK int
cli_master_keys(struct cli *cli, struct master_keys **out, struct err *err);

/* Open table @name; a misspelt name gets a suggestion. The caller closes it. */
MUST_CHECK int cli_table(struct cli *cli,
                         const char *name,
                         enum cli_access access,
                         struct quarry_table **out,
                         struct err *err);

/* Add to @err, the failure of a call about table @name, what could be meant, if
 * it says that there is no such table. */
void cli_hint_table(struct cli *cli, const char *name, struct err *err);

/* The directory of the target, without "file:". Borrowed. */
const char *cli_directory(const struct cli *cli);

/* Print `quarry: text (hint)` on standard error. */
void cli_report(const struct err *err);
/* A remark on standard error, unless --quiet. */
void cli_remark(const struct cli *cli, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* The whole of file @path ("-": standard input) appended to @out. */
struct buf;
MUST_CHECK int
cli_read_file(const char *path, struct buf *out, struct err *err);
/* Append wombat.js, in the directory @given or, if that is NULL, where
 * `scripts/deps replay` puts it; only one that was given must be there. */
MUST_CHECK int
cli_read_wombat(const char *given, struct buf *out, struct err *err);

struct args;
struct archive_policy;
/* If --robots asks for it, add what the robots.txt files in @table say to
 * @policy, which may be NULL. Parks. */
MUST_CHECK int cli_read_robots(struct quarry_table *table,
                               struct archive_policy *policy,
                               struct err *err);
/* Open the table of ranks that --ranks names, or, without the option, the
 * command's own table if it has the family rank, else the table "rank", if
 * there is one. *@out is owned; NULL: there is none. */
MUST_CHECK int cli_open_ranks(struct cli *cli,
                              const struct args *args,
                              struct quarry_table **out,
                              struct err *err);

#endif /* CLI_CLI_H */
