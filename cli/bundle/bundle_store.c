/* A store in a directory: what the commands about it print, as JSON, the list
 * of its files, its manifest, and of its log how much there is. Cells are in
 * none of these. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/core/panic.h"
#include "base/core/text.h"
#include "base/runtime/world.h"
#include "cli/bundle/bundle.h"
#include "cli/bundle/scrub.h"
#include "cli/cli.h"
#include "cli/command.h"

#define TABLES_PACKED  50
#define LOGS_PACKED    8
#define FILES_LISTED   20000
#define WORDS_MAX      6
#define CAPTURED_BYTES ((size_t)16 << 20)
#define NAME_BYTES     512

/* --- commands ------------------------------------------------------------ */

/* Standard output goes to @to until it is put back. -1: it cannot. */
static int bundle_store_redirect(FILE *to)
{
    int saved;
    fflush(stdout);
    saved = dup(STDOUT_FILENO);
    if (saved >= 0 && dup2(fileno(to), STDOUT_FILENO) < 0) {
        close(saved);
        saved = -1;
    }
    return saved;
}

static void put_back(int saved)
{
    PRE(saved >= 0);
    fflush(stdout);
    (void)dup2(saved, STDOUT_FILENO);
    close(saved);
}

static void read_captured(FILE *f, struct buf *out)
{
    char part[4096];
    size_t n;
    rewind(f);
    while (out->len < CAPTURED_BYTES &&
           (n = fread(part, 1, sizeof(part), f)) > 0)
        buf_append(out, part, n);
}

/* Run the command @words, and append what it prints as JSON to @out. */
static int bundle_store_capture(struct cli *cli,
                                const char *const words[WORDS_MAX],
                                struct buf *out,
                                struct err *err)
{
    const struct cli before = *cli;
    FILE *f = tmpfile();
    int saved = f ? bundle_store_redirect(f) : -1;
    int count = 0;
    int rc;
    if (saved < 0) {
        if (f)
            fclose(f);
        return err_set(err, ERR_IO, "no temporary file for its output");
    }
    while (count < WORDS_MAX && words[count])
        count++;
    cli->format = FORMAT_JSON;
    cli->quiet = true;
    rc = command_run(cli, count, words, err);
    cli->format = before.format;
    cli->quiet = before.quiet;
    cli->status = before.status;
    put_back(saved);
    read_captured(f, out);
    fclose(f);
    return rc;
}

/* Each of the JSON values in @text, without row keys if these are hashed. */
static void put_without_keys(struct bundle *b, struct slice text, json_t *out)
{
    while ((text = slice_trim(text)).len) {
        json_error_t at;
        json_t *v =
            json_loadb(text.data, text.len, JSON_DISABLE_EOF_CHECK, &at);
        if (!v)
            return;
        scrub_document(b->scrub, v);
        json_array_append_new(out, v);
        text = slice_sub(text, (size_t)at.position, text.len);
    }
}

/* Pack what the command @words prints. @answer, unless it is NULL: what that
 * was, with row keys. */
static void pack_command(struct bundle *b,
                         const char *name,
                         const char *const words[WORDS_MAX],
                         struct buf *answer)
{
    struct err why = ERR_INIT;
    struct buf text = BUF_INIT;
    json_t *values = json_array();
    if (bundle_store_capture(b->cli, words, &text, &why))
        bundle_miss(b, name, &why);
    put_without_keys(b, buf_slice(&text), values);
    if (why.code == 0 || json_array_size(values))
        bundle_add_document(b, name, values);
    if (answer)
        buf_append_slice(answer, buf_slice(&text));
    json_decref(values);
    buf_close(&text);
}

/* --- tables -------------------------------------------------------------- */

static void pack_table(struct bundle *b, const char *table)
{
    static const char *const parts[] = {"describe", "groups", "families",
                                        "tablets"};
    char name[NAME_BYTES];
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        char option[32];
        const char *words[WORDS_MAX] = {"table", i ? "stats" : parts[i], table,
                                        i > 1 ? option : NULL};
        snprintf(option, sizeof(option), "--%s", parts[i]);
        snprintf(name, sizeof(name), "store/table/%s/%s.json", table, parts[i]);
        pack_command(b, name, words, NULL);
    }
}

static void pack_tables(struct bundle *b)
{
    const char *words[WORDS_MAX] = {"table", "list"};
    struct buf text = BUF_INIT;
    struct slice rest;
    size_t packed = 0;
    pack_command(b, "store/tables.json", words, &text);
    rest = buf_slice(&text);
    while (rest.len && packed < TABLES_PACKED) {
        size_t at = slice_find_byte(rest, '\n');
        json_t *row = json_loadb(rest.data, MIN_OF(at, rest.len), 0, NULL);
        const char *table = json_string_value(json_object_get(row, "table"));
        if (table) {
            pack_table(b, table);
            packed++;
        }
        json_decref(row);
        rest = slice_sub(rest, at + 1, rest.len);
    }
    buf_close(&text);
}

/* --- files --------------------------------------------------------------- */

struct file_walk {
    struct bundle *bundle;
    struct buf list;
    size_t count;
    char *logs[LOGS_PACKED]; /* Owned: the newest segments of the log. */
    size_t log_count;
};

static void
put_file(struct file_walk *w, const char *path, const struct file_info *info)
{
    buf_printf(&w->list, "%c %04o %12llu ",
               info->kind == FILE_KIND_DIRECTORY ? 'd' : '-', info->mode,
               (unsigned long long)info->size_bytes);
    text_put_time(&w->list, (int64_t)info->modified_us);
    buf_printf(&w->list, " %s\n", path);
    w->count++;
}

/* Segments come in order of their names, which is that of their age. */
static void note_log(struct file_walk *w, const char *path)
{
    size_t len = strlen(path);
    if (len < 4 || strcmp(path + len - 4, ".log") != 0)
        return;
    if (w->log_count == LOGS_PACKED) {
        mem_free(w->logs[0]);
        memmove(w->logs, w->logs + 1, (LOGS_PACKED - 1) * sizeof(w->logs[0]));
        w->log_count--;
    }
    INVARIANT(w->log_count < LOGS_PACKED);
    w->logs[w->log_count++] = mem_strdup(path);
}

/* The files in @dir; of its directories, those to a depth of three. */
static void
bundle_store_walk(struct file_walk *w, const char *dir, unsigned depth)
{
    struct world *world = w->bundle->cli->world;
    char **names = NULL;
    size_t count = 0;
    struct err why = ERR_INIT;
    if (world_list(world, dir, &names, &count, &why)) {
        bundle_miss(w->bundle, "store/files.txt", &why);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        struct buf path = BUF_INIT;
        struct file_info info;
        buf_printf(&path, "%s/%s", dir, names[i]);
        if (w->count < FILES_LISTED &&
            world_stat(world, buf_cstr(&path), &info, NULL) == 0) {
            put_file(w, buf_cstr(&path), &info);
            note_log(w, buf_cstr(&path));
            if (info.kind == FILE_KIND_DIRECTORY && depth < 3)
                bundle_store_walk(w, buf_cstr(&path), depth + 1);
        }
        buf_close(&path);
        mem_free(names[i]);
    }
    mem_free(names);
}

static void pack_files(struct bundle *b, const char *dir)
{
    struct file_walk w = {.bundle = b};
    bundle_store_walk(&w, dir, 0);
    if (w.count == FILES_LISTED)
        buf_printf(&w.list, "(more than %d)\n", FILES_LISTED);
    bundle_add(b, "store/files.txt", buf_slice(&w.list));
    for (size_t i = 0; i < w.log_count; i++) {
        const char *words[WORDS_MAX] = {"dump", w.logs[i]};
        char name[NAME_BYTES];
        snprintf(name, sizeof(name), "store/log/%s.json",
                 strrchr(w.logs[i], '/') + 1);
        pack_command(b, name, words, NULL);
        mem_free(w.logs[i]);
    }
    buf_close(&w.list);
}

/* CURRENT has the name of the manifest in force. */
static void pack_manifest(struct bundle *b, const char *dir)
{
    static const char *const entries[] = {NULL, "--entries"};
    static const char *const names[] = {"store/manifest.json",
                                        "store/manifest-edits.json"};
    struct err why = ERR_INIT;
    struct buf current = BUF_INIT;
    struct buf path = BUF_INIT;
    struct slice manifest;
    buf_printf(&path, "%s/CURRENT", dir);
    if (cli_read_file(buf_cstr(&path), &current, &why)) {
        bundle_miss(b, names[0], &why);
    } else {
        manifest = slice_trim(buf_slice(&current));
        buf_clear(&path);
        buf_printf(&path, "%s/%.*s", dir, SLICE_ARG(manifest));
        for (size_t i = 0; i < ARRAY_LEN(names); i++) {
            const char *words[WORDS_MAX] = {"dump", buf_cstr(&path),
                                            entries[i]};
            pack_command(b, names[i], words, NULL);
        }
    }
    buf_close(&current);
    buf_close(&path);
}

void bundle_add_store(struct bundle *b, const char *dir)
{
    static const struct {
        const char *name;
        const char *words[WORDS_MAX];
    } plain[] = {
        {"store/doctor.json", {"doctor"}},
        {"store/snapshots.json", {"snapshot", "list"}},
        {"store/encryption.json", {"encryption", "status"}},
        {"store/jobs.json", {"job", "history"}},
    };

    bundle_progress(b, 100, "manifest");
    pack_manifest(b, dir);
    bundle_progress(b, 200, "tables");
    pack_tables(b);
    bundle_progress(b, 700, "files");
    pack_files(b, dir);
    for (size_t i = 0; i < ARRAY_LEN(plain); i++)
        pack_command(b, plain[i].name, plain[i].words, NULL);
}
