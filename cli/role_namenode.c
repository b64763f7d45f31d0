/* The role `namenode`: the file system's names, a member of their cell. */
#include "base/core/buf.h"
#include "base/core/conf.h"
#include "cli/fs_mode.h"
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

static int
namenode_role_open(const struct role_env *env, void **out, struct err *err)
{
    struct role_cell cell;
    static const char *const trees[] = {"bigtable", "mapreduce", NULL};
    /* What jobs bring along, and loads of tables. */
    static const char *const boxes[] = {"mapreduce/jobs/*/files",
                                        "bigtable/load/*", NULL};
    struct namenode_options o = {.rights = {env->roles, trees, boxes}};
    struct namenode *nn = NULL;
    int rc = role_cell_read(env, "namenode", &cell, err);
    if (rc == 0)
        rc = read_times(env->conf, &o, err);
    if (rc == 0)
        rc = read_mask(env->conf, &o, err);
    o.replica = &cell.options;
    if (rc == 0)
        rc = namenode_open(env->world, env->server, &o, &nn, err);
    role_cell_close(&cell);
    *out = nn;
    return rc;
}

static void namenode_status(void *role, struct buf *out)
{
    struct replica_status s;
    namenode_get_status(role, &s);
    role_cell_status(&s, out);
}

static int namenode_role_health(void *role, struct err *err)
{
    return namenode_health(role, err);
}

static void namenode_role_close(void *role)
{
    namenode_close(role);
}

const struct role namenode_role = {
    .name = "namenode",
    .help = "the names of the file system, a member of the cell",
    .open = namenode_role_open,
    .status = namenode_status,
    .health = namenode_role_health,
    .close = namenode_role_close,
};
