/* Record files of cells: the table's schema from their head, and a cell from
 * each record. The other side is export_records.c. */
#include "cli/import_records.h"

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "cli/cli.h"
#include "mapreduce/ingest/cell_record.h"
#include "mapreduce/records/files.h"
#include "mapreduce/records/record_reader.h"

struct records_file {
    struct record_reader reader;
    struct slice schema; /* Of its head; borrowed until the next record. */
    char family[CELL_RECORD_FAMILY_BYTES];
};

static void records_close(void *reader)
{
    struct records_file *f = reader;
    record_reader_close(&f->reader);
    mem_free(f);
}

static int no_cells(struct err *err)
{
    err_set(err, ERR_INVALID, "a record file, but not of cells");
    err_hint(err,
             "quarry load TABLE FILE --records FAMILY:QUALIFIER takes keys "
             "as rows and values as those of one column");
    return ERR_INVALID;
}

static int
records_open(void *ctx, const char *path, void **reader, struct err *err)
{
    struct cli *cli = ctx;
    const struct job_files files = {.world = cli->world};
    struct records_file *f = mem_zalloc(1, sizeof(*f));
    struct slice key;
    struct slice value;
    bool more = false;
    int rc = record_reader_open(&f->reader, &files, path, err);
    *reader = f;
    if (!rc)
        rc = record_reader_next(&f->reader, &key, &value, &more, err);
    if (!rc && (!more || !cell_record_head(key, value, &f->schema)))
        rc = no_cells(err);
    if (rc)
        records_close(f);
    return rc;
}

static int records_next(void *reader,
                        struct quarry_bulk_cell *cell,
                        bool *more,
                        struct err *err)
{
    struct records_file *f = reader;
    struct slice key;
    struct slice value;
    int rc = record_reader_next(&f->reader, &key, &value, more, err);
    PRE(more);
    if (rc || !*more)
        return rc;
    if (!cell_record_get(key, value, f->family, cell))
        return err_set(err, ERR_INVALID, "a record that is no cell");
    return ERR_OK;
}

struct ingest_cell_source import_records_source(struct cli *cli)
{
    return (struct ingest_cell_source){.ctx = cli,
                                       .open = records_open,
                                       .next = records_next,
                                       .close = records_close};
}

int import_records_schema(struct cli *cli,
                          const char *path,
                          struct buf *schema,
                          struct err *err)
{
    void *reader;
    struct records_file *f;
    int rc = records_open(cli, path, &reader, err);
    PRE(schema);
    if (rc)
        return rc;
    f = reader;
    buf_append_slice(schema, f->schema);
    records_close(f);
    return ERR_OK;
}
