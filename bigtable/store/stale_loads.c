/* Removing the files of bulk loads that ended without a commit: their process
 * is gone, and nothing refers to them. A load counts as ended when nothing was
 * written to it for LOAD_STALE_US.
 */
#include "bigtable/store/stale_loads.h"

#include "base/core/ignore_result.h"
#include "bigtable/wire/load_calls.h"
#include "gfs-lite/fs.h"

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
        us = fs_last_write_us(fs, path);
        if (us < now_us && now_us - us > LOAD_STALE_US) {
            /* It is tried again. */
            IGNORE_RESULT(fs_remove_tree(fs, path, NULL));
        }
    }
    fs_names_free(names, count);
}
