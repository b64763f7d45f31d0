/* The paths that a job names, compared with the directories that belong to the
 * servers. Done by the first component, as the namenode parses paths, so that
 * "..", "//" and patterns cannot lead around the check. */
#include "mapreduce/cluster/job_paths.h"

#include <fnmatch.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/rpc/roles.h"
#include "mapreduce/cluster/job_calls.h"
#include "mapreduce/job.h"

const char *const job_own_trees[] = {"bigtable", "mapreduce", NULL};

/* Below the root of the cell's files. */
static const char *const trees[] = {"bigtable", "mapreduce", ".trash"};

static int job_paths_refuse(const char *path, struct err *err)
{
    err_set(err, ERR_DENIED, "a job may not use %.200s: it is the servers' own",
            path);
    err_hint(err, "rows of tables are read as table:NAME, with the rights of "
                  "who submits the job");
    return ERR_DENIED;
}

/* The first component of a path, or of a pattern, parsed as the namenode does.
 */
static struct slice first_part(const char *path)
{
    struct slice rest = slice_str(path);
    while (rest.len > 0) {
        size_t end = slice_find_byte(rest, '/');
        struct slice part = slice_sub(rest, 0, end);
        if (part.len > 0 && !slice_eq_str(part, "."))
            return part;
        rest = slice_sub(rest, end + 1, rest.len);
    }
    return SLICE_EMPTY;
}

static int check_path(const char *path, struct err *err)
{
    struct buf pattern = BUF_INIT;
    int rc = 0;
    buf_append_slice(&pattern, first_part(path));
    for (size_t i = 0; i < ARRAY_LEN(trees) && rc == 0; i++)
        if (fnmatch(buf_cstr(&pattern), trees[i], 0) == 0)
            rc = job_paths_refuse(path, err);
    buf_close(&pattern);
    return rc;
}

/* A program travels in its SPEC: a file named there would be one of the job
 * master's. */
static int
check_spec(const char *text, bool output, struct world *world, struct err *err)
{
    struct mr_spec s;
    int rc;
    if (strstr(text, "?saw=") || strstr(text, "&saw="))
        return err_set(err, ERR_INVALID, "%.200s: the program is not in it",
                       text);
    rc = mr_spec_parse(&s, text, output, world, err);
    if (rc == 0 && s.kind != MR_SPEC_TABLE)
        rc = check_path(s.path, err);
    mr_spec_close(&s);
    return rc;
}

static int check_brought(const char *path, struct slice id, struct err *err)
{
    struct buf dir = BUF_INIT;
    int rc = 0;
    buf_printf(&dir, "%s/%.*s/files/", JOBS_ROOT, SLICE_ARG(id));
    if (!slice_starts_with(slice_str(path), buf_slice(&dir)) ||
        strstr(path, ".."))
        rc = job_paths_refuse(path, err);
    buf_close(&dir);
    return rc;
}

int job_paths_check(const struct cluster_roles *roles,
                    struct slice principal,
                    struct slice id,
                    const struct mr_options *o,
                    struct world *world,
                    struct err *err)
{
    int rc = 0;
    if (!cluster_roles_are_proved(roles) || cluster_roles_has(roles, principal))
        return 0;
    for (size_t i = 0; i < o->input_count && rc == 0; i++)
        rc = check_spec(o->inputs[i], false, world, err);
    for (size_t i = 0; i < o->output_count && rc == 0; i++)
        rc = check_spec(o->outputs[i], true, world, err);
    for (size_t i = 0; i < o->file_count && rc == 0; i++)
        rc = check_brought(o->files[i].value, id, err);
    if (rc == 0 && o->program.object)
        rc = check_brought(o->program.object, id, err);
    return rc;
}
