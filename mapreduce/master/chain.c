/* Functions for drivers that run several jobs, besides mr_run(): a scratch
 * directory for what passes between jobs, and an early check of the outputs
 * that only the last job writes. */
#include <stdlib.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "mapreduce/job.h"
#include "mapreduce/output/commit.h"
#include "mapreduce/output/dirs.h"
#include "mapreduce/records/files.h"

int mr_scratch_make(const struct mr_options *opts,
                    struct world *world,
                    char **dir,
                    struct err *err)
{
    const char *tmp = getenv("TMPDIR");
    const struct job_files files = {world, opts->fs, opts->keyring};
    struct buf b = BUF_INIT;
    uint64_t name[2];
    int rc;
    if (opts->history_dir)
        buf_printf(&b, "%s" MR_SCRATCH_PREFIX, opts->history_dir);
    else
        buf_printf(&b, "%s/quarry-chain-", tmp ? tmp : "/tmp");
    world_random_bytes(world, name, sizeof(name));
    buf_printf(&b, "%016llx%016llx", (unsigned long long)name[0],
               (unsigned long long)name[1]);
    *dir = buf_take(&b);
    rc = opts->history_dir || opts->fs ? dirs_make(&files, *dir, err)
                                       : world_mkdir_private(world, *dir, err);
    if (rc) {
        mem_free(*dir);
        *dir = NULL;
    }
    return rc;
}

int mr_scratch_remove(const struct mr_options *opts,
                      struct world *world,
                      const char *path,
                      struct err *err)
{
    PRE(path[0] != '\0');
    const struct job_files files = {world, opts->fs, opts->keyring};
    return dirs_remove(&files, path, err);
}

int mr_check_outputs(const struct mr_options *opts,
                     struct world *world,
                     struct err *err)
{
    const struct job_files files = {world, opts->fs, opts->keyring};
    int rc = 0;
    for (size_t i = 0; i < opts->output_count && rc == 0; i++) {
        struct mr_spec s;
        rc = mr_spec_parse(&s, opts->outputs[i], true, world, err);
        if (rc == 0)
            rc = commit_check(&files, &s, opts->overwrite, err);
        mr_spec_close(&s);
    }
    return rc;
}
