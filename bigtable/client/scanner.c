/* Scanners: rows in order, one after the other. */
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "bigtable/client/client.h"

struct quarry_scanner {
    struct prepared_read read; /* Outlives the scan, which borrows from it. */
    struct scan *scan;
};

int quarry_scan(struct quarry_table *t,
                const struct quarry_read_options *opts,
                struct quarry_scanner **out,
                struct err *err)
{
    struct quarry_scanner *s = mem_zalloc(1, sizeof(*s));
    int rc;
    *out = NULL;
    prepared_read_init(&s->read, t, opts);
    rc = s->read.view
             ? scan_new(s->read.view, &s->read.spec,
                        (int64_t)world_now_us(t->quarry->world), &s->scan, err)
             : err_copy(err, &s->read.err);
    if (rc) {
        quarry_scanner_close(s);
        return rc;
    }
    *out = s;
    return 0;
}

int quarry_scanner_next(struct quarry_scanner *s,
                        const struct quarry_row **row,
                        struct err *err)
{
    return scan_next(s->scan, row, err);
}

void quarry_scanner_close(struct quarry_scanner *s)
{
    if (!s)
        return;
    scan_free(s->scan);
    prepared_read_close(&s->read);
    mem_free(s);
}
