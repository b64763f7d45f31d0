/* The namenode's memory and pace. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/buf.h"
#include "gfs-lite/namenode/catalog.h"
#include "tests/bench/files.h"

/* --- names --------------------------------------------------------------- */

static double resident_bytes(void)
{
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%*s %ld", &pages) != 1)
        PANIC("statm");
    fclose(f);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

static struct gfs_result
run_command(struct catalog *c, uint64_t index, struct gfs_command *k)
{
    static struct buf bytes;
    static struct buf reply;
    struct gfs_result r;
    buf_clear(&bytes);
    buf_clear(&reply);
    gfs_command_put(k, &bytes);
    catalog_apply(c, index, buf_slice(&bytes), &reply);
    CHECK(gfs_result_get(buf_slice(&reply), &r, err));
    if (r.code)
        PANIC("%s: %.*s", gfs_op_name(k->op), SLICE_ARG(r.text));
    return r;
}

/* @count files with one chunk each, three replicas reported for each. */
static double make_files(struct catalog *c, size_t count)
{
    struct gfs_command k = {.op = GFS_OP_SESSION_OPEN,
                            .text = SLICE_LIT("bench")};
    uint64_t index = 1;
    uint64_t session = run_command(c, index++, &k).session;
    uint64_t sequence = 0;
    double creating = 0;
    for (size_t i = 0; i < count; i++) {
        char path[64];
        struct gfs_result file;
        struct gfs_result chunk;
        struct chunk *made;
        double start = cpu();
        snprintf(path, sizeof(path), "dir%zu/file-%08zu", i / 1000, i);
        k = (struct gfs_command){.op = GFS_OP_CREATE,
                                 .session = session,
                                 .sequence = ++sequence,
                                 .answered = sequence - 1,
                                 .path = slice_str(path),
                                 .replication = 3};
        file = run_command(c, index++, &k);
        creating += cpu() - start;
        k = (struct gfs_command){.op = GFS_OP_ALLOCATE,
                                 .session = session,
                                 .sequence = ++sequence,
                                 .answered = sequence - 1,
                                 .file = file.file,
                                 .epoch = file.epoch,
                                 .servers = {{0, 1, 2}, 3}};
        chunk = run_command(c, index++, &k);
        made = chunk_map_get(&c->names.chunks, chunk.chunk);
        for (uint16_t n = 0; n < 3; n++)
            chunk_add_replica(made, n);
        k = (struct gfs_command){.op = GFS_OP_CLOSE,
                                 .session = session,
                                 .sequence = ++sequence,
                                 .answered = sequence - 1,
                                 .file = file.file,
                                 .epoch = file.epoch,
                                 .chunk = chunk.chunk,
                                 .length = 1000};
        run_command(c, index++, &k);
    }
    return (double)count / creating;
}

void bench_names(size_t count)
{
    struct catalog c;
    struct buf image = BUF_INIT;
    double before = resident_bytes();
    double rate;
    double start;
    catalog_init(&c);
    rate = make_files(&c, count);
    printf("namenode: creates, one core, no disk\t%.4g\t20000\t%.3f\t/s\n",
           rate, rate / 20000);
    start = (resident_bytes() - before) / (double)count;
    printf("namenode: memory per file of one chunk\t%.4g\t600\t%.3f\tbytes\n",
           start, 600 / start);
    start = cpu();
    catalog_save(&c, &image);
    printf("namenode: image of %zu files made in\t%.4g\t\t\ts\n", count,
           cpu() - start);
    start = cpu();
    CHECK(catalog_load(&c, buf_slice(&image), err));
    start = cpu() - start;
    printf("namenode: load of %zu files\t%.4g\t10\t%.3f\ts\n", count, start,
           10 / start);
    printf("namenode: image\t%.4g\t\t\tbytes per file\n",
           (double)image.len / (double)count);
    buf_close(&image);
    catalog_close(&c);
}
