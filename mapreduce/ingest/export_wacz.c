/* A WACZ front to back: the archive first, so that it is written while rows are
 * read; index and pages, which it makes, in memory until then. The index is in
 * blocks of lines, each a gzip member, with a line for each of them (ZipNum),
 * as py-wacz writes it.
 *
 *     archive/data.warc.gz  indexes/index.cdx.gz  indexes/index.idx
 *     pages/pages.jsonl  datapackage.json  datapackage-digest.json
 */
#include <stdlib.h>
#include <string.h>

#include "base/core/hash.h"
#include "base/core/panic.h"
#include "bigtable/quarry.h"
#include "mapreduce/ingest/export.h"
#include "mapreduce/ingest/index_lines.h"
#include "mapreduce/warc/archived_http.h"
#include "mapreduce/warc/cdx.h"
#include "mapreduce/warc/date.h"
#include "mapreduce/warc/digest.h"
#include "mapreduce/warc/packer.h"
#include "mapreduce/warc/zip_writer.h"

#define ARCHIVE_NAME "data.warc.gz"
/* Lines of a block of the index. */
#define INDEX_BLOCK_LINES 1024

struct wacz_export {
    const struct export_options *to;
    struct export_report *report;
    struct zip_writer zip;
    struct digest_stream *digest; /* Of the archive. */
    struct buf out;
    struct index_lines index;
    struct buf pages;
    struct buf
        resources; /* Of datapackage.json: objects with commas between. */
};

static int wacz_flush(struct wacz_export *x, struct err *err)
{
    int rc = x->to->write(x->to->ctx, buf_slice(&x->out), x->report, err);
    buf_clear(&x->out);
    return rc;
}

/* --- the archive --------------------------------------------------------- */

static int write_archive_piece(void *ctx,
                               struct slice bytes,
                               const struct export_report *done,
                               struct err *err)
{
    struct wacz_export *x = ctx;
    (void)done;
    digest_stream_add(x->digest, bytes);
    zip_writer_add(&x->zip, bytes, &x->out);
    return wacz_flush(x, err);
}

/* A page that somebody may want to open. */
static void put_wacz_page(struct wacz_export *x, const struct export_capture *c)
{
    char date[DATE_TEXT_BYTES];
    struct slice type = http_media_type(c->content_type);
    uint64_t id = hash64(c->uri.data, c->uri.len, (uint64_t)c->time_us);
    if (c->is_revisit || c->method.len || !slice_eq_str(c->status, "200") ||
        !http_slice_is(type, "text/html"))
        return;
    buf_printf(&x->pages,
               "{\"id\": \"%016llx\", \"url\": ", (unsigned long long)id);
    cdx_json_string(c->uri, &x->pages);
    buf_printf(&x->pages, ", \"ts\": \"%.*s\"",
               (int)date_format_us(c->time_us, date), date);
    if (c->title.len) {
        buf_append_str(&x->pages, ", \"title\": ");
        cdx_json_string(c->title, &x->pages);
    }
    buf_append_str(&x->pages, "}\n");
}

static int
index_capture(void *ctx, const struct export_capture *c, struct err *err)
{
    struct wacz_export *x = ctx;
    struct slice type = http_media_type(c->content_type);
    struct slice status = c->status;
    const struct cdx_entry e = {
        .uri = c->uri,
        .time_us = c->time_us,
        .mime = c->is_revisit ? SLICE_LIT("warc/revisit") : type,
        .status = export_status(status),
        .digest = c->digest,
        .length = c->length,
        .has_offset = true,
        .offset = c->offset,
        .file_name = SLICE_LIT(ARCHIVE_NAME),
        .method = c->method,
        .query = c->query,
    };
    cdx_put(&e, &x->index.text);
    put_wacz_page(x, c);
    if (x->pages.len > EXPORT_INDEX_BYTES_MAX)
        return err_set(err, ERR_FULL, "the list of pages has more than %zu MiB",
                       EXPORT_INDEX_BYTES_MAX >> 20);
    return index_lines_end(&x->index, err);
}

/* --- what describes it --------------------------------------------------- */

static void put_resource(struct wacz_export *x,
                         const char *path,
                         uint64_t bytes,
                         const struct digest *d)
{
    char text[DIGEST_TEXT_MAX];
    const char *name = strrchr(path, '/') + 1;
    digest_format_hex(d, text);
    buf_printf(&x->resources,
               "%s\n    {\"name\": \"%s\", \"path\": \"%s\", "
               "\"hash\": \"%s\", \"bytes\": %llu}",
               x->resources.len ? "," : "", name, path, text,
               (unsigned long long)bytes);
}

static void
put_member(struct wacz_export *x, const char *path, struct slice bytes)
{
    struct digest d;
    digest_of(DIGEST_SHA256, bytes, &d);
    put_resource(x, path, bytes.len, &d);
    zip_writer_put(&x->zip, slice_str(path), bytes, &x->out);
}

/* A gzip member of lines [@from, @to), appended to @packed. */
static int pack_index_block(const struct index_lines *l,
                            size_t from,
                            size_t to,
                            struct buf *packed,
                            struct err *err)
{
    struct packer *gzip;
    int rc = packer_new(PACKING_GZIP, &gzip, err);
    if (rc)
        return rc;
    for (size_t i = from; i < to && rc == 0; i++)
        rc = packer_put(gzip, index_lines_get(l, i), packed, err);
    if (rc == 0)
        rc = packer_end(gzip, packed, err);
    packer_free(gzip);
    return rc;
}

/* "SURT DATE " of a line. */
static struct slice index_key(struct slice line)
{
    size_t n = slice_find_byte(line, ' ') + 1;
    return slice_sub(
        line, 0, n + slice_find_byte(slice_sub(line, n, line.len), ' ') + 1);
}

/* The line of the block at @at of @packed, which begins with line @i. */
static void put_index_block(const struct wacz_export *x,
                            size_t i,
                            const struct buf *packed,
                            size_t at,
                            struct buf *blocks)
{
    char text[DIGEST_TEXT_MAX];
    struct digest d;
    digest_of(DIGEST_SHA256, slice_sub(buf_slice(packed), at, packed->len), &d);
    digest_format_hex(&d, text);
    buf_append_slice(blocks, index_key(index_lines_get(&x->index, i)));
    buf_printf(blocks,
               "{\"offset\": %zu, \"length\": %zu, \"digest\": \"%s\"}\n", at,
               packed->len - at, text);
}

static int put_index(struct wacz_export *x, struct err *err)
{
    struct buf packed = BUF_INIT;
    struct buf blocks = BUF_INIT;
    int rc = 0;
    buf_append_str(&blocks, "!meta 0 {\"format\": \"cdxj-gzip-1.0\", "
                            "\"filename\": \"index.cdx.gz\"}\n");
    index_lines_sort(&x->index);
    for (size_t i = 0; i < x->index.count && rc == 0; i += INDEX_BLOCK_LINES) {
        size_t at = packed.len;
        rc = pack_index_block(&x->index, i,
                              MIN_OF(i + INDEX_BLOCK_LINES, x->index.count),
                              &packed, err);
        put_index_block(x, i, &packed, at, &blocks);
    }
    if (rc == 0) {
        put_member(x, "indexes/index.cdx.gz", buf_slice(&packed));
        put_member(x, "indexes/index.idx", buf_slice(&blocks));
    }
    buf_close(&packed);
    buf_close(&blocks);
    return rc;
}

static void put_package(struct wacz_export *x)
{
    struct buf text = BUF_INIT;
    struct buf digest = BUF_INIT;
    char date[DATE_TEXT_BYTES];
    char label[DIGEST_TEXT_MAX];
    struct digest d;
    /* To the second, as its readers have it. */
    date_format_us(x->to->time_us / 1000000 * 1000000, date);
    buf_printf(&text,
               "{\n  \"profile\": \"data-package\",\n  \"resources\": [%s\n  "
               "],\n  \"created\": \"%.19sZ\",\n  \"wacz_version\": "
               "\"1.1.1\",\n  \"software\": \"Quarry\"\n}\n",
               buf_cstr(&x->resources), date);
    digest_of(DIGEST_SHA256, buf_slice(&text), &d);
    digest_format_hex(&d, label);
    buf_printf(&digest,
               "{\n  \"path\": \"datapackage.json\",\n  \"hash\": \"%s\"\n}\n",
               label);
    zip_writer_put(&x->zip, SLICE_LIT("datapackage.json"), buf_slice(&text),
                   &x->out);
    zip_writer_put(&x->zip, SLICE_LIT("datapackage-digest.json"),
                   buf_slice(&digest), &x->out);
    buf_close(&text);
    buf_close(&digest);
}

/* Everything behind the archive, whose bytes are @bytes. */
static int put_rest(struct wacz_export *x, uint64_t bytes, struct err *err)
{
    struct digest d;
    int rc;
    zip_writer_end(&x->zip, &x->out);
    digest_stream_end(x->digest, &d);
    x->digest = NULL;
    put_resource(x, "archive/" ARCHIVE_NAME, bytes, &d);
    rc = put_index(x, err);
    if (rc)
        return rc;
    put_member(x, "pages/pages.jsonl", buf_slice(&x->pages));
    put_package(x);
    zip_writer_finish(&x->zip, &x->out);
    x->report->byte_count = x->zip.offset;
    return wacz_flush(x, err);
}

int export_wacz(struct quarry_table *table,
                const struct quarry_read_options *read,
                const struct export_options *opts,
                struct export_report *report,
                struct err *err)
{
    struct wacz_export x = {.to = opts, .report = report};
    struct export_options inner = {
        .compression = EXPORT_GZIP,
        .file_name = ARCHIVE_NAME,
        .time_us = opts->time_us,
        .write = write_archive_piece,
        .on_capture = index_capture,
        .ctx = &x,
    };
    int rc;
    PRE(opts->write != NULL);
    zip_writer_init(&x.zip, opts->time_us);
    x.digest = digest_stream_new(DIGEST_SHA256);
    buf_append_str(&x.pages, "{\"format\": \"json-pages-1.0\", \"id\": "
                             "\"pages\", \"title\": \"All Pages\"}\n");
    zip_writer_begin(&x.zip, SLICE_LIT("archive/" ARCHIVE_NAME), &x.out);
    rc = export_warc(table, read, &inner, report, err);
    if (rc == 0)
        rc = put_rest(&x, x.zip.member_bytes, err);
    if (x.digest)
        digest_stream_end(x.digest, NULL);
    zip_writer_close(&x.zip);
    index_lines_close(&x.index);
    buf_close(&x.out);
    buf_close(&x.pages);
    buf_close(&x.resources);
    return rc;
}
