/* Expanding patterns component by component, so that only the directories a
 * pattern can match are listed: a cell's file system has large ones. */
#include "mapreduce/input/glob.h"

#include <fnmatch.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "gfs-lite/objects.h"
#include "mapreduce/records/files.h"

struct paths {
    char **at;
    size_t count;
    size_t cap;
};

/* The array and its names are mem_free()d by files_names_free(). */
static void paths_add(struct paths *p, const char *path)
{
    if (p->count == p->cap) {
        p->cap = MAX_OF(16, 2 * p->cap);
        p->at = mem_realloc(p->at, p->cap * sizeof(char *));
    }
    p->at[p->count++] = mem_strdup(path);
}

static void paths_free(struct paths *p)
{
    for (size_t i = 0; i < p->count; i++)
        mem_free(p->at[i]);
    mem_free(p->at);
    *p = (struct paths){NULL, 0, 0};
}

static bool has_magic(const char *s)
{
    return strpbrk(s, "*?[") != NULL;
}

static bool name_matches(const char *pattern, const char *name)
{
    if ((name[0] == '.' || name[0] == '_') && pattern[0] != name[0])
        return false;
    return fnmatch(pattern, name, 0) == 0;
}

static void glob_join(struct buf *out, const char *dir, const char *name)
{
    size_t n = strlen(dir);
    buf_clear(out);
    buf_append_str(out, dir);
    if (n > 0 && dir[n - 1] != '/')
        buf_append_byte(out, '/');
    buf_append_str(out, name);
}

/* A path that does not exist is no match; one that the job's user may not look
 * at is an error, so that nothing is silently left out. */
static int glob_look(const struct job_files *files,
                     const char *path,
                     bool *there,
                     struct files_info *info,
                     struct err *err)
{
    struct err why = ERR_INIT;
    int rc = files_stat(files, path, info, &why);
    *there = rc == 0;
    return rc == ERR_DENIED || rc == ERR_UNSUPPORTED || rc == ERR_UNAVAILABLE
               ? err_copy(err, &why)
               : 0;
}

/* Names in @dir that match @pattern, joined to it. */
static int expand_one(const struct job_files *files,
                      const char *dir,
                      const char *pattern,
                      struct paths *out,
                      struct err *err)
{
    char **names = NULL;
    size_t count = 0;
    struct buf path = BUF_INIT;
    struct files_info info;
    bool there;
    int rc = glob_look(files, *dir ? dir : ".", &there, &info, err);
    if (rc || !there || !info.is_directory)
        return rc;
    rc = files_list(files, *dir ? dir : ".", &names, &count, err);
    for (size_t i = 0; i < count && rc == 0; i++)
        if (name_matches(pattern, names[i])) {
            glob_join(&path, dir, names[i]);
            paths_add(out, buf_cstr(&path));
        }
    files_names_free(names, count);
    buf_close(&path);
    return rc;
}

/* Replace each path of @have by the paths its next component @part expands to.
 */
static int glob_expand(const struct job_files *files,
                       struct paths *have,
                       const char *part,
                       struct err *err)
{
    struct paths next = {NULL, 0, 0};
    struct buf path = BUF_INIT;
    int rc = 0;
    for (size_t i = 0; i < have->count && rc == 0; i++) {
        if (has_magic(part)) {
            rc = expand_one(files, have->at[i], part, &next, err);
        } else {
            glob_join(&path, have->at[i], part);
            paths_add(&next, buf_cstr(&path));
        }
    }
    buf_close(&path);
    paths_free(have);
    *have = next;
    return rc;
}

/* Keep files, replace directories by the files in them, drop the rest. */
static int
glob_resolve(const struct job_files *files, struct paths *have, struct err *err)
{
    struct paths found = {NULL, 0, 0};
    struct paths inside = {NULL, 0, 0};
    struct files_info info;
    bool there;
    int rc = 0;
    for (size_t i = 0; i < have->count && rc == 0; i++) {
        rc = glob_look(files, have->at[i], &there, &info, err);
        if (rc || !there)
            continue;
        if (!info.is_directory)
            paths_add(&found, have->at[i]);
        else
            rc = expand_one(files, have->at[i], "*", &inside, err);
    }
    for (size_t i = 0; i < inside.count && rc == 0; i++) {
        rc = glob_look(files, inside.at[i], &there, &info, err);
        if (rc == 0 && there && !info.is_directory)
            paths_add(&found, inside.at[i]);
    }
    paths_free(&inside);
    paths_free(have);
    *have = found;
    return rc;
}

static int glob_compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int glob_files(const struct job_files *files,
               const char *pattern,
               char ***paths,
               size_t *count,
               struct err *err)
{
    struct paths have = {NULL, 0, 0};
    char *copy = mem_strdup(pattern);
    char *rest = copy;
    int rc = 0;
    if (fs_name_is_remote(pattern)) {
        rest += fs_remote_path(pattern) - pattern;
        if (rest > copy && rest[-1] == '/')
            rest[-1] = '\0';
        paths_add(&have, copy);
    } else {
        paths_add(&have, pattern[0] == '/' ? "/" : "");
    }
    while (rc == 0 && rest) {
        char *part = rest;
        rest = strchr(rest, '/');
        if (rest)
            *rest++ = '\0';
        if (*part != '\0')
            rc = glob_expand(files, &have, part, err);
    }
    if (rc == 0)
        rc = glob_resolve(files, &have, err);
    mem_free(copy);
    if (rc)
        paths_free(&have);
    if (have.count > 1)
        qsort(have.at, have.count, sizeof(char *), glob_compare);
    *paths = have.at;
    *count = have.count;
    return rc;
}
