/* quarry dump of what the cluster's file system keeps on disks: files of
 * chunks, and images of a namenode. */
#include <inttypes.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/crc32c.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "cli/cli.h"
#include "cli/dump.h"
#include "cli/table_printer.h"
#include "gfs-lite/chunk_format.h"
#include "gfs-lite/namenode/catalog.h"

/* --- files of chunks ----------------------------------------------------- */

bool is_chunk_file(struct slice head)
{
    return slice_starts_with(head, SLICE_LIT(CHUNK_MAGIC));
}

struct chunk_dump {
    struct file *file;
    char head[CHUNK_DATA_AT]; /* All that is before the bytes. */
    struct chunk_identity id;
    struct chunk_tail tail; /* Of an unsealed one: the longest record. */
    bool has_tail;
    struct chunk_grant grant; /* Of an unsealed one, */
    bool granted;             /* if one was given. */
    uint32_t length;
    uint32_t damaged; /* Blocks. */
    char block[CHUNK_BLOCK_BYTES];
};

static void look_at_tail(struct chunk_dump *d, size_t at)
{
    struct chunk_tail t;
    PRE(at < sizeof(d->head));
    if (!chunk_tail_get(d->head + at, &t) ||
        (d->has_tail && t.length <= d->tail.length))
        return;
    d->tail = t;
    d->has_tail = true;
}

/* Those of a writer count as long as its grant is there. */
static void look_at_tails(struct chunk_dump *d)
{
    for (int slot = CHUNK_SLOT_SYNC_EVEN; slot <= CHUNK_SLOT_FLUSH; slot++)
        look_at_tail(d, (size_t)slot * CHUNK_SECTOR_BYTES);
    d->granted =
        !d->id.sealed && chunk_grant_get(d->head + CHUNK_GRANT_AT, &d->grant);
    for (uint64_t i = 0; d->granted && i < 2; i++)
        look_at_tail(d, chunk_writer_at(i));
}

static int read_head(struct chunk_dump *d, struct err *err)
{
    size_t got;
    int rc = file_read_at(d->file, 0, d->head, sizeof(d->head), &got, err);
    PRE(d->file);
    if (!rc)
        rc = chunk_identity_get(d->head, &d->id, err);
    if (rc)
        return rc;
    look_at_tails(d);
    d->length = d->id.sealed ? d->id.length : d->tail.length;
    return 0;
}

static uint32_t stored_crc(const struct chunk_dump *d, uint32_t block)
{
    size_t table = CHUNK_TABLE_AT;
    bool whole = chunk_block_bytes(d->length, block) == CHUNK_BLOCK_BYTES;
    if (!whole && !d->id.sealed)
        return d->tail.crc;
    if (d->granted && block >= d->grant.base / CHUNK_BLOCK_BYTES)
        table = CHUNK_SUMS_AT;
    return get_le32(d->head + table + (size_t)block * 4);
}

static int
look_at_block(struct chunk_dump *d, uint32_t block, bool *good, struct err *err)
{
    uint32_t bytes = chunk_block_bytes(d->length, block);
    size_t got;
    int rc = file_read_at(d->file,
                          CHUNK_DATA_AT + (uint64_t)block * CHUNK_BLOCK_BYTES,
                          d->block, bytes, &got, err);
    *good = got == bytes && crc32c(d->block, bytes) == stored_crc(d, block);
    d->damaged += !*good;
    return rc;
}

static void add_block(struct sheet *s,
                      const struct chunk_dump *d,
                      uint32_t block,
                      bool good)
{
    sheet_add_u64(s, block);
    sheet_add_u64(s, (uint64_t)block * CHUNK_BLOCK_BYTES);
    sheet_add_u64(s, chunk_block_bytes(d->length, block));
    sheet_addf(s, "%08" PRIx32, stored_crc(d, block));
    sheet_add_str(s, good ? "good" : "damaged");
}

static void print_chunk(struct cli *cli, const struct chunk_dump *d)
{
    static const struct sheet_column columns[] = {
        {"chunk", SHEET_NUMBER},  {"version", SHEET_NUMBER},
        {"state", SHEET_TEXT},    {"length", SHEET_BYTES},
        {"blocks", SHEET_NUMBER}, {"damaged_blocks", SHEET_NUMBER},
        {"grant", SHEET_TEXT}};
    struct sheet s;
    sheet_init(&s, columns, ARRAY_LEN(columns));
    sheet_add_u64(&s, d->id.handle);
    sheet_add_u64(&s, d->id.version);
    sheet_add_str(&s, d->id.sealed ? "sealed" : "open");
    sheet_add_u64(&s, d->length);
    sheet_add_u64(&s, (d->length + CHUNK_BLOCK_BYTES - 1) / CHUNK_BLOCK_BYTES);
    sheet_add_u64(&s, d->damaged);
    sheet_add_str(&s, !d->granted ? "none" : d->grant.open ? "open" : "ended");
    sheet_print(&s, cli->format);
    sheet_close(&s);
}

static int walk_blocks(struct cli *cli,
                       struct chunk_dump *d,
                       const struct dump_options *opts,
                       struct err *err)
{
    static const struct sheet_column columns[] = {{"block", SHEET_NUMBER},
                                                  {"offset", SHEET_NUMBER},
                                                  {"length", SHEET_NUMBER},
                                                  {"crc32c", SHEET_TEXT},
                                                  {"state", SHEET_TEXT}};
    struct sheet s;
    int rc = 0;
    sheet_init(&s, columns, ARRAY_LEN(columns));
    for (uint32_t b = 0; !rc && b * CHUNK_BLOCK_BYTES < d->length; b++) {
        bool good;
        rc = look_at_block(d, b, &good, err);
        if (!rc && b < opts->limit)
            add_block(&s, d, b, good);
    }
    if (!rc && opts->entries)
        sheet_print(&s, cli->format);
    else if (!rc)
        print_chunk(cli, d);
    sheet_close(&s);
    return rc;
}

int dump_chunk_file(struct cli *cli,
                    const char *path,
                    const struct dump_options *opts,
                    struct err *err)
{
    struct chunk_dump *d = mem_zalloc(1, sizeof(*d));
    int rc = file_open(cli->world, path, FILE_READ, &d->file, err);
    if (!rc) {
        rc = read_head(d, err);
        if (!rc)
            rc = walk_blocks(cli, d, opts, err);
        file_close(d->file);
        if (rc)
            err_wrap(err, "%s", path);
    }
    mem_free(d);
    return rc;
}

/* --- images of a namenode ------------------------------------------------ */

bool is_namenode_image(struct slice image)
{
    return slice_starts_with(image, SLICE_LIT(CATALOG_IMAGE_MAGIC));
}

static void print_files(struct cli *cli,
                        const struct catalog *c,
                        const struct dump_options *opts)
{
    static const struct sheet_column columns[] = {
        {"path", SHEET_TEXT},     {"kind", SHEET_TEXT},
        {"bytes", SHEET_BYTES},   {"chunks", SHEET_NUMBER},
        {"copies", SHEET_NUMBER}, {"modified", SHEET_TIME}};
    const struct inode *root = c->names.root;
    struct sheet s;
    sheet_init(&s, columns, ARRAY_LEN(columns));
    for (const struct inode *n = root; n && sheet_row_count(&s) < opts->limit;
         n = names_next(root, n)) {
        struct buf path = BUF_INIT;
        bool open = id_map_get(&c->names.open_files, n->id) != NULL;
        inode_put_path(n, &path);
        sheet_addf(&s, "/%s", buf_cstr(&path));
        sheet_add_str(&s, n->is_directory ? "directory"
                          : open          ? "open file"
                                          : "file");
        sheet_add_u64(&s,
                      n->is_directory ? n->u.directory->bytes : inode_bytes(n));
        sheet_add_u64(&s, n->is_directory ? 0 : n->chunk_count);
        sheet_add_u64(&s, n->replication);
        sheet_add_u64(&s, n->modified_us);
        buf_close(&path);
    }
    sheet_print(&s, cli->format);
    sheet_close(&s);
}

static void
print_catalog(struct cli *cli, uint64_t index, const struct catalog *c)
{
    static const struct sheet_column columns[] = {
        {"index", SHEET_NUMBER},       {"files", SHEET_NUMBER},
        {"directories", SHEET_NUMBER}, {"chunks", SHEET_NUMBER},
        {"bytes", SHEET_BYTES},        {"open_files", SHEET_NUMBER},
        {"sessions", SHEET_NUMBER},    {"chunk_servers", SHEET_NUMBER},
        {"copying", SHEET_TEXT}};
    const struct directory *root = c->names.root->u.directory;
    struct buf copying = BUF_INIT; /* "SOURCE TO" of a snapshot half made. */
    struct sheet s;
    if (names_is_copying(&c->names)) {
        buf_append_byte(&copying, '/');
        inode_put_path(c->names.copy.source, &copying);
        buf_printf(&copying, " /%s", c->names.copy.to);
    }
    sheet_init(&s, columns, ARRAY_LEN(columns));
    sheet_add_u64(&s, index);
    sheet_add_u64(&s, root->file_count);
    sheet_add_u64(&s, root->entry_count - root->file_count);
    sheet_add_u64(&s, c->names.chunks.by_handle.count);
    sheet_add_u64(&s, root->bytes);
    sheet_add_u64(&s, c->names.open_files.count);
    sheet_add_u64(&s, c->sessions.count);
    sheet_add_u64(&s, c->server_count);
    sheet_add_str(&s, buf_cstr(&copying));
    sheet_print(&s, cli->format);
    sheet_close(&s);
    buf_close(&copying);
}

int dump_namenode_image(struct cli *cli,
                        uint64_t index,
                        struct slice image,
                        const struct dump_options *opts,
                        struct err *err)
{
    struct catalog c;
    int rc;
    catalog_init(&c);
    rc = catalog_load(&c, image, err);
    if (!rc && opts->entries)
        print_files(cli, &c, opts);
    else if (!rc)
        print_catalog(cli, index, &c);
    catalog_close(&c);
    return rc;
}
