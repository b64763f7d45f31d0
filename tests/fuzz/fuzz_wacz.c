/* Any bytes as a WACZ: members are found, read and compared, within bounds. */
#define _GNU_SOURCE

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/runtime/world.h"
#include "mapreduce/ingest/wacz_input.h"

/* More than a small input may become: a bomb ends the round, not the fuzzer. */
#define OUT_BYTES_MAX ((size_t)8 << 20)

static void on_damage(void *ctx, const char *reason, bool lost)
{
    (void)ctx;
    (void)lost;
    if (!reason)
        abort();
}

static void read_all(struct wacz_input *w)
{
    static char piece[1 << 16];
    struct slice name;
    size_t made = 0;
    while (wacz_next(w, &name, NULL) == 0 && name.len) {
        size_t got;
        do {
            if (wacz_read(w, piece, sizeof(piece), &got, NULL))
                return;
            made += got;
        } while (got && made < OUT_BYTES_MAX);
        if (made >= OUT_BYTES_MAX || wacz_end_member(w, NULL))
            return;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct world *world;
    struct wacz_input *w;
    struct file *file;
    char path[40];
    int fd = memfd_create("wacz", MFD_CLOEXEC);
    if (!world)
        world = world_real_new();
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (file_open(world, path, FILE_READ, &file, NULL))
        abort();
    if (wacz_open(file, size, on_damage, NULL, &w, NULL) == 0) {
        read_all(w);
        wacz_close(w);
    }
    file_close(file);
    close(fd);
    return 0;
}
