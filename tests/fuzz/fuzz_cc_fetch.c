/* Any bytes as the two levels of an index of Common Crawl's layout: lines are
 * found or refused, within bounds. */
#define _GNU_SOURCE

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/runtime/world.h"
#include "gfs-lite/fs.h"
#include "mapreduce/ingest/cc_fetch.h"

#define INDEX "/cc-index/collections/c/indexes/"

static char dir[] = "/tmp/fuzz-cc-XXXXXX";
static struct fs *fs;

static void remove_all(void)
{
    char path[200];
    static const char *const names[] = {INDEX "cluster.idx",
                                        INDEX "cdx-00000.gz",
                                        "/cc-index/collections/c/indexes",
                                        "/cc-index/collections/c",
                                        "/cc-index/collections",
                                        "/cc-index",
                                        ""};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        snprintf(path, sizeof(path), "%s%s", dir, names[i]);
        (void)remove(path);
    }
}

static void set_up(void)
{
    if (!mkdtemp(dir) || fs_local_open(world_real_new(), dir, &fs, NULL))
        abort();
    if (fs_mkdirs(fs, "cc-index/collections/c/indexes", NULL))
        abort();
    atexit(remove_all);
}

static void put_file(const char *name, const uint8_t *data, size_t size)
{
    char path[200];
    int fd;
    snprintf(path, sizeof(path), "%s" INDEX "%s", dir, name);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size || close(fd))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct cc_question q = {.base = "",
                                  .crawl = "c",
                                  .from_us = INT64_MIN,
                                  .to_us = INT64_MAX,
                                  .limit = 100};
    size_t cut = size ? data[0] * size / 256 : 0;
    struct cc_list l;
    if (!fs)
        set_up();
    put_file("cluster.idx", data, cut);
    put_file("cdx-00000.gz", data + cut, size - cut);
    cc_list_init(&l);
    if (cc_find(fs, &q, SLICE_LIT("*.example"), &l, NULL) == 0 && l.count > 100)
        abort();
    if (cc_find(fs, &q, slice_make(data, size < 30 ? size : 30), &l, NULL) ==
            0 &&
        l.count > 200)
        abort();
    cc_list_close(&l);
    return 0;
}
