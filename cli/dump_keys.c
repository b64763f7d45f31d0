/* quarry dump of KEYS: prints which data keys a keyring has, and never the
 * keys.
 */
#include <inttypes.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/crypt/keyring.h"
#include "base/runtime/world.h"
#include "cli/cli.h"
#include "cli/dump.h"
#include "cli/table_printer.h"

bool is_keys_file(struct slice head)
{
    return keys_file_is_one(head);
}

static void print_keys(struct cli *cli,
                       const struct keys_file_entry *keys,
                       size_t count,
                       uint64_t limit)
{
    static const struct sheet_column columns[] = {
        {"key", SHEET_TEXT}, {"created", SHEET_TIME}, {"use", SHEET_TEXT}};
    struct sheet s;
    sheet_init(&s, columns, ARRAY_LEN(columns));
    for (size_t i = 0; i < count && i < limit; i++) {
        sheet_addf(&s, "%016" PRIx64, keys[i].id);
        sheet_add_u64(&s, keys[i].created_us);
        sheet_add_str(&s, i + 1 == count ? "seals" : "opens");
    }
    sheet_print(&s, cli->format);
    sheet_close(&s);
}

static void print_summary(struct cli *cli,
                          uint64_t master,
                          const struct keys_file_entry *keys,
                          size_t count)
{
    static const struct sheet_column columns[] = {{"master_key", SHEET_TEXT},
                                                  {"keys", SHEET_NUMBER},
                                                  {"current", SHEET_TEXT},
                                                  {"created", SHEET_TIME}};
    struct sheet s;
    sheet_init(&s, columns, ARRAY_LEN(columns));
    sheet_addf(&s, "%016" PRIx64, master);
    sheet_add_u64(&s, count);
    sheet_addf(&s, "%016" PRIx64, keys[count - 1].id);
    sheet_add_u64(&s, keys[count - 1].created_us);
    sheet_print(&s, cli->format);
    sheet_close(&s);
}

static int
read_file(struct cli *cli, const char *path, struct buf *out, struct err *err)
{
    struct file *f;
    size_t got = 0;
    int rc = file_open(cli->world, path, FILE_READ, &f, err);
    if (rc)
        return rc;
    rc = file_read_at(f, 0, buf_reserve(out, KEYRING_FILE_BYTES_MAX),
                      KEYRING_FILE_BYTES_MAX, &got, err);
    if (!rc)
        buf_extend(out, got);
    file_close(f);
    return rc;
}

int dump_keys_file(struct cli *cli,
                   const char *path,
                   const struct dump_options *opts,
                   struct err *err)
{
    struct buf bytes = BUF_INIT;
    struct keys_file_entry *keys = NULL;
    size_t count = 0;
    uint64_t master;
    int rc = read_file(cli, path, &bytes, err);
    if (!rc)
        rc = keys_file_list(buf_slice(&bytes), &master, &keys, &count, err);
    if (rc)
        err_wrap(err, "%s", path);
    else if (opts->entries)
        print_keys(cli, keys, count, opts->limit);
    else
        print_summary(cli, master, keys, count);
    mem_free(keys);
    buf_close(&bytes);
    return rc;
}
