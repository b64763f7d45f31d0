/* Which file system has a remote name, and opening it: an object store, a pool
 * of RADOS, or HDFS, which is asked by WebHDFS whatever its scheme is.
 */
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/objects/object_client.h"
#include "base/objects/rados_client.h"
#include "base/objects/webhdfs_client.h"
#include "gfs-lite/hdfs/hdfs_fs.h"
#include "gfs-lite/objects.h"
#include "gfs-lite/objects/object_fs.h"
#include "gfs-lite/rados/rados_fs.h"

/* Names of HDFS, as Hadoop has them: all are asked by WebHDFS. */
static const struct {
    const char *scheme;
    bool tls;
} hdfs_schemes[] = {{"hdfs://", false},
                    {"webhdfs://", false},
                    {"swebhdfs://", true}};

/* The number of its scheme; their count: it has none of them. */
static size_t hdfs_scheme_of(const char *name)
{
    size_t i = 0;
    while (i < ARRAY_LEN(hdfs_schemes) &&
           strncmp(name, hdfs_schemes[i].scheme,
                   strlen(hdfs_schemes[i].scheme)) != 0)
        i++;
    return i;
}

static bool rados_name_is(const char *name)
{
    return strncmp(name, "rados://", 8) == 0;
}

bool fs_name_is_remote(const char *name)
{
    return object_name_is(name) || rados_name_is(name) ||
           hdfs_scheme_of(name) < ARRAY_LEN(hdfs_schemes);
}

const char *fs_remote_path(const char *name)
{
    const char *place = strstr(name, "://");
    const char *slash;
    PRE(place);
    slash = strchr(place + 3, '/');
    return slash ? slash + 1 : "";
}

bool fs_remote_is_same(const char *a, const char *b)
{
    size_t root = (size_t)(fs_remote_path(a) - a);
    size_t other = (size_t)(fs_remote_path(b) - b);
    if (*fs_remote_path(a) == '\0')
        root = strlen(a);
    if (*fs_remote_path(b) == '\0')
        other = strlen(b);
    while (root > 0 && a[root - 1] == '/')
        root--;
    while (other > 0 && b[other - 1] == '/')
        other--;
    return root == other && strncmp(a, b, root) == 0;
}

static int open_objects(struct world *w,
                        const char *name,
                        const char *(*variable)(const char *name),
                        struct fs **out,
                        char **root,
                        struct err *err)
{
    struct object_name parts;
    struct object_client *c;
    int rc = object_name_parse(name, &parts, err);
    if (rc == 0)
        rc = object_client_open(w, &parts, variable, &c, err);
    if (rc)
        return rc;
    *out = object_fs_new(w, c);
    *root = mem_strdup(object_client_name(c));
    return 0;
}

/* The part of @name between its scheme and its path. */
static struct slice place_of(const char *name)
{
    const char *place = strstr(name, "://") + 3;
    return slice_make(place, strcspn(place, "/"));
}

static int open_hdfs(struct world *w,
                     const char *name,
                     bool tls,
                     const char *(*variable)(const char *name),
                     struct fs **out,
                     char **root,
                     struct err *err)
{
    struct webhdfs_client *c;
    int rc = webhdfs_open(w, place_of(name), tls, variable, &c, err);
    if (rc)
        return rc;
    *out = hdfs_fs_new(w, c);
    *root = mem_strdup(webhdfs_name(c));
    return 0;
}

#ifdef QUARRY_HAVE_RADOS

static int open_rados(struct world *w,
                      const char *name,
                      const char *(*variable)(const char *name),
                      struct fs **out,
                      char **root,
                      struct err *err)
{
    struct rados_client *c;
    int rc = rados_client_open(w, place_of(name), variable, &c, err);
    if (rc)
        return rc;
    *out = rados_fs_new(w, c);
    *root = mem_strdup(rados_client_name(c));
    return 0;
}

/* False: @fs is no pool. */
static bool count_rados(struct fs *fs, struct object_counts *out)
{
    if (!rados_fs_is(fs))
        return false;
    rados_client_counts(rados_fs_client(fs), out);
    return true;
}

#else

static int open_rados(struct world *w,
                      const char *name,
                      const char *(*variable)(const char *name),
                      struct fs **out,
                      char **root,
                      struct err *err)
{
    (void)w;
    (void)variable;
    (void)out;
    (void)root;
    err_set(err, ERR_UNSUPPORTED, "%.80s: built without librados", name);
    err_hint(err, "build it again where librados-dev is installed");
    return ERR_UNSUPPORTED;
}

static bool count_rados(struct fs *fs, struct object_counts *out)
{
    (void)fs;
    (void)out;
    return false;
}

#endif

int fs_remote_open(struct world *w,
                   const char *name,
                   const char *(*variable)(const char *name),
                   struct fs **out,
                   char **root,
                   struct err *err)
{
    size_t hdfs = hdfs_scheme_of(name);
    *out = NULL;
    *root = NULL;
    if (hdfs < ARRAY_LEN(hdfs_schemes))
        return open_hdfs(w, name, hdfs_schemes[hdfs].tls, variable, out, root,
                         err);
    if (rados_name_is(name))
        return open_rados(w, name, variable, out, root, err);
    return open_objects(w, name, variable, out, root, err);
}

void fs_remote_counts(struct fs *fs, struct fs_remote_counts *out)
{
    struct object_counts n;
    if (object_fs_is(fs))
        object_client_counts(object_fs_client(fs), &n);
    else if (!count_rados(fs, &n))
        webhdfs_counts(hdfs_fs_client(fs), &n);
    *out = (struct fs_remote_counts){n.requests, n.retries, n.read_bytes,
                                     n.written_bytes};
}
