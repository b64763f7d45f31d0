/* quarry dump of the files of a search index: segments, and the manifest that
 * names them. */
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "cli/cli.h"
#include "cli/dump.h"
#include "cli/table_printer.h"
#include "gfs-lite/fs.h"
#include "web/search/segment/index_manifest.h"
#include "web/search/segment/paged_file.h"
#include "web/search/segment/segment_reader.h"

#define MANIFEST_READ_MAX ((size_t)4 << 20)
#define DUMP_CACHE_BYTES  ((size_t)1 << 20)

bool is_search_segment(struct slice head)
{
    return slice_starts_with(head, SLICE_LIT(PAGED_FILE_MAGIC));
}

bool is_search_manifest(struct slice head)
{
    return slice_starts_with(head, SLICE_LIT(INDEX_MANIFEST_MAGIC));
}

int dump_search_manifest(struct cli *cli,
                         struct fs *fs,
                         const char *name,
                         struct err *err)
{
    static const struct sheet_column columns[] = {
        {"table", SHEET_TEXT},       {"updated", SHEET_TIME},
        {"segment", SHEET_NUMBER},   {"rows", SHEET_NUMBER},
        {"documents", SHEET_NUMBER}, {"bytes", SHEET_BYTES}};
    struct index_manifest m = {.table = NULL};
    struct buf bytes = BUF_INIT;
    struct sheet s;
    int rc = fs_read_all_sealed(fs, name, MANIFEST_READ_MAX, &bytes, err);
    if (!rc)
        rc = index_manifest_decode(buf_slice(&bytes), &m, err);
    if (!rc) {
        sheet_init(&s, columns, ARRAY_LEN(columns));
        for (size_t i = 0; i < m.segment_count; i++) {
            sheet_add_str(&s, m.table);
            sheet_add_u64(&s, m.updated_us);
            sheet_add_u64(&s, m.segments[i].number);
            sheet_add_u64(&s, m.segments[i].rows);
            sheet_add_u64(&s, m.segments[i].documents);
            sheet_add_u64(&s, m.segments[i].bytes);
        }
        sheet_print(&s, cli->format);
        sheet_close(&s);
    }
    index_manifest_close(&m);
    buf_close(&bytes);
    return rc;
}

/* The terms, each with its list's size. */
static int dump_terms(struct cli *cli,
                      const struct segment *s,
                      uint64_t limit,
                      struct err *err)
{
    static const struct sheet_column columns[] = {
        {"term", SHEET_TEXT},
        {"documents", SHEET_NUMBER},
        {"max_weight", SHEET_NUMBER},
        {"list_bytes", SHEET_NUMBER},
        {"position_bytes", SHEET_NUMBER}};
    struct segment_terms t;
    struct sheet sheet;
    bool more = true;
    int rc = 0;
    sheet_init(&sheet, columns, ARRAY_LEN(columns));
    segment_terms_begin(&t, s, SLICE_EMPTY);
    for (uint64_t i = 0; i < limit; i++) {
        rc = segment_terms_next(&t, &more, err);
        if (rc || !more)
            break;
        sheet_add(&sheet, buf_slice(&t.term));
        sheet_add_u64(&sheet, t.value.postings);
        sheet_add_u64(&sheet, t.value.weight);
        sheet_add_u64(&sheet, t.value.skip_bytes + t.value.block_bytes);
        sheet_add_u64(&sheet, t.value.position_bytes);
        if (sheet_is_full(&sheet)) {
            sheet_print(&sheet, cli->format);
            sheet_next_page(&sheet);
        }
    }
    if (!rc)
        sheet_print(&sheet, cli->format);
    segment_terms_close(&t);
    sheet_close(&sheet);
    return rc;
}

static void dump_segment_facts(struct cli *cli, const struct segment *s)
{
    static const struct sheet_column columns[] = {
        {"rows", SHEET_NUMBER},     {"documents", SHEET_NUMBER},
        {"captures", SHEET_NUMBER}, {"terms", SHEET_NUMBER},
        {"lists", SHEET_BYTES},     {"bytes", SHEET_BYTES}};
    struct sheet sheet;
    uint64_t captures = 0;
    for (uint32_t i = 0; i < s->document_count; i++)
        captures += s->documents[i].time_count;
    sheet_init(&sheet, columns, ARRAY_LEN(columns));
    sheet_add_u64(&sheet, s->row_count);
    sheet_add_u64(&sheet, s->document_count);
    sheet_add_u64(&sheet, captures);
    sheet_add_u64(&sheet, s->term_count);
    sheet_add_u64(&sheet, s->lists_end);
    sheet_add_u64(&sheet, s->bytes);
    sheet_print(&sheet, cli->format);
    sheet_close(&sheet);
}

int dump_search_segment(struct cli *cli,
                        struct fs *fs,
                        const char *name,
                        const struct dump_options *opts,
                        struct err *err)
{
    struct page_cache *cache = page_cache_new(DUMP_CACHE_BYTES);
    struct segment *s = NULL;
    int rc = segment_open(fs, name, cache, &s, err);
    if (!rc && opts->entries)
        rc = dump_terms(cli, s, opts->limit, err);
    else if (!rc)
        dump_segment_facts(cli, s);
    segment_close(s);
    page_cache_free(cache);
    return rc;
}
