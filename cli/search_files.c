/* Rights to the files of search indexes. They are asked of the table each time
 * an index is opened, so that who loses the right to read the one loses the
 * other; the mode of the directory holds for those that read files by path. */
#include "cli/search_files.h"

#include "base/core/buf.h"
#include "base/crypt/keyring.h"
#include "bigtable/client/bulk_load.h"
#include "bigtable/quarry.h"
#include "cli/fs_mode.h"
#include "gfs-lite/fs.h"
#include "gfs-lite/gfs.h"
#include "web/search/search.h"

#define OWNER_ALONE "700"
/* Everybody makes directories, and removes his own. */
#define SHARED_MODE "1777"

int search_files_refuse_encrypted(struct quarry *q,
                                  const char *table,
                                  struct err *err)
{
    struct key_loan loan;
    int rc = quarry_bulk_lend(q, table, "search", &loan, err);
    if (!rc && loan.key_id) {
        rc = err_set(err, ERR_UNSUPPORTED,
                     "tables are encrypted here, and an index of %s would not "
                     "be",
                     table);
        err_hint(err, "export the table to an encrypted directory, and build "
                      "the index there by quarry search build");
    }
    key_loan_close(&loan);
    return rc;
}

/* Make the directory @path with @mode, if it is not there. */
static int prepare_directory(struct fs *fs,
                             const char *path,
                             const char *mode_text,
                             struct err *err)
{
    struct fs_info info;
    uint32_t mode = 0;
    struct err own = ERR_INIT;
    int rc = fs_stat(fs, path, &info, &own);
    if (rc != ERR_NOTFOUND)
        return rc ? err_copy(err, &own) : 0;
    rc = fs_mode_change(mode_text, &mode, err);
    if (!rc)
        rc = fs_mkdirs(fs, path, err);
    return rc ? rc : gfs_set_mode(fs, path, mode, err);
}

int search_files_prepare(struct fs *fs, const char *table, struct err *err)
{
    struct buf path = BUF_INIT;
    int rc = 0;
    search_directory(table, &path);
    if (fs_is_gfs(fs)) {
        rc = prepare_directory(fs, "search", SHARED_MODE, err);
        if (!rc)
            rc = prepare_directory(fs, buf_cstr(&path), OWNER_ALONE, err);
    }
    buf_close(&path);
    return rc;
}

int search_files_check_reader(struct quarry_table *table, struct err *err)
{
    struct quarry_row *row = NULL;
    int rc = quarry_read_row(table, SLICE_LIT("\001"), NULL, &row, err);
    quarry_row_free(row);
    return rc;
}
