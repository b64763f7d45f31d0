/* The open store and the reports that all commands share. Errors are printed
 * here once, as "quarry: what: why (what to do)", whatever the command.
 */
#include "cli/cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/core/text.h"
#include "base/crypt/master_key.h"
#include "base/runtime/world.h"
#include "base/runtime/world_mount.h"
#include "base/trace/tracer.h"
#include "bigtable/quarry.h"
#include "cli/interrupt.h"
#include "cli/remote_call.h"
#include "cli/remote_fs.h"
#include "cli/suggest.h"
#include "gfs-lite/fs.h"
#include "gfs-lite/objects.h"
#include "gfs-lite/remote_world.h"
#include "sawzall-lite/sawzall.h"

/* Between tries to open a directory that another process has. */
#define WAIT_STEP_US 100000

#define TARGET_DEFAULT "file:./quarry-data"

/* Time zones of programs, also of those that servers run. */
static int read_zone(const char *name, struct buf *out, struct err *err)
{
    struct buf path = BUF_INIT;
    int rc;
    buf_printf(&path, "/usr/share/zoneinfo/%s", name);
    rc = cli_read_file(buf_cstr(&path), out, err);
    buf_close(&path);
    return rc;
}

void cli_init(struct cli *cli)
{
    const char *target = getenv("QUARRY_TARGET");
    *cli = (struct cli){.format = FORMAT_TEXT};
    cli->target = target && target[0] ? target : TARGET_DEFAULT;
    remote_defaults(cli);
    cli->encryption_key = remote_variable("QUARRY_ENCRYPTION_KEY");
    cli->encryption_key_command =
        remote_variable("QUARRY_ENCRYPTION_KEY_COMMAND");
    cli->previous_key = remote_variable("QUARRY_PREVIOUS_ENCRYPTION_KEY");
    cli->world = world_real_new();
    /* Names of buckets and web servers stand wherever files do. */
    cli->remote = remote_world_new(cli->world, remote_fs_variable);
    world_mount(cli->world, cli->remote, fs_name_is_remote);
    saw_zones_from(read_zone);
}

void cli_close(struct cli *cli)
{
    quarry_close(cli->store);
    master_keys_unref(cli->master_keys);
    world_set_tracer(cli->world, NULL);
    tracer_free(cli->tracer);
    world_mount(cli->world, NULL, NULL);
    remote_world_free(cli->remote);
    world_free(cli->world);
    cli->store = NULL;
    cli->world = NULL;
}

const char *cli_directory(const struct cli *cli)
{
    return strncmp(cli->target, "file:", 5) == 0 ? cli->target + 5
                                                 : cli->target;
}

/* In place of the hint of the lock, which knows of no waiting. */
static void hint_busy(struct err *err)
{
    if (err)
        err->hint[0] = '\0';
    err_hint(err, "one process at a time writes a directory, while others "
                  "read: wait for it (--wait SECONDS) or end that process, or "
                  "choose another store with -t file:DIR, or a cluster");
}

/* Some codes ask for the same of every user. */
static void hint_store(const struct cli *cli, int code, struct err *err)
{
    PRE(code != 0);
    if (code == ERR_NOTFOUND)
        err_hint(err, "make a table first: quarry table create NAME --family "
                      "FAMILY; or choose another store with -t file:DIR");
    else if (code == ERR_UNSUPPORTED)
        err_hint(err, "open it with the newer version of quarry");
    else if (code == ERR_INVALID)
        err_hint(err,
                 "a target looks like file:DIR or HOST:PORT, this was '%s'",
                 cli->target);
}

static int open_cluster(struct cli *cli,
                        const struct quarry_options *opts,
                        struct quarry **out,
                        struct err *err)
{
    int rc;
    PRE(!cli->store);
    rc = remote_open(cli, opts, &cli->store, err);
    if (rc)
        cli->store = NULL;
    *out = cli->store;
    return rc;
}

int cli_wait(struct cli *cli,
             int (*attempt)(void *ctx, struct err *err),
             void *ctx,
             struct err *err)
{
    uint64_t begin_ns = world_mono_ns(cli->world);
    bool said = false;
    PRE(attempt);
    for (;;) {
        struct err why = ERR_INIT;
        int rc = attempt(ctx, &why);
        uint64_t waited_us = (world_mono_ns(cli->world) - begin_ns) / 1000;
        if (rc != ERR_BUSY)
            return rc ? err_copy(err, &why) : 0;
        if (waited_us >= cli->wait_us || interrupted()) {
            hint_busy(&why);
            return err_copy(err, &why);
        }
        if (!said)
            cli_remark(cli, "waiting: %s", why.text);
        said = true;
        world_sleep_us(cli->world, WAIT_STEP_US);
    }
}

struct locking {
    struct fs *fs;
    const char *path;
    struct fs_lock **out;
};

static int try_lock(void *ctx, struct err *err)
{
    const struct locking *l = ctx;
    return fs_lock(l->fs, l->path, l->out, err);
}

int cli_lock(struct cli *cli,
             struct fs *fs,
             const char *path,
             struct fs_lock **out,
             struct err *err)
{
    struct locking l = {fs, path, out};
    return remote_is_cluster(cli->target) ? try_lock(&l, err)
                                          : cli_wait(cli, try_lock, &l, err);
}

struct opening {
    const char *target;
    const struct quarry_options *options;
    struct quarry **out;
};

static int try_open(void *ctx, struct err *err)
{
    const struct opening *o = ctx;
    return quarry_open(o->target, o->options, o->out, err);
}

int cli_open_waiting(void *ctx,
                     const char *target,
                     const struct quarry_options *opts,
                     struct quarry **out,
                     struct err *err)
{
    struct opening o = {target, opts, out};
    int rc;
    PRE(target);
    *out = NULL;
    rc = cli_wait(ctx, try_open, &o, err);
    if (rc)
        *out = NULL;
    return rc;
}

int cli_master_keys(struct cli *cli, struct master_keys **out, struct err *err)
{
    const struct master_key_source source = {
        .key_file = cli->encryption_key,
        .key_command = cli->encryption_key_command,
        .previous_key_file = cli->previous_key,
    };
    int rc = 0;
    if (!cli->master_keys)
        rc = master_keys_read(cli->world, &source, &cli->master_keys, err);
    *out = cli->master_keys;
    return rc;
}

int cli_store(struct cli *cli,
              enum cli_access access,
              struct quarry **out,
              struct err *err)
{
    struct quarry_options opts = {.world = cli->world,
                                  .memtable_bytes = cli->memtable_bytes};
    int rc;
    PRE(cli->world);
    *out = cli->store;
    if (*out)
        return ERR_OK;
    opts.must_exist = access != CLI_CREATE;
    /* A shell would not see what is written later, and may write itself. */
    opts.read_only = access == CLI_READ && !cli->in_shell;
    if (remote_is_cluster(cli->target))
        return open_cluster(cli, &opts, out, err);
    rc = cli_master_keys(cli, &opts.master_keys, err);
    if (rc)
        return rc;
    rc = cli_open_waiting(cli, cli->target, &opts, &cli->store, err);
    if (rc) {
        hint_store(cli, rc, err);
        return rc;
    }
    *out = cli->store;
    return ERR_OK;
}

void cli_hint_table(struct cli *cli, const char *name, struct err *err)
{
    char **names;
    size_t count;
    struct suggest s;
    /* A family or a file may be what is not there. */
    PRE(name);
    if (!cli->store || err->detail != ERR_DETAIL_NO_TABLE ||
        quarry_table_list(cli->store, &names, &count, NULL) != ERR_OK)
        return;
    suggest_init(&s, name);
    for (size_t i = 0; i < count; i++)
        suggest_offer(&s, names[i]);
    if (suggest_best(&s))
        err_hint(err, "did you mean %s?", suggest_best(&s));
    else if (count > 0)
        err_hint(err, "see: quarry table list");
    else
        err_hint(err,
                 "there is no table yet: quarry table create %s "
                 "--family FAMILY",
                 name);
    quarry_names_free(names, count);
}

int cli_table(struct cli *cli,
              const char *name,
              enum cli_access access,
              struct quarry_table **out,
              struct err *err)
{
    struct quarry *q;
    int rc = cli_store(cli, access, &q, err);
    if (rc)
        return rc;
    rc = quarry_table_open(q, name, out, err);
    if (rc == ERR_NOTFOUND)
        cli_hint_table(cli, name, err);
    return rc;
}

/* Names of rows and files are any bytes: a terminal must not obey them. */
static void put_printable(struct buf *out, const char *text)
{
    const char *end = text + strlen(text);
    while (text < end) {
        uint32_t code;
        size_t n = utf8_decode(text, end, &code);
        INVARIANT(n > 0);
        bool is_utf8 = n > 1 || code < 0x80;
        bool is_control = code < ' ' || (code >= 0x7f && code < 0xa0);
        if (is_utf8 && (!is_control || code == '\n' || code == '\t'))
            buf_append(out, text, n);
        else
            for (size_t i = 0; i < n; i++)
                buf_printf(out, "\\x%02x", (unsigned char)text[i]);
        text += n;
    }
}

void cli_report(const struct err *err)
{
    struct buf line = BUF_INIT;
    fflush(stdout);
    put_printable(&line, err->text);
    if (err->hint[0]) {
        buf_append_str(&line, " (");
        put_printable(&line, err->hint);
        buf_append_str(&line, ")");
    }
    fprintf(stderr, "quarry: %s\n", buf_cstr(&line));
    buf_close(&line);
}

void cli_remark(const struct cli *cli, const char *fmt, ...)
{
    va_list ap;
    if (cli->quiet)
        return;
    fflush(stdout);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
}

int cli_read_file(const char *path, struct buf *out, struct err *err)
{
    bool standard = strcmp(path, "-") == 0;
    FILE *f = standard ? stdin : fopen(path, "rb");
    size_t n;
    int rc = ERR_OK;
    if (!f)
        return err_set_errno(err, errno, "%s", path);
    do {
        char *p = buf_reserve(out, BUFSIZ);
        n = fread(p, 1, BUFSIZ, f);
        (void)buf_extend(out, n);
    } while (n > 0);
    if (ferror(f))
        rc = err_set_errno(err, errno, "%s", path);
    if (!standard)
        fclose(f);
    return rc;
}
