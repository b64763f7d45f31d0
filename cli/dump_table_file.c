/* quarry dump of an SSTable: its properties (counts, bytes, sequence numbers,
 * first and last row, bytes of families), and with --entries the cells in
 * order.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/text.h"
#include "bigtable/row/cell_key.h"
#include "bigtable/sstable/block_cache.h"
#include "bigtable/sstable/properties.h"
#include "bigtable/sstable/sstable_format.h"
#include "bigtable/sstable/sstable_reader.h"
#include "cli/cli.h"
#include "cli/dump.h"
#include "cli/table_printer.h"
#include "cli/text_form.h"

#define CACHE_BYTES   ((size_t)8 << 20)
#define VALUE_COLUMNS 60

bool is_sstable_file(struct slice tail)
{
    return tail.len >= 8 && get_le64(tail.data + tail.len - 8) == SSTABLE_MAGIC;
}

static const char *kind_name(enum entry_kind kind)
{
    switch (kind) {
    case ENTRY_PUT: return "put";
    case ENTRY_DELETE_CELL: return "delete_cell";
    case ENTRY_DELETE_COLUMN: return "delete_column";
    case ENTRY_DELETE_RANGE: return "delete_range";
    case ENTRY_DELETE_FAMILY: return "delete_family";
    case ENTRY_DELETE_ROW: return "delete_row";
    case ENTRY_ORIGIN: return "origin";
    case ENTRY_ADD: return "add";
    case ENTRY_MERGE: return "merge";
    }
    return "unknown";
}

/* A key's row; the key itself where it is not well-formed. */
static void put_row_of(struct sheet *s, struct slice key)
{
    struct buf scratch = BUF_INIT;
    struct cell_key k;
    sheet_add(s, cell_key_decode(key, &k, &scratch) ? k.row : key);
    buf_close(&scratch);
}

static void add_property(struct sheet *s, const char *name, uint64_t v)
{
    sheet_add_str(s, name);
    sheet_add_u64(s, v);
}

static void print_properties(struct cli *cli,
                             const struct sstable_reader *reader)
{
    static const struct sheet_column columns[] = {{"property", SHEET_TEXT},
                                                  {"value", SHEET_TEXT}};
    const struct sstable_properties *p = sstable_reader_properties(reader);
    struct sheet s;
    sheet_init(&s, columns, ARRAY_LEN(columns));
    add_property(&s, "file_bytes", sstable_reader_file_bytes(reader));
    add_property(&s, "entries", p->entry_count);
    add_property(&s, "tombstones", p->tombstone_count);
    add_property(&s, "blocks", p->block_count);
    add_property(&s, "key_bytes", p->key_bytes);
    add_property(&s, "value_bytes", p->value_bytes);
    add_property(&s, "sequence_min", p->sequence_min);
    add_property(&s, "sequence_max", p->sequence_max);
    sheet_add_str(&s, "first_row");
    put_row_of(&s, buf_slice(&p->first_key));
    sheet_add_str(&s, "last_row");
    put_row_of(&s, buf_slice(&p->last_key));
    for (size_t i = 0; i < p->family_count; i++) {
        sheet_addf(&s, "family_%u_bytes", (unsigned)p->families[i].id);
        sheet_add_u64(&s, p->families[i].bytes);
    }
    sheet_print(&s, cli->format);
    sheet_close(&s);
}

/* One entry on one line: as an object, or the fields one after the other. */
static void
print_entry(const struct cli *cli, const struct cell_key *k, struct slice value)
{
    struct buf line = BUF_INIT;
    if (cli->format == FORMAT_JSON) {
        buf_append_byte(&line, '{');
        json_put_bytes(&line, "row", k->row);
        buf_printf(&line, ", \"family_id\": %u, ", (unsigned)k->family);
        json_put_bytes(&line, "qualifier", k->qualifier);
        buf_printf(&line,
                   ", \"timestamp_us\": %" PRId64 ", \"sequence\": %" PRIu64
                   ", \"kind\": \"%s\", ",
                   k->timestamp_us, k->sequence, kind_name(k->kind));
        json_put_bytes(&line, "value", value);
        buf_append_byte(&line, '}');
    } else {
        buf_printf(&line, "%" PRIu64 "  %s  ", k->sequence, kind_name(k->kind));
        text_put_escaped(&line, k->row, 0);
        buf_printf(&line, "  %u:", (unsigned)k->family);
        text_put_escaped(&line, k->qualifier, 0);
        buf_append_str(&line, "  ");
        text_put_time(&line, k->timestamp_us);
        buf_append_str(&line, "  ");
        text_put_cut(&line, value, VALUE_COLUMNS);
    }
    puts(buf_cstr(&line));
    buf_close(&line);
}

static int print_entries(struct cli *cli,
                         struct sstable_reader *reader,
                         uint64_t limit,
                         struct err *err)
{
    struct sstable_iter it;
    struct buf scratch = BUF_INIT;
    int rc;
    sstable_iter_init(&it);
    sstable_iter_open(&it, reader, SSTABLE_READ_SCAN);
    rc = sstable_iter_seek(&it, SLICE_EMPTY, err);
    for (uint64_t n = 0; !rc && sstable_iter_valid(&it) && n < limit; n++) {
        struct cell_key k;
        buf_clear(&scratch);
        if (!cell_key_decode(sstable_iter_key(&it), &k, &scratch)) {
            rc = err_set(err, ERR_CORRUPT, "entry %" PRIu64 ": malformed key",
                         n);
            break;
        }
        print_entry(cli, &k, sstable_iter_value(&it));
        rc = sstable_iter_next(&it, err);
    }
    sstable_iter_close(&it);
    buf_close(&scratch);
    return rc;
}

int dump_sstable_file(struct cli *cli,
                      struct fs *fs,
                      const char *name,
                      const struct dump_options *opts,
                      struct err *err)
{
    struct sstable_reader_options ro = {.cache = block_cache_new(CACHE_BYTES)};
    struct sstable_reader *reader;
    int rc = sstable_reader_open(fs, name, &ro, &reader, err);
    if (!rc) {
        if (opts->entries)
            rc = print_entries(cli, reader, opts->limit, err);
        else
            print_properties(cli, reader);
        sstable_reader_unref(reader);
    }
    block_cache_free(ro.cache);
    return rc;
}
