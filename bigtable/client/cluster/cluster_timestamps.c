/* Timestamps of a cluster. */
#include "bigtable/client/cluster/cluster_client.h"

int cluster_timestamps(struct quarry *q,
                       uint32_t count,
                       int64_t *first,
                       struct err *err)
{
    (void)q;
    (void)count;
    (void)first;
    err_set(err, ERR_UNSUPPORTED, "this cluster gives out no timestamps");
    err_hint(err, "transactions are for tables of a directory: file:DIR");
    return ERR_UNSUPPORTED;
}
