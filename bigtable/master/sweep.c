/* Removing SSTables that no tablet names, logs of dead servers that no tablet
 * needs, and bulk loads that were abandoned.
 *
 * A file goes when two whole readings of METADATA have not found it
 * (garbage.h), when no server may still name it (pending_outputs.h), when it
 * has been due for the age of the options, and only while this master certainly
 * holds its lock. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/runtime/log.h"
#include "base/runtime/world.h"
#include "bigtable/master/master_term.h"
#include "bigtable/wire/load_calls.h"
#include "bigtable/wire/tablet_files.h"
#include "gfs-lite/fs.h"

#define TABLES_DIR          "tables"
#define SSTABLE_FILE_SUFFIX ".sst"
#define SWEEP_PATH_BYTES    512
/* A file that is written to learn the file system's time; no load's name begins
 * with a dot. */
#define CLOCK_PATH LOADS_DIR "/.clock"

/* --- marks --------------------------------------------------------------- */

static void mark_file(void *ctx, uint64_t number)
{
    garbage_mark(ctx, number);
}

static int
mark_state(struct master_term *r, struct slice state, struct err *err)
{
    struct tablet_state *s = mem_alloc(sizeof(*s));
    int rc = state.len ? tablet_state_get(state, s, err) : 0;
    if (rc == 0 && state.len) {
        for (size_t i = 0; i < s->log_count; i++)
            garbage_mark(&r->logs, s->logs[i]);
        rc = tablet_files_each(s->groups, mark_file, &r->files, err);
        if (rc == 0)
            rc = tablet_changes_each(s->changes, mark_file, &r->files, err);
    }
    mem_free(s);
    return rc;
}

/* The server of the tablet may still name files. */
static int
mark_place(struct master_term *r, struct slice location, struct err *err)
{
    struct tablet_location l;
    int rc = location.len ? tablet_location_get(location, &l, err) : 0;
    if (rc == 0 && location.len && l.server)
        pending_outputs_place(&r->pending_outputs, l.server);
    return rc;
}

int sweep_mark(struct master_term *r,
               const struct metadata_row *row,
               struct err *err)
{
    struct tablet_record *half;
    int rc = mark_place(r, row->location, err);

    PRE(r->rereading);
    if (rc == 0)
        rc = mark_state(r, row->state, err);
    if (rc || row->split.len == 0)
        return rc;
    half = mem_alloc(sizeof(*half));
    rc = tablet_record_get(row->split, half, err);
    if (rc == 0) {
        pending_outputs_place(&r->pending_outputs, half->location.server);
        for (size_t i = 0; i < half->state.log_count; i++)
            garbage_mark(&r->logs, half->state.logs[i]);
        rc = tablet_files_each(half->state.groups, mark_file, &r->files, err);
        if (rc == 0)
            rc = tablet_changes_each(half->state.changes, mark_file, &r->files,
                                     err);
    }
    mem_free(half);
    return rc;
}

/* --- sweep --------------------------------------------------------------- */

/* Parse a name that is a number and @suffix. */
static bool parse_name(const char *name, const char *suffix, uint64_t *number)
{
    char *end;
    if (name[0] < '0' || name[0] > '9')
        return false;
    *number = strtoull(name, &end, 10);
    return strcmp(end, suffix) == 0;
}

static void
sweep_file(struct master_term *r, const char *name, uint64_t *removed)
{
    char path[SWEEP_PATH_BYTES];
    uint64_t number;
    struct err err = ERR_INIT;

    PRE(r->ready);
    if (!parse_name(name, SSTABLE_FILE_SUFFIX, &number) ||
        !garbage_is_due(&r->files, number, UINT64_MAX, 0) ||
        !pending_outputs_are_settled(&r->pending_outputs, number))
        return;
    snprintf(path, sizeof(path), TABLES_DIR "/%s", name);
    if (!garbage_is_due(
            &r->files, number,
            garbage_waits_us(&r->files, number, master_term_now_ns(r)),
            r->options->garbage_age_us) ||
        !chubby_is_safe(r->chubby))
        return;
    if (fs_remove(r->options->fs, path, &err))
        log_warn(r->world, "master", "remove %s: %s", path, err.text);
    else
        ++*removed;
}

static void
sweep_log(struct master_term *r, const char *name, uint64_t *removed)
{
    char path[SWEEP_PATH_BYTES];
    uint64_t number;
    struct err err = ERR_INIT;

    PRE(r->ready);
    if (!parse_name(name, "", &number) ||
        cluster_view_is_alive(&r->view, number) ||
        !garbage_is_due(&r->logs, number, UINT64_MAX, 0))
        return;
    snprintf(path, sizeof(path), BIGTABLE_FS_LOGS "/%s", name);
    if (!garbage_is_due(
            &r->logs, number,
            garbage_waits_us(&r->logs, number, master_term_now_ns(r)),
            r->options->garbage_age_us) ||
        !chubby_is_safe(r->chubby))
        return;
    if (fs_remove_tree(r->options->fs, path, &err))
        log_warn(r->world, "master", "remove %s: %s", path, err.text);
    else
        ++*removed;
}

static uint64_t sweep_directory(struct master_term *r,
                                const char *path,
                                void (*fn)(struct master_term *r,
                                           const char *name,
                                           uint64_t *removed))
{
    struct err err = ERR_INIT;
    char **names;
    size_t count;
    uint64_t removed = 0;
    int rc = fs_list(r->options->fs, path, &names, &count, &err);

    PRE(fn);
    PRE(path[0] != '/');
    if (rc) {
        if (rc != ERR_NOTFOUND)
            log_warn(r->world, "master", "list %s: %s", path, err.text);
        return 0;
    }
    for (size_t i = 0; i < count && master_term_is_current(r); i++)
        fn(r, names[i], &removed);
    fs_names_free(names, count);
    return removed;
}

/* The time by the clock that stamps files; 0: unknown. */
static uint64_t files_now_us(struct master_term *r)
{
    struct fs_info info;
    if (fs_replace(r->options->fs, CLOCK_PATH, SLICE_EMPTY, NULL) ||
        fs_stat(r->options->fs, CLOCK_PATH, &info, NULL))
        return 0;
    return info.modified_us;
}

/* Remove a bulk load that nobody has written to for LOAD_STALE_US. Both times
 * are the file system's, not this machine's. */
static void
sweep_load(struct master_term *r, const char *name, uint64_t *removed)
{
    char path[LOAD_PATH_BYTES];
    struct err err = ERR_INIT;
    uint64_t now_us;
    uint64_t us;

    PRE(r->ready);
    if (load_check_name("", slice_str(name), NULL))
        return;
    load_path(slice_str(name), SLICE_EMPTY, path);
    us = fs_last_write_us(r->options->fs, path);
    now_us = files_now_us(r);
    if (us > now_us || now_us - us <= LOAD_STALE_US)
        return;
    if (fs_remove_tree(r->options->fs, path, &err))
        log_warn(r->world, "master", "remove %s: %s", path, err.text);
    else
        ++*removed;
}

/* --- the whole ----------------------------------------------------------- */

void sweep_begin(struct master_term *r)
{
    uint64_t newest = 0;

    PRE(r->rereading);
    for (size_t i = 0; i < r->view.server_count; i++)
        newest = MAX_OF(newest, r->view.servers[i]->number);
    garbage_begin(&r->files);
    garbage_begin(&r->logs);
    pending_outputs_begin(&r->pending_outputs, newest);
    for (size_t i = 0; i < r->view.server_count; i++) {
        const struct known_server *s = r->view.servers[i];
        if (s->alive)
            pending_outputs_alive(&r->pending_outputs, s->number,
                                  s->files_decided);
    }
}

void sweep_end(struct master_term *r, bool whole)
{
    PRE(r->rereading);
    if (whole) {
        garbage_end(&r->files);
        garbage_end(&r->logs);
        pending_outputs_end(&r->pending_outputs);
    } else {
        garbage_abandon(&r->files);
        garbage_abandon(&r->logs);
        pending_outputs_abandon(&r->pending_outputs);
    }
}

void sweep(struct master_term *r)
{
    uint64_t files = sweep_directory(r, TABLES_DIR, sweep_file);
    uint64_t logs = sweep_directory(r, BIGTABLE_FS_LOGS, sweep_log);
    uint64_t loads = sweep_directory(r, LOADS_DIR, sweep_load);

    PRE(r->rereading);
    if (files || logs || loads)
        master_note(r, EVENT_SWEEP, "files=%llu logs=%llu loads=%llu",
                    (unsigned long long)files, (unsigned long long)logs,
                    (unsigned long long)loads);
}
