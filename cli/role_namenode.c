/* The role `namenode`: a member of the cell that keeps the file system's names.
 * Names the trees that belong to the servers, the directories in them that take
 * files of users, and the files that are watched.
 */
#include "base/core/buf.h"
#include "base/core/conf.h"
#include "base/core/panic.h"
#include "base/metrics/metrics.h"
#include "base/rpc/roles.h"
#include "cli/fs_mode.h"
#include "cli/principal_lists.h"
#include "cli/role.h"
#include "cli/role_cell.h"
#include "gfs-lite/gfs.h"
#include "gfs-lite/namenode/namenode.h"

/* Others do not write what somebody makes. */
#define MASK_DEFAULT GFS_OTHERS_WRITE

extern const struct role namenode_role;

/* The times of section [namenode]. */
static int
read_times(struct conf *c, struct namenode_options *o, struct err *err)
{
    int rc = conf_get_duration(c, "namenode", "trash", &o->trash_us, err);
    if (rc == 0)
        rc = conf_get_duration(c, "namenode", "session", &o->session_us, err);
    if (rc == 0)
        rc = conf_get_duration(c, "namenode", "server-dead", &o->server_dead_us,
                               err);
    return rc;
}

/* [namenode] umask: octal, as quarry fs chmod has modes. */
static int
read_mask(struct conf *c, struct namenode_options *o, struct err *err)
{
    const char *text = conf_get(c, "namenode", "umask");
    int rc;
    o->mask = MASK_DEFAULT;
    if (!text)
        return 0;
    o->mask = 0;
    rc = fs_mode_change(text, &o->mask, err);
    if (rc)
        err_wrap(err, "[namenode] umask");
    return rc;
}

/* --- who may ------------------------------------------------------------- */

struct namenode_host {
    struct namenode *namenode;     /* Owned. */
    struct principal_lists *lists; /* NULL: names are not proved. Owned. */
};

static bool is_administrator(void *ctx, struct slice principal)
{
    return principal_lists_is_administrator(ctx, principal);
}

static void put_roles(void *ctx, struct slice principal, struct buf *out)
{
    principal_lists_put_roles(ctx, principal, out);
}

static const struct rights_lists lists = {is_administrator, put_roles};

static void host_free(struct namenode_host *h)
{
    namenode_close(h->namenode);
    principal_lists_close(h->lists);
    mem_free(h);
}

static int
namenode_role_open(const struct role_env *env, void **out, struct err *err)
{
    struct role_cell cell;
    static const char *const trees[] = {"bigtable", "mapreduce", NULL};
    /* Files that come with jobs, and with loads of tables. */
    static const char *const boxes[] = {"mapreduce/jobs/*/files",
                                        "bigtable/load/*", NULL};
    /* Data keys. */
    static const char *const watched[] = {"bigtable/KEYS", NULL};
    struct namenode_options o = {.rights = {.roles = env->roles,
                                            .trees = trees,
                                            .boxes = boxes,
                                            .watched = watched}};
    struct namenode_host *h = mem_zalloc(1, sizeof(*h));
    int rc = role_cell_read(env, "namenode", &cell, err);
    if (rc == 0)
        rc = read_times(env->conf, &o, err);
    if (rc == 0)
        rc = read_mask(env->conf, &o, err);
    o.replica = &cell.options;
    if (cluster_roles_are_proved(env->roles)) {
        h->lists = principal_lists_new(env);
        o.rights.lists = &lists;
        o.rights.lists_ctx = h->lists;
    }
    if (rc == 0)
        rc = namenode_open(env->world, env->server, &o, &h->namenode, err);
    role_cell_close(&cell);
    if (rc) {
        host_free(h);
        h = NULL;
    }
    *out = h;
    return rc;
}

static int namenode_role_started(void *role, struct err *err)
{
    struct namenode_host *h = role;
    (void)err;
    if (h->lists)
        principal_lists_start(h->lists);
    return 0;
}

static void namenode_role_stopping(void *role)
{
    struct namenode_host *h = role;
    if (h->lists)
        principal_lists_stop(h->lists);
}

static void namenode_status(void *role, struct buf *out)
{
    const struct namenode_host *h = role;
    struct replica_status s;
    namenode_get_status(h->namenode, &s);
    role_cell_status(&s, out);
}

static void namenode_role_gather(void *role, struct metric_set *out)
{
    const struct namenode_host *h = role;
    struct replica_status s;
    namenode_get_status(h->namenode, &s);
    role_cell_gather(&s, namenode_role.name, out);
    namenode_gather(h->namenode, out);
}

static int namenode_role_health(void *role, struct err *err)
{
    const struct namenode_host *h = role;
    return namenode_health(h->namenode, err);
}

static int namenode_role_reload(void *role, struct err *err)
{
    struct namenode_host *h = role;
    return namenode_take_master_key(h->namenode, err);
}

static void namenode_role_close(void *role)
{
    host_free(role);
}

const struct role namenode_role = {
    .name = "namenode",
    .help = "the names of the file system, a member of the cell",
    .open = namenode_role_open,
    .started = namenode_role_started,
    .status = namenode_status,
    .gather = namenode_role_gather,
    .health = namenode_role_health,
    .reload = namenode_role_reload,
    .stopping = namenode_role_stopping,
    .close = namenode_role_close,
};
