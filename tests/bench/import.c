/* How long an import of archives takes, and what it occupies.
 *
 *     bench_import DIR FILE…     import into a fresh table of the store DIR
 *
 * Prints: seconds, records, pages, links, cells, bytes of contents:, of all,
 * CPU seconds, KiB of memory at most. */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/core/err.h"
#include "bigtable/quarry.h"
#include "mapreduce/ingest/ingest.h"

static int die(const struct err *err)
{
    fprintf(stderr, "bench_import: %s\n", err->text);
    return 1;
}

static double cpu_seconds(const struct rusage *u)
{
    return (double)(u->ru_utime.tv_sec + u->ru_stime.tv_sec) +
           (double)(u->ru_utime.tv_usec + u->ru_stime.tv_usec) / 1e6;
}

int main(int argc, char **argv)
{
    struct err err = ERR_INIT;
    struct quarry *q;
    struct ingest_job job = {.table = "web",
                             .paths = (const char *const *)(argv + 2),
                             .path_count = (size_t)argc - 2};
    struct ingest_report r;
    struct quarry_table_info *info;
    struct quarry_options opts = {.memtable_bytes = INGEST_WARC_MEMTABLE_BYTES};
    uint64_t contents = 0;
    uint64_t all = 0;
    struct rusage used;
    char target[4096];
    if (argc < 3) {
        fprintf(stderr, "usage: bench_import DIR FILE...\n");
        return 2;
    }
    snprintf(target, sizeof(target), "file:%s", argv[1]);
    if (quarry_open(target, &opts, &q, &err))
        return die(&err);
    job.q = q;
    if (ingest_warc(&job, &r, &err))
        return die(&err);
    if (quarry_table_describe(q, "web", &info, &err))
        return die(&err);
    for (size_t i = 0; i < info->group_count; i++) {
        all += info->groups[i].table_bytes;
        if (strcmp(info->groups[i].name, "contents") == 0)
            contents = info->groups[i].table_bytes;
    }
    getrusage(RUSAGE_SELF, &used);
    printf("%.3f %llu %llu %llu %llu %llu %llu %.3f %ld\n",
           (double)r.elapsed_us / 1e6, (unsigned long long)r.record_count,
           (unsigned long long)r.page_count, (unsigned long long)r.link_count,
           (unsigned long long)r.cell_count, (unsigned long long)contents,
           (unsigned long long)all, cpu_seconds(&used), used.ru_maxrss);
    for (size_t i = 0; i < r.damage_kept && i < 20; i++)
        fprintf(stderr, "%s %llu %s\n", r.damage[i].file,
                (unsigned long long)r.damage[i].offset, r.damage[i].reason);
    quarry_table_info_free(info);
    ingest_report_free(&r);
    quarry_close(q);
    return 0;
}
