/* The plain scan that scans of the Python package are measured beside: all rows
 * of a table, and the bytes of their values.
 *
 *     bench_scan_cells TARGET TABLE     prints cells, seconds of CPU and of the
 * clock
 */
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

#include "bigtable/quarry.h"

static double cpu_seconds(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static double wall_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int scan_all(struct quarry_table *t, size_t *cells, struct err *err)
{
    struct quarry_scanner *s = NULL;
    const struct quarry_row *row = NULL;
    size_t bytes = 0;
    int rc = quarry_scan(t, NULL, &s, err);
    if (rc)
        return rc;
    while ((rc = quarry_scanner_next(s, &row, err)) == 0 && row) {
        *cells += row->cell_count;
        for (size_t i = 0; i < row->cell_count; i++)
            bytes += row->cells[i].value.len;
    }
    quarry_scanner_close(s);
    return rc || bytes > 0 ? rc : err_set(err, ERR_NOTFOUND, "no values");
}

int main(int argc, char **argv)
{
    const struct quarry_options opts = {.read_only = true};
    struct err err = ERR_INIT;
    struct quarry *q = NULL;
    struct quarry_table *t = NULL;
    size_t cells = 0;
    double begin = 0, wall = 0;
    int rc = 2;
    if (argc != 3) {
        fprintf(stderr, "usage: bench_scan_cells TARGET TABLE\n");
        return rc;
    }
    rc = quarry_open(argv[1], &opts, &q, &err);
    if (rc == 0)
        rc = quarry_table_open(q, argv[2], &t, &err);
    if (rc == 0)
        rc = scan_all(t, &cells, &err); /* The first fills the caches. */
    cells = 0;
    begin = cpu_seconds();
    wall = wall_seconds();
    if (rc == 0)
        rc = scan_all(t, &cells, &err);
    if (rc)
        fprintf(stderr, "bench_scan_cells: %s\n", err.text);
    else
        printf("%zu %.3f %.3f\n", cells, cpu_seconds() - begin,
               wall_seconds() - wall);
    quarry_table_close(t);
    quarry_close(q);
    return rc != 0;
}
