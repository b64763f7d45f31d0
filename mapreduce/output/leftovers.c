/* Owning directories by file locks, and removing those whose owner is dead. A
 * lock is tested, never a process id: ids are reused, locks end with their
 * process. */
#include "mapreduce/output/leftovers.h"

#include <string.h>

#include "base/core/ignore_result.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "mapreduce/output/commit.h"
#include "mapreduce/output/dirs.h"
#include "mapreduce/records/files.h"

/* "20261121-030500-1a2b" */
#define JOB_ID_BYTES ((size_t)20)

static char *
leftovers_join(const char *dir, const char *name, const char *suffix)
{
    struct buf b = BUF_INIT;
    buf_printf(&b, "%s/%s%s", dir, name, suffix);
    return buf_take(&b);
}

/* --- owning -------------------------------------------------------------- */

int leftovers_make(const struct job_files *files,
                   const char *path,
                   struct file_lock **lock,
                   struct err *err)
{
    struct buf fresh = BUF_INIT;
    char *owner;
    int rc;
    *lock = NULL;
    if (files->fs)
        return dirs_make(files, path, err);
    buf_printf(&fresh, "%s.new", path);
    owner = leftovers_join(buf_cstr(&fresh), ".owner", "");
    rc = dirs_make(files, buf_cstr(&fresh), err);
    if (rc == 0)
        rc = file_lock(files->world, owner, lock, err);
    if (rc == 0)
        rc = files_rename(files, buf_cstr(&fresh), path, err);
    if (rc) {
        file_unlock(*lock);
        *lock = NULL;
        if (dirs_remove(files, buf_cstr(&fresh), NULL))
            err_hint(err, "remove %s", buf_cstr(&fresh));
    }
    mem_free(owner);
    buf_close(&fresh);
    return rc;
}

int leftovers_take(const struct job_files *files,
                   const char *path,
                   struct file_lock **lock,
                   struct err *err)
{
    struct files_info info;
    char *owner;
    int rc = 0;
    *lock = NULL;
    if (files->fs)
        return 0;
    owner = leftovers_join(path, ".owner", "");
    if (files_stat(files, path, &info, NULL) == 0)
        rc = file_lock(files->world, owner, lock, err);
    mem_free(owner);
    return rc;
}

void leftovers_keep(const struct job_files *files,
                    const char *path,
                    struct file_lock *lock)
{
    char *owner = leftovers_join(path, ".owner", "");
    /* A later job will find it without an owner and remove it. */
    IGNORE_RESULT(files_remove(files, owner, NULL));
    file_unlock(lock);
    mem_free(owner);
}

/* --- finding ------------------------------------------------------------- */

static bool is_digit_or(char c, char want)
{
    return want == '0' ? c >= '0' && c <= '9' : c == want;
}

static bool is_job_id(struct slice s)
{
    static const char form[] = "00000000-000000-";
    size_t n = sizeof(form) - 1;
    if (s.len != JOB_ID_BYTES)
        return false;
    for (size_t i = 0; i < n; i++)
        if (!is_digit_or(s.data[i], form[i]))
            return false;
    for (size_t i = n; i < s.len; i++)
        if (!strchr("0123456789abcdef", s.data[i]))
            return false;
    return true;
}

/* Remove directory @path if its owner is dead. @output is the output it was to
 * replace, or NULL. */
static void remove_if_dead(const struct job_files *files,
                           const char *path,
                           const char *output,
                           struct buf *removed)
{
    char *owner = leftovers_join(path, ".owner", "");
    struct file_lock *lock = NULL;
    struct files_info info;
    /* Only if the file exists: locking would create it. */
    if (files_stat(files, owner, &info, NULL) == 0 &&
        file_lock(files->world, owner, &lock, NULL) == 0) {
        int rc = output ? commit_abandon(files, path, output, NULL)
                        : dirs_remove(files, path, NULL);
        if (rc == 0)
            buf_printf(removed, "%s\n", path);
        file_unlock(lock);
    }
    mem_free(owner);
}

void leftovers_remove_staging(const struct job_files *files,
                              const char *path,
                              struct buf *removed)
{
    const char *name;
    char *dir = dirs_parent(path, &name);
    struct slice base = slice_str(name);
    char **names = NULL;
    size_t count = 0;
    if (files_list(files, dir, &names, &count, NULL))
        count = 0;
    for (size_t i = 0; i < count; i++) {
        struct slice s = slice_str(names[i]);
        if (s.len == base.len + 2 + JOB_ID_BYTES && s.data[0] == '.' &&
            slice_eq(slice_sub(s, 1, base.len + 1), base) &&
            s.data[base.len + 1] == '.' &&
            is_job_id(slice_sub(s, base.len + 2, s.len))) {
            char *found = leftovers_join(dir, names[i], "");
            remove_if_dead(files, found, path, removed);
            mem_free(found);
        }
    }
    files_names_free(names, count);
    mem_free(dir);
}

static bool has_owner(const struct job_files *files, const char *path)
{
    char *owner = leftovers_join(path, ".owner", "");
    struct files_info info;
    bool is_there = files_stat(files, owner, &info, NULL) == 0;
    mem_free(owner);
    return is_there;
}

/* Remove the oldest of the jobs @names, which are in order of time, if there
 * are more than @jobs_max. One with a work directory runs, may be resumed, or
 * was kept on purpose. */
static void trim_history(const struct job_files *files,
                         const char *history_dir,
                         char *const *names,
                         size_t count,
                         size_t jobs_max)
{
    size_t jobs = 0;
    for (size_t i = 0; i < count; i++)
        jobs += is_job_id(slice_str(names[i]));
    for (size_t i = 0; i < count && jobs > jobs_max; i++) {
        struct files_info info;
        char *dir;
        char *work;
        if (!is_job_id(slice_str(names[i])))
            continue;
        dir = leftovers_join(history_dir, names[i], "");
        work = leftovers_join(dir, "work", "");
        jobs--;
        if (files_stat(files, work, &info, NULL) == ERR_NOTFOUND &&
            dirs_remove(files, dir, NULL))
            jobs = 0; /* The others cannot be removed either. */
        mem_free(work);
        mem_free(dir);
    }
}

void leftovers_remove_work(const struct job_files *files,
                           const char *history_dir,
                           bool (*unwanted)(void *ctx, const char *job_id),
                           void *ctx,
                           size_t jobs_max,
                           struct buf *removed)
{
    char **names = NULL;
    size_t count = 0;
    if (files_list(files, history_dir, &names, &count, NULL))
        count = 0;
    for (size_t i = 0; i < count; i++) {
        char *found;
        if (!is_job_id(slice_str(names[i])))
            continue;
        found = leftovers_join(history_dir, names[i], "/work");
        /* Few jobs have any: what costs more is asked of those alone. */
        if (has_owner(files, found) && unwanted(ctx, names[i]))
            remove_if_dead(files, found, NULL, removed);
        mem_free(found);
    }
    trim_history(files, history_dir, names, count, jobs_max);
    files_names_free(names, count);
}
