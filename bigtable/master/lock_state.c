/* Reading and conditional writing of the lock service's files. The content
 * generation is the condition; the counters of the cluster are taken by trying
 * until nobody else was faster. */
#include "bigtable/master/lock_state.h"

#include "base/core/cluster_version.h"
#include "base/core/panic.h"

/* A try fails only when another server or master has counted. */
#define COUNT_TRIES_MAX 1000

int lock_state_read(struct chubby *c,
                    const char *path,
                    struct buf *out,
                    uint64_t *generation,
                    struct err *err)
{
    struct chubby_handle *h = NULL;
    struct chubby_stat stat;
    int rc = chubby_open(c, path, CHUBBY_READ, NULL, &h, err);

    PRE(path[0] == '/');
    buf_clear(out);
    if (rc == 0)
        rc = chubby_read(h, out, &stat, err);
    if (rc == 0)
        *generation = stat.content_generation;
    chubby_close(h);
    return rc;
}

int lock_state_write(struct chubby *c,
                     const char *path,
                     struct slice contents,
                     uint64_t generation,
                     struct err *err)
{
    struct chubby_open_options o = {.contents = contents};
    struct chubby_handle *h = NULL;
    unsigned flags = CHUBBY_READ | CHUBBY_WRITE;
    int rc;

    PRE(path[0] == '/');
    if (generation == 0)
        flags |= CHUBBY_CREATE | CHUBBY_NEW;
    rc = chubby_open(c, path, flags, generation ? NULL : &o, &h, err);
    if (rc == 0 && generation != 0)
        rc = chubby_write(h, contents, generation, err);
    chubby_close(h);
    return rc;
}

int lock_state_remove(struct chubby *c, const char *path, struct err *err)
{
    struct chubby_handle *h = NULL;
    int rc = chubby_open(c, path, CHUBBY_READ | CHUBBY_WRITE, NULL, &h, err);

    PRE(path[0] == '/');
    if (rc == 0)
        rc = chubby_delete(h, err);
    chubby_close(h);
    return rc;
}

static int make_directory(struct chubby *c, const char *path, struct err *err)
{
    struct chubby_handle *h = NULL;
    PRE(path[0] == '/');
    int rc = chubby_open(
        c, path, CHUBBY_READ | CHUBBY_CREATE | CHUBBY_DIRECTORY, NULL, &h, err);
    chubby_close(h);
    return rc;
}

/* A file that is there stays as it is. */
static int make_version(struct chubby *c, uint32_t version, struct err *err)
{
    struct buf b = BUF_INIT;
    int rc;
    cluster_version_put(MAX_OF(version, 1u), &b);
    rc = lock_state_write(c, BIGTABLE_LOCK_VERSION, buf_slice(&b), 0, err);
    buf_close(&b);
    return rc == ERR_EXISTS ? 0 : rc;
}

int lock_state_prepare(struct chubby *c, uint32_t version, struct err *err)
{
    static const struct cluster_counters first = {FIRST_USER_TABLE_ID, 1};
    struct buf b = BUF_INIT;
    int rc = make_directory(c, BIGTABLE_LOCK_ROOT, err);
    if (rc == 0)
        rc = make_directory(c, BIGTABLE_LOCK_SERVERS, err);
    if (rc == 0)
        rc = make_directory(c, BIGTABLE_LOCK_TABLES, err);
    if (rc == 0) {
        cluster_counters_put(&first, &b);
        rc = lock_state_write(c, BIGTABLE_LOCK_COUNTERS, buf_slice(&b), 0, err);
        if (rc == ERR_EXISTS) {
            version = 1;
            rc = 0;
        }
    }
    /* A master that dies here leaves a cluster at version 1, to be raised. */
    if (rc == 0)
        rc = make_version(c, version, err);
    buf_close(&b);
    return rc;
}

/* Add to the counters and take what they were. */
static int lock_state_count(struct chubby *c,
                            const struct cluster_counters *add,
                            struct cluster_counters *taken,
                            struct err *err)
{
    struct buf b = BUF_INIT;
    int rc = ERR_ABORTED;

    PRE(add->table + add->server == 1);
    for (int i = 0; i < COUNT_TRIES_MAX && rc == ERR_ABORTED; i++) {
        struct cluster_counters next;
        uint64_t generation = 0;
        rc = lock_state_read(c, BIGTABLE_LOCK_COUNTERS, &b, &generation, err);
        if (rc == 0)
            rc = cluster_counters_get(buf_slice(&b), taken, err);
        if (rc)
            break;
        next = (struct cluster_counters){taken->table + add->table,
                                         taken->server + add->server};
        buf_clear(&b);
        cluster_counters_put(&next, &b);
        rc = lock_state_write(c, BIGTABLE_LOCK_COUNTERS, buf_slice(&b),
                              generation, err);
    }
    buf_close(&b);
    return rc;
}

int lock_state_next_table(struct chubby *c, uint64_t *number, struct err *err)
{
    struct cluster_counters taken;
    int rc = lock_state_count(c, &(struct cluster_counters){.table = 1}, &taken,
                              err);
    if (rc == 0)
        *number = taken.table;
    return rc;
}

int lock_state_next_server(struct chubby *c, uint64_t *number, struct err *err)
{
    struct cluster_counters taken;
    int rc = lock_state_count(c, &(struct cluster_counters){.server = 1},
                              &taken, err);
    if (rc == 0)
        *number = taken.server;
    return rc;
}
