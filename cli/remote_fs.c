/* Buckets and web servers as file systems, with the settings of the
 * environment that docs/storage.md lists. */
#include "cli/remote_fs.h"

#include <stdlib.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "cli/cli.h"
#include "gfs-lite/fs.h"
#include "gfs-lite/objects.h"

const char *remote_fs_variable(const char *name)
{
    return getenv(name);
}

int remote_fs_open(struct world *w,
                   const char *name,
                   struct fs **out,
                   struct buf *root,
                   struct err *err)
{
    char *place;
    int rc = fs_remote_open(w, name, remote_fs_variable, out, &place, err);
    if (rc)
        return rc;
    buf_clear(root);
    buf_printf(root, "%s/", place);
    mem_free(place);
    return 0;
}

void remote_fs_close(struct cli *cli, struct fs *fs, const char *root)
{
    struct fs_remote_counts n;
    fs_remote_counts(fs, &n);
    if (n.retries > 0)
        cli_remark(cli, "%s: of %llu requests %llu were repeated", root,
                   (unsigned long long)n.requests,
                   (unsigned long long)n.retries);
    fs_close(fs);
}
