/* Removing what nobody goes on with. */
#include "bigtable/tablet/stale_loads.h"

#include <stdio.h>

#include "base/core/macros.h"
#include "bigtable/wire/load_calls.h"
#include "gfs-lite/fs.h"

#define STALE_US (UINT64_C(7) * 24 * 3600 * 1000000)

/* When @path or a file in it was written last; UINT64_MAX when that is unknown.
 */
static uint64_t last_write(struct fs *fs, const char *path)
{
    struct fs_info info;
    char **names = NULL;
    size_t count = 0;
    uint64_t us = UINT64_MAX;
    if (fs_stat(fs, path, &info, NULL) ||
        fs_list(fs, path, &names, &count, NULL))
        return us;
    us = info.modified_us;
    for (size_t i = 0; i < count; i++) {
        char file[FS_PATH_BYTES_MAX];
        snprintf(file, sizeof(file), "%s/%s", path, names[i]);
        if (fs_stat(fs, file, &info, NULL) == 0)
            us = MAX_OF(us, info.modified_us);
    }
    fs_names_free(names, count);
    return us;
}

void remove_stale_loads(struct fs *fs, uint64_t now_us)
{
    char **names = NULL;
    size_t count = 0;
    if (fs_list(fs, LOADS_DIR, &names, &count, NULL))
        return;
    for (size_t i = 0; i < count; i++) {
        char path[LOAD_PATH_BYTES];
        uint64_t us;
        if (load_check_name("", slice_str(names[i]), NULL))
            continue; /* None of ours. */
        load_path(slice_str(names[i]), SLICE_EMPTY, path);
        us = last_write(fs, path);
        if (us < now_us && now_us - us > STALE_US &&
            fs_remove_tree(fs, path, NULL)) {
            /* It is tried again. */
        }
    }
    fs_names_free(names, count);
}
