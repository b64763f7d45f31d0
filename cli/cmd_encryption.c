/* quarry encryption: keys of the data that a directory, or a cluster's tables,
 * store. Data keys are encrypted by master keys; rotating a master key rewrites
 * only KEYS.
 */
#include "cli/cmd_encryption.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/crypt/keyring.h"
#include "base/runtime/world.h"
#include "bigtable/store/store_encryption.h"
#include "cli/cli.h"
#include "cli/cmd_fs.h"
#include "cli/command.h"
#include "cli/remote_call.h"
#include "cli/table_printer.h"
#include "gfs-lite/fs.h"
#include "gfs-lite/gfs.h"

#define KEYS_NAME "KEYS"
/* A process that has the store open locks its whole directory; changes of KEYS
 * are locked against each other in a directory of their own. */
#define KEYS_LOCK_DIR  "keys"
#define KEYS_LOCK_NAME KEYS_LOCK_DIR "/LOCK"

static const struct option new_key_options[] = {
    {"previous-encryption-key", 0, "FILE",
     "the master key before; if not given\n$QUARRY_PREVIOUS_ENCRYPTION_KEY"},
    {NULL, 0, NULL, NULL},
};

/* --- output -------------------------------------------------------------- */

static void add_key_name(struct sheet *s, uint64_t name)
{
    sheet_addf(s, "%016" PRIx64, name);
}

static void
add_count(struct sheet *s, const char *what, const struct encryption_status *e)
{
    sheet_add_str(s, what);
    sheet_add_u64(s, e->sealed.files);
    sheet_add_u64(s, e->sealed.bytes);
    sheet_add_u64(s, e->old.files);
    sheet_add_u64(s, e->plain.files);
    sheet_add_u64(s, e->plain.bytes);
}

void encryption_print(struct cli *cli,
                      const struct keyring_status *keys,
                      const struct encryption_status *tables,
                      const struct encryption_status *logs)
{
    static const struct sheet_column key_columns[] = {
        {"data_key", SHEET_TEXT},
        {"created_us", SHEET_NUMBER},
        {"keys", SHEET_NUMBER},
        {"master_key", SHEET_TEXT}};
    static const struct sheet_column file_columns[] = {
        {"files", SHEET_TEXT},   {"encrypted", SHEET_NUMBER},
        {"bytes", SHEET_BYTES},  {"older_key", SHEET_NUMBER},
        {"plain", SHEET_NUMBER}, {"plain_bytes", SHEET_BYTES}};
    struct sheet s;

    sheet_init(&s, key_columns, ARRAY_LEN(key_columns));
    if (keys) {
        add_key_name(&s, keys->current_id);
        sheet_add_u64(&s, keys->current_created_us);
        sheet_add_u64(&s, keys->key_count);
        add_key_name(&s, keys->master);
        sheet_print(&s, cli->format);
    } else {
        cli_remark(cli, "no keys: what is written is not encrypted");
    }
    sheet_close(&s);
    sheet_init(&s, file_columns, ARRAY_LEN(file_columns));
    add_count(&s, "tables", tables);
    add_count(&s, "logs", logs);
    sheet_print(&s, cli->format);
    sheet_close(&s);
    if (keys && tables->plain.files)
        cli_remark(cli, "to encrypt all: quarry compact each table");
}

/* --- where keys are ------------------------------------------------------ */

/* Of a cluster they lie below this directory, with all that is encrypted by
 * them. */
#define CLUSTER_ROOT "bigtable"

/* The path of @name, of a directory's files or of a cluster's. */
static const char *
place_of(struct buf *path, const struct fs_command *c, const char *name)
{
    buf_clear(path);
    buf_printf(path, "%s%s", fs_is_gfs(c->fs) ? CLUSTER_ROOT "/" : "", name);
    return buf_cstr(path);
}

/* Have the keys of @c's files, if there are any. */
static int open_keys(const struct fs_command *c, struct err *err)
{
    struct buf path = BUF_INIT;
    struct master_keys *masters;
    int rc = cli_master_keys(c->cli, &masters, err);
    if (!rc)
        rc = fs_open_keyring(c->fs, place_of(&path, c, KEYS_NAME), masters,
                             false, err);
    if (rc)
        err_wrap(err, "%s", c->cli->target);
    buf_close(&path);
    return rc;
}

/* Logs of a cluster's servers have a directory each. */
static int count_logs(const struct fs_command *c,
                      struct encryption_status *logs,
                      struct err *err)
{
    struct buf path = BUF_INIT;
    struct buf one = BUF_INIT;
    char **names = NULL;
    size_t count = 0;
    int rc = encryption_count_logs(c->fs, place_of(&path, c, "log"), logs, err);
    if (!rc && fs_is_gfs(c->fs))
        rc = fs_list(c->fs, buf_cstr(&path), &names, &count, err);
    if (rc == ERR_NOTFOUND)
        rc = 0;
    for (size_t i = 0; i < count && !rc; i++) {
        buf_clear(&one);
        buf_printf(&one, "%s/%s", buf_cstr(&path), names[i]);
        rc = encryption_count_logs(c->fs, buf_cstr(&one), logs, err);
    }
    fs_names_free(names, count);
    buf_close(&path);
    buf_close(&one);
    return rc;
}

static int show_status(const struct fs_command *c, struct err *err)
{
    struct encryption_status tables = {.plain = {0, 0}};
    struct encryption_status logs = {.plain = {0, 0}};
    struct keyring_status keys = {.key_count = 0};
    struct buf path = BUF_INIT;
    int rc = open_keys(c, err);

    if (!rc && fs_keyring(c->fs))
        keyring_get_status(fs_keyring(c->fs), &keys);
    if (!rc)
        rc = encryption_count_tables(c->fs, place_of(&path, c, "tables"),
                                     keys.current_id, &tables, err);
    if (!rc)
        rc = count_logs(c, &logs, err);
    if (!rc)
        encryption_print(c->cli, keys.key_count ? &keys : NULL, &tables, &logs);
    buf_close(&path);
    return rc;
}

/* Change the keys of @c's files: @fn has its keyring. */
static int change_keys(const struct fs_command *c,
                       int (*fn)(struct cli *, struct keyring *, struct err *),
                       struct err *err)
{
    struct buf path = BUF_INIT;
    struct fs_lock *lock;
    int rc = open_keys(c, err);

    if (!rc && !fs_keyring(c->fs)) {
        rc = err_set(err, ERR_NOTFOUND, "%s is not encrypted", c->cli->target);
        err_hint(err, "write to it with a master key: --encryption-key FILE");
    }
    if (!rc)
        rc = fs_mkdirs(c->fs, place_of(&path, c, KEYS_LOCK_DIR), err);
    if (!rc)
        rc = cli_lock(c->cli, c->fs, place_of(&path, c, KEYS_LOCK_NAME), &lock,
                      err);
    if (!rc) {
        rc = fn(c->cli, fs_keyring(c->fs), err);
        fs_unlock(lock);
    }
    buf_close(&path);
    return rc;
}

static int
encryption_rotate(struct cli *cli, struct keyring *k, struct err *err)
{
    struct keyring_status s;
    int rc = keyring_rotate(k, err);
    if (rc)
        return rc;
    keyring_get_status(k, &s);
    cli_remark(cli, "data key %016" PRIx64 " encrypts what is written now",
               s.current_id);
    return 0;
}

static int rotate_master(struct cli *cli, struct keyring *k, struct err *err)
{
    struct keyring_status s;
    bool done;
    int rc = keyring_rewrap(k, &done, err);
    if (rc)
        return rc;
    keyring_get_status(k, &s);
    cli_remark(cli, "%zu data keys are wrapped by master key %016" PRIx64 "%s",
               s.key_count, s.master, done ? "" : " already");
    return 0;
}

static int rotate_data_key(const struct fs_command *c, struct err *err)
{
    return change_keys(c, encryption_rotate, err);
}

static int rotate_master_key(const struct fs_command *c, struct err *err)
{
    return change_keys(c, rotate_master, err);
}

/* --- commands ------------------------------------------------------------ */

/* No directory is made to look into it. */
static int run_with_files(struct cli *cli,
                          const struct args *args,
                          fs_command_fn fn,
                          struct err *err)
{
    struct file_info info;
    if (!remote_is_cluster(cli->target)) {
        int rc = world_stat(cli->world, cli_directory(cli), &info, err);
        if (rc)
            return rc;
    }
    return fs_command_run(cli, args, fn, err);
}

static int run_status(struct cli *cli, const struct args *args, struct err *err)
{
    return run_with_files(cli, args, show_status, err);
}

static int run_rotate(struct cli *cli, const struct args *args, struct err *err)
{
    return run_with_files(cli, args, rotate_data_key, err);
}

static int
run_rotate_master(struct cli *cli, const struct args *args, struct err *err)
{
    if (args_value(args, "previous-encryption-key"))
        cli->previous_key = args_value(args, "previous-encryption-key");
    if (!cli->previous_key)
        return usage_error(args, err,
                           "which key was it? --previous-encryption-key FILE");
    return run_with_files(cli, args, rotate_master_key, err);
}

const struct command encryption_commands[] = {
    {.name = "encryption status",
     .arguments = "",
     .summary = "Show what is encrypted, and with which keys",
     .details =
         "A store is encrypted from the first write with a master key on:\n"
         "    openssl rand -hex 32 > key; chmod 600 key\n"
         "    quarry --encryption-key key put …   (or $QUARRY_ENCRYPTION_KEY)\n"
         "The master key wraps the data keys in the store's file KEYS, and\n"
         "these encrypt everything. Without it the store does not open: keep\n"
         "it, and not beside the store. Files of before are encrypted when\n"
         "they are compacted.",
     .examples = "quarry encryption status",
     .options = {remote_options},
     .run = run_status},
    {.name = "encryption rotate",
     .arguments = "",
     .summary = "Make a new data key, for what is written from now on",
     .details = "Nothing is written again; what the keys before encrypted "
                "stays\nreadable. A process that has the store open takes the "
                "new key with\nits next file.",
     .examples = "quarry encryption rotate",
     .options = {remote_options},
     .run = run_rotate},
    {.name = "encryption rotate-master",
     .arguments = "",
     .summary = "Have a new master key in the place of the one before",
     .details = "Only KEYS is written again, as a whole or not at all. From "
                "then on\nthe master key before is of no use.",
     .examples = "quarry encryption rotate-master --encryption-key new \\\n"
                 "    --previous-encryption-key old",
     .options = {new_key_options, remote_options},
     .run = run_rotate_master},
    {.name = NULL},
};
