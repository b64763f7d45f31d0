/* A store's directory, as far as it can be judged without reading its rows:
 * space, the process that has it open, whether all its files are there with the
 * sizes that the manifest says, and what a start would have to read.
 */
#include "cli/doctor_store.h"

#include <stdarg.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/core/text.h"
#include "base/runtime/world.h"
#include "bigtable/quarry.h"
#include "cli/cli.h"
#include "gfs-lite/fs.h"

#define SPACE_SHORT_SHARE 10 /* Of 100. */
#define LOG_LONG_BYTES    (UINT64_C(1) << 30)
#define TABLES_DIR        "tables"
#define LOG_DIR           "log"
#define MANY_FILES        200 /* Of one table's group of files: a read looks. */

struct store_look {
    struct cli *cli;
    json_t *findings;
    size_t failures;
    size_t warnings;
};

/* --- findings ------------------------------------------------------------ */

/* Names of directories and files may be any bytes. */
static json_t *is_printable_path(struct buf *text)
{
    if (!utf8_valid(buf_slice(text)))
        for (size_t i = 0; i < text->len; i++)
            if ((unsigned char)text->data[i] >= 0x80)
                text->data[i] = '?';
    return json_string(buf_cstr(text));
}

static void store_find(struct store_look *l,
                       const char *severity,
                       const char *id,
                       const char *remedy,
                       const char *fmt,
                       ...) PRINTF_LIKE(5, 6);

static void store_find(struct store_look *l,
                       const char *severity,
                       const char *id,
                       const char *remedy,
                       const char *fmt,
                       ...)
{
    struct buf sentence = BUF_INIT;
    json_t *o = json_object();
    va_list ap;
    PRE(l->findings);
    PRE(*remedy);
    va_start(ap, fmt);
    buf_vprintf(&sentence, fmt, ap);
    va_end(ap);
    json_object_set_new(o, "id", json_string(id));
    json_object_set_new(o, "severity", json_string(severity));
    json_object_set_new(o, "subject", json_string("store"));
    json_object_set_new(o, "sentence", is_printable_path(&sentence));
    json_object_set_new(o, "remedy", json_string(remedy));
    json_array_append_new(l->findings, o);
    l->failures += strcmp(severity, "failure") == 0;
    l->warnings += strcmp(severity, "warning") == 0;
    buf_close(&sentence);
}

static const char *bytes_text(struct buf *b, uint64_t bytes)
{
    buf_clear(b);
    text_put_bytes(b, bytes);
    return buf_cstr(b);
}

/* --- looking ------------------------------------------------------------- */

static void look_at_space(struct store_look *l, const char *dir)
{
    static const char remedy[] =
        "free space on that disk: quarry table drop, quarry snapshot drop, "
        "quarry table compact";
    struct buf a = BUF_INIT;
    struct buf b = BUF_INIT;
    uint64_t size = 0;
    uint64_t left = 0;
    if (world_space(l->cli->world, dir, &size, &left, NULL))
        return;
    if (left == 0)
        store_find(l, "failure", "disk_full", remedy,
                   "The disk of %s is full: nothing can be written.", dir);
    else if (left < size / 100 * SPACE_SHORT_SHARE)
        store_find(l, "warning", "disk_short", remedy,
                   "Of the disk of %s %s of %s are free.", dir,
                   bytes_text(&a, left), bytes_text(&b, size));
    buf_close(&a);
    buf_close(&b);
}

/* A lock whose process is gone is no lock: the kernel has released it. */
static void look_at_lock(struct store_look *l, const char *dir)
{
    struct fs *fs;
    struct fs_lock *lock = NULL;
    struct err err = ERR_INIT;
    if (fs_local_open(l->cli->world, dir, &fs, &err))
        return;
    if (fs_lock(fs, "LOCK", &lock, &err) == ERR_BUSY)
        store_find(l, "note", "store_busy",
                   "other writers wait for it or fail; readers work beside it",
                   "Another process has the store open: %s.", err.text);
    fs_unlock(lock);
    fs_close(fs);
}

/* The files below @dir/@part and their bytes. */
static size_t
count_files(struct world *w, const char *dir, const char *part, uint64_t *bytes)
{
    struct buf path = BUF_INIT;
    char **names = NULL;
    size_t count = 0;
    *bytes = 0;
    buf_printf(&path, "%s/%s", dir, part);
    if (world_list(w, buf_cstr(&path), &names, &count, NULL))
        count = 0;
    for (size_t i = 0; i < count; i++) {
        struct buf name = BUF_INIT;
        struct file_info info;
        buf_printf(&name, "%s/%s", buf_cstr(&path), names[i]);
        if (world_stat(w, buf_cstr(&name), &info, NULL) == 0)
            *bytes += info.size_bytes;
        buf_close(&name);
    }
    world_names_free(names, count);
    buf_close(&path);
    return count;
}

static void look_at_log(struct store_look *l, const char *dir)
{
    struct buf text = BUF_INIT;
    uint64_t bytes;
    (void)count_files(l->cli->world, dir, LOG_DIR, &bytes);
    if (bytes > LOG_LONG_BYTES)
        store_find(l, "warning", "log_long",
                   "open it once for writing, as with quarry table compact: "
                   "what was read from the log is then written to files",
                   "The next start reads %s of the commit log.",
                   bytes_text(&text, bytes));
    buf_close(&text);
}

static void
look_at_table(struct store_look *l, struct quarry *q, const char *name)
{
    struct quarry_table_info *info;
    struct err err = ERR_INIT;
    if (quarry_table_describe(q, name, &info, &err)) {
        store_find(l, "failure", "table_damaged", "quarry check names the file",
                   "Table %s cannot be read: %s.", name, err.text);
        return;
    }
    for (size_t i = 0; i < info->group_count; i++)
        if (info->groups[i].table_file_count > MANY_FILES * info->tablet_count)
            store_find(l, "warning", "compaction_debt", "quarry table compact",
                       "Locality group %s of table %s has %zu files in %zu "
                       "tablets: compactions are behind, and reads are slow.",
                       info->groups[i].name, name,
                       info->groups[i].table_file_count, info->tablet_count);
    quarry_table_info_free(info);
}

/* Opening it compares the sizes of all files with the manifest. */
static void look_at_tables(struct store_look *l)
{
    struct quarry *q;
    struct err err = ERR_INIT;
    char **names = NULL;
    size_t count = 0;
    int rc = cli_store(l->cli, CLI_READ, &q, &err);
    if (rc == 0)
        rc = quarry_table_list_all(q, &names, &count, &err);
    if (rc)
        store_find(l, "failure", "store_damaged",
                   "restore the file that is named from a backup; "
                   "docs/operating.md, Operating a store",
                   "The store cannot be opened: %s.", err.text);
    for (size_t i = 0; rc == 0 && i < count; i++)
        look_at_table(l, q, names[i]);
    quarry_names_free(names, count);
}

/* --- the whole ----------------------------------------------------------- */

static void
put_sentence(const struct store_look *l, const char *dir, struct buf *out)
{
    struct buf size = BUF_INIT;
    uint64_t bytes;
    size_t files = count_files(l->cli->world, dir, TABLES_DIR, &bytes);
    if (l->failures)
        buf_printf(out, "The store %s is failing: %zu failure%s.", dir,
                   l->failures, l->failures == 1 ? "" : "s");
    else if (l->warnings)
        buf_printf(out, "The store %s works, with %zu warning%s.", dir,
                   l->warnings, l->warnings == 1 ? "" : "s");
    else
        buf_printf(out,
                   "The store %s is well: %zu table file%s of %s are all "
                   "there. (quarry check reads them.)",
                   dir, files, files == 1 ? "" : "s", bytes_text(&size, bytes));
    buf_close(&size);
}

int doctor_store_look(struct cli *cli, json_t **doc, struct err *err)
{
    struct store_look l = {.cli = cli};
    const char *dir = cli_directory(cli);
    struct buf sentence = BUF_INIT;
    struct file_info info;
    int rc = world_stat(cli->world, dir, &info, err);
    *doc = NULL;
    if (rc) {
        err_wrap(err, "the store %s", dir);
        return rc;
    }
    l.findings = json_array();
    look_at_space(&l, dir);
    look_at_tables(&l);
    look_at_log(&l, dir);
    look_at_lock(&l, dir);
    put_sentence(&l, dir, &sentence);
    *doc = json_object();
    json_object_set_new(*doc, "at_us",
                        json_integer((json_int_t)world_now_us(cli->world)));
    json_object_set_new(*doc, "warnings", json_array());
    json_object_set_new(*doc, "state",
                        json_string(l.failures   ? "failing"
                                    : l.warnings ? "warning"
                                                 : "well"));
    json_object_set_new(*doc, "sentence", is_printable_path(&sentence));
    json_object_set_new(*doc, "findings", l.findings);
    buf_close(&sentence);
    return 0;
}
