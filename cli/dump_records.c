/* quarry dump of a record file, as jobs write and read it: its blocks, and with
 * --entries the records. The first damaged block ends it with an error.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/text.h"
#include "cli/cli.h"
#include "cli/dump.h"
#include "cli/table_printer.h"
#include "cli/text_form.h"
#include "mapreduce/records/files.h"
#include "mapreduce/records/record_reader.h"

#define VALUE_COLUMNS 60

static void
print_record(const struct cli *cli, struct slice key, struct slice value)
{
    struct buf line = BUF_INIT;
    if (cli->format == FORMAT_JSON) {
        buf_append_byte(&line, '{');
        json_put_bytes(&line, "key", key);
        buf_append_str(&line, ", ");
        json_put_bytes(&line, "value", value);
        buf_append_byte(&line, '}');
    } else {
        text_put_escaped(&line, key, 0);
        buf_append_byte(&line, '\t');
        text_put_cut(&line, value, VALUE_COLUMNS);
    }
    puts(buf_cstr(&line));
    buf_close(&line);
}

static int print_records(struct cli *cli,
                         struct record_reader *reader,
                         uint64_t limit,
                         struct err *err)
{
    struct slice key, value;
    bool more = true;
    for (uint64_t n = 0; n < limit; n++) {
        int rc = record_reader_next(reader, &key, &value, &more, err);
        if (rc || !more)
            return rc;
        print_record(cli, key, value);
    }
    return ERR_OK;
}

static void print_blocks(struct cli *cli, const struct record_reader *reader)
{
    static const struct sheet_column columns[] = {{"block", SHEET_NUMBER},
                                                  {"bytes", SHEET_NUMBER},
                                                  {"records", SHEET_NUMBER}};
    struct sheet s;
    size_t cursor = 0;
    uint64_t bytes, records;
    sheet_init(&s, columns, ARRAY_LEN(columns));
    for (uint64_t n = 1; record_reader_block(reader, &cursor, &bytes, &records);
         n++) {
        sheet_add_u64(&s, n);
        sheet_add_u64(&s, bytes);
        sheet_add_u64(&s, records);
    }
    sheet_print(&s, cli->format);
    sheet_close(&s);
}

int dump_record_file(struct cli *cli,
                     const char *path,
                     const struct dump_options *opts,
                     struct err *err)
{
    struct record_reader reader;
    int rc;
    memset(&reader, 0, sizeof(reader));
    rc = record_reader_open(&reader, &(struct job_files){.world = cli->world},
                            path, err);
    if (!rc && opts->entries)
        rc = print_records(cli, &reader, opts->limit, err);
    else if (!rc)
        print_blocks(cli, &reader);
    record_reader_close(&reader);
    return rc;
}
