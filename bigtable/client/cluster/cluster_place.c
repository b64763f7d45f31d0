/* The location cache for other components: which server has a row, so that work
 * on it can be placed nearby. See client/place.h.
 */
#include "bigtable/client/client.h"
#include "bigtable/client/cluster/cluster_client.h"
#include "bigtable/client/cluster/location_map.h"
#include "bigtable/client/cluster/locator.h"
#include "bigtable/client/place.h"

struct locating {
    struct cluster_table *table;
    struct slice row;
    struct buf *server;
};

static int locate_on_loop(void *arg, struct err *err)
{
    struct locating *l = arg;
    struct location *where;
    int rc = cluster_table_refresh(l->table, err);
    if (rc == 0)
        rc = locator_find(l->table->cluster->locator, l->table->id, l->row,
                          &where, err);
    if (rc)
        return rc;
    buf_append_slice(l->server, where->address);
    location_unref(where);
    return 0;
}

int quarry_table_locate(struct quarry_table *t,
                        struct slice row,
                        struct buf *server,
                        struct err *err)
{
    struct cluster *c = t->quarry->cluster;
    struct locating l = {t->remote, row, server};
    return c ? cluster_do(c, "locate tablet", 0, locate_on_loop, &l, err) : 0;
}
