/* Places by their names: which file system has them, and below which path. A
 * remote name holds its path; the rest name a directory or a cluster, and the
 * path is empty.
 */
#include "gfs-lite/fs_location.h"

#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "gfs-lite/fs.h"
#include "gfs-lite/gfs.h"
#include "gfs-lite/objects.h"

static int fs_location_open_fs(struct world *w,
                               const struct rpc_security *security,
                               const char *(*variable)(const char *name),
                               struct fs_location *out,
                               struct err *err)
{
    char *root = NULL;
    int rc;
    if (!fs_name_is_remote(out->name))
        return fs_open_target(w, out->name, security, &out->fs, err);
    rc = fs_remote_open(w, out->name, variable, &out->fs, &root, err);
    mem_free(root);
    return rc;
}

int fs_location_open(struct world *w,
                     const char *name,
                     const struct rpc_security *security,
                     const char *(*variable)(const char *name),
                     struct fs_location *out,
                     struct err *err)
{
    struct buf path = BUF_INIT;
    size_t len = strlen(name);
    int rc;
    *out = (struct fs_location){.fs = NULL};
    while (len > 1 && name[len - 1] == '/' && name[len - 2] != '/')
        len--;
    if (len == 0)
        return err_set(err, ERR_INVALID, "the name of a place is empty");
    out->name = mem_strndup(name, len);
    rc = fs_location_open_fs(w, security, variable, out, err);
    if (rc) {
        fs_location_close(out);
        return rc;
    }
    if (fs_name_is_remote(out->name) && *fs_remote_path(out->name))
        buf_printf(&path, "%s/", fs_remote_path(out->name));
    out->path = mem_strdup(buf_cstr(&path));
    buf_close(&path);
    return 0;
}

void fs_location_close(struct fs_location *p)
{
    fs_close(p->fs);
    mem_free(p->name);
    mem_free(p->path);
    *p = (struct fs_location){.fs = NULL};
}

const char *
fs_location_path(const struct fs_location *p, const char *name, struct buf *out)
{
    buf_clear(out);
    buf_printf(out, "%s%s", p->path, name);
    return buf_cstr(out);
}
