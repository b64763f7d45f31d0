/* How long reading archives takes: every record of every file, its whole block.
 *
 *     bench_warc [--verify] FILE…
 *
 * --verify: skip records whose block digest differs. Prints: seconds, CPU
 * seconds, records, bytes of their blocks, KiB of memory at most. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/core/err.h"
#include "mapreduce/warc/archive_reader.h"

static int
read_fd(void *ctx, void *dst, size_t len, size_t *got, struct err *err)
{
    const int *fd = ctx;
    ssize_t n = read(*fd, dst, len);
    if (n < 0)
        return err_set(err, ERR_IO, "read");
    *got = (size_t)n;
    return 0;
}

static void on_damage(void *ctx, uint64_t offset, const char *reason, bool lost)
{
    (void)ctx;
    fprintf(stderr, "bench_warc: at %llu: %s%s\n", (unsigned long long)offset,
            reason, lost ? " (lost)" : "");
}

struct totals {
    uint64_t records;
    uint64_t bytes;
};

static int read_archive(struct warc_reader *r, struct totals *t)
{
    const struct warc_record *rec;
    struct err err = ERR_INIT;
    char rest[4096];
    size_t got;
    int rc;
    while ((rc = warc_reader_next(r, &rec, &err)) == 0 && rec) {
        t->records++;
        t->bytes += rec->block.len;
        if (rec->whole)
            continue;
        while ((rc = warc_reader_read(r, rest, sizeof(rest), &got, &err)) ==
                   0 &&
               got)
            t->bytes += got;
    }
    if (rc)
        fprintf(stderr, "bench_warc: %s\n", err.text);
    return rc;
}

int main(int argc, char **argv)
{
    int fd = -1;
    struct warc_reader_options opts = {.read = read_fd, .ctx = &fd};
    struct warc_reader *r;
    struct totals t = {0};
    struct timespec begin;
    struct timespec end;
    struct rusage u;
    int first = 1;
    int rc = 0;
    opts.on_damage = on_damage;
    if (argc > 1 && strcmp(argv[1], "--verify") == 0) {
        opts.verify = true;
        first = 2;
    }
    clock_gettime(CLOCK_MONOTONIC, &begin);
    r = warc_reader_new(&opts);
    for (int i = first; i < argc && rc == 0; i++) {
        fd = open(argv[i], O_RDONLY | O_CLOEXEC);
        if (fd < 0) {
            perror(argv[i]);
            return 1;
        }
        warc_reader_reset(r, &opts);
        rc = read_archive(r, &t);
        close(fd);
    }
    warc_reader_free(r);
    clock_gettime(CLOCK_MONOTONIC, &end);
    getrusage(RUSAGE_SELF, &u);
    printf("%.3f %.3f %llu %llu %ld\n",
           (double)(end.tv_sec - begin.tv_sec) +
               (double)(end.tv_nsec - begin.tv_nsec) / 1e9,
           (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
               (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6,
           (unsigned long long)t.records, (unsigned long long)t.bytes,
           u.ru_maxrss);
    return rc != 0;
}
