/* fs_recover(): the namenode takes the file from its writer, seals its last
 * chunk and closes it. While it cannot, because a server of the file may be
 * alive or dead, the call is retried, for as long as the client's timeout.
 */
#include "base/runtime/world.h"
#include "gfs-lite/client/gfs_client.h"

/* Between tries, while a server may be dead or not. */
#define RETRY_US UINT64_C(100000)

static int try_take_over(struct gfs *g,
                         const struct gfs_query *q,
                         uint64_t *length,
                         struct err *err)
{
    struct buf reply = BUF_INIT;
    struct gfs_result r;
    int rc = gfs__query(g, GFS_TAKE_OVER, q, &reply, err);
    if (rc == 0)
        rc = gfs_result_get(buf_slice(&reply), &r, err);
    if (rc == 0)
        *length = r.length;
    buf_close(&reply);
    return rc;
}

int gfs__recover(struct fs *fs,
                 const char *path,
                 uint64_t *length,
                 struct err *err)
{
    struct gfs *g = gfs_of(fs);
    struct buf full = BUF_INIT;
    uint64_t until = world_mono_ns(fs->world) + g->timeout_us * 1000;
    int rc = gfs__path(g, path, &full, err);
    struct gfs_query q = {.path = buf_slice(&full)};
    while (rc == 0 && (rc = try_take_over(g, &q, length, err)) == ERR_BUSY &&
           !gfs__gives_up(g, until)) {
        world_sleep_us(fs->world, RETRY_US);
        rc = 0;
    }
    buf_close(&full);
    if (rc)
        err_wrap(err, "%s", path);
    return rc == ERR_BUSY ? ERR_UNAVAILABLE : rc;
}
