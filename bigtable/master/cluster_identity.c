/* The name of a cluster, in a file of its file system and in one of its lock
 * service. The former is made first, so that a master that dies between them
 * leaves a cluster whose name is added to the lock service by the next one.
 *
 * Clusters of earlier releases have no name. A root tablet that the lock
 * service knows belongs to files; where there are none, it is another's.
 */
#include "bigtable/master/cluster_identity.h"

#include <stdio.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "bigtable/master/lock_state.h"
#include "bigtable/wire/metadata.h"
#include "gfs-lite/fs.h"

#define NAME_BYTES     16
#define NAME_FILE_MAX  ((size_t)256)
#define NAME_FILE      BIGTABLE_IDENTITY_DIR "/ID"
#define FILES_OF_STORE "tables"

static int other_cluster(const char *name, const char *own, struct err *err)
{
    err_set(err, ERR_EXISTS,
            "the lock service has the state of cluster %s, and the files are "
            "those of %s",
            name, own);
    err_hint(err, "each cluster needs a path of its own in lock-service; what "
                  "another left may be removed: docs/lock-services.md");
    return ERR_EXISTS;
}

/* A line, or nothing if there is no file. */
static int read_own_name(struct fs *fs, struct buf *out, struct err *err)
{
    int rc;

    PRE(out->len == 0);
    rc = fs_read_all(fs, NAME_FILE, NAME_FILE_MAX, out, err);
    return rc == ERR_NOTFOUND ? 0 : rc;
}

static int read_lock_name(struct chubby *c, struct buf *out, struct err *err)
{
    uint64_t generation;
    int rc = lock_state_read(c, BIGTABLE_LOCK_IDENTITY, out, &generation, err);

    return rc == ERR_NOTFOUND ? 0 : rc;
}

/* Is nothing in the directory @path? */
static int is_empty(struct fs *fs, const char *path, bool *out, struct err *err)
{
    char **names;
    size_t count = 0;
    int rc = fs_list(fs, path, &names, &count, err);

    if (!rc)
        fs_names_free(names, count);
    *out = count == 0;
    return rc == ERR_NOTFOUND ? 0 : rc;
}

/* Neither has a name. Does the lock service know tables of files that are not
 * there? */
static int check_nameless(struct chubby *c, struct fs *fs, struct err *err)
{
    struct buf root = BUF_INIT;
    uint64_t generation;
    bool no_logs = false;
    bool no_tables = false;
    int rc =
        lock_state_read(c, BIGTABLE_LOCK_ROOT_TAB, &root, &generation, err);

    buf_close(&root);
    if (rc)
        return rc == ERR_NOTFOUND ? 0 : rc;
    rc = is_empty(fs, BIGTABLE_FS_LOGS, &no_logs, err);
    if (!rc)
        rc = is_empty(fs, FILES_OF_STORE, &no_tables, err);
    if (!rc && no_logs && no_tables)
        rc = other_cluster("without a name", "a new one", err);
    return rc;
}

/* Draw a name, and keep it in the files; @out is that of the first who did. */
static int make_name(struct fs *fs, struct buf *out, struct err *err)
{
    unsigned char bytes[NAME_BYTES];
    int rc = fs_mkdirs(fs, BIGTABLE_IDENTITY_DIR, err);

    if (rc)
        return rc;
    world_random_bytes(fs_world(fs), bytes, sizeof(bytes));
    for (size_t i = 0; i < sizeof(bytes); i++)
        buf_printf(out, "%02x", bytes[i]);
    rc = fs_publish(fs, NAME_FILE, buf_slice(out), err);
    if (rc == ERR_EXISTS) {
        buf_clear(out);
        rc = read_own_name(fs, out, err);
    }
    return rc;
}

static int compare_names(struct chubby *c,
                         struct fs *fs,
                         struct buf *theirs,
                         struct buf *own,
                         struct err *err)
{
    int rc = 0;

    if (theirs->len > 0 && own->len == 0)
        return other_cluster(buf_cstr(theirs), "a new one", err);
    if (theirs->len > 0)
        return slice_eq(buf_slice(theirs), buf_slice(own))
                   ? 0
                   : other_cluster(buf_cstr(theirs), buf_cstr(own), err);
    if (own->len == 0) {
        rc = check_nameless(c, fs, err);
        if (!rc)
            rc = make_name(fs, own, err);
    }
    if (!rc)
        rc =
            lock_state_write(c, BIGTABLE_LOCK_IDENTITY, buf_slice(own), 0, err);
    /* Another master was faster: compare again, in the next term. */
    return rc == ERR_EXISTS && theirs->len == 0 && own->len > 0
               ? err_set(err, ERR_UNAVAILABLE, "the cluster gets its name")
               : rc;
}

int cluster_identity_check(struct chubby *c, struct fs *fs, struct err *err)
{
    struct buf theirs = BUF_INIT;
    struct buf own = BUF_INIT;
    int rc = read_lock_name(c, &theirs, err);

    if (!rc)
        rc = read_own_name(fs, &own, err);
    if (!rc)
        rc = compare_names(c, fs, &theirs, &own, err);
    buf_close(&theirs);
    buf_close(&own);
    return rc;
}
