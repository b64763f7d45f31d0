/* Cells into a record file. The file's head has the table's schema, so it is
 * written to a temporary file where the target cannot be written in place,
 * and copied at the end. */
#include "cli/export_records.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "bigtable/quarry.h"
#include "cli/cli.h"
#include "cli/output_file.h"
#include "mapreduce/ingest/cell_record.h"
#include "mapreduce/records/files.h"
#include "mapreduce/records/record_writer.h"

#define RECORDS_LEVEL 3
#define RECORDS_COPY  ((size_t)1 << 20)
/* A record's value has the cell's column, too. */
#define RECORDS_VALUE_BYTES_MAX (BLOCK_VALUE_BYTES_MAX - ((size_t)1 << 20))

struct export_records {
    struct output_file *to;
    struct record_writer writer;
    char *spool; /* The temporary file; NULL: none. Owned. */
    struct buf value;
    uint64_t bytes;
};

/* A temporary file for what cannot be written in place. */
static int make_spool(struct export_records *x, struct err *err)
{
    const char *dir = getenv("TMPDIR");
    struct buf b = BUF_INIT;
    int fd;
    buf_printf(&b, "%s/quarry-export-XXXXXX", dir && *dir ? dir : "/tmp");
    x->spool = buf_take(&b);
    fd = mkstemp(x->spool);
    if (fd >= 0) {
        close(fd);
        return ERR_OK;
    }
    err_set_errno(err, errno, "%s", x->spool);
    mem_free(x->spool);
    x->spool = NULL;
    return err->code;
}

static void records_free(struct export_records *x)
{
    record_writer_close(&x->writer);
    if (x->spool)
        (void)unlink(x->spool);
    mem_free(x->spool);
    buf_close(&x->value);
    mem_free(x);
}

int export_records_open(struct cli *cli,
                        struct output_file *to,
                        struct slice schema,
                        struct export_records **out,
                        struct err *err)
{
    const struct job_files files = {.world = cli->world};
    struct export_records *x = mem_zalloc(1, sizeof(*x));
    int rc = ERR_OK;
    *out = NULL;
    x->to = to;
    if (to->partial.len == 0)
        rc = make_spool(x, err);
    if (!rc)
        rc = record_writer_open(&x->writer, &files,
                                x->spool ? x->spool : buf_cstr(&to->partial),
                                RECORDS_LEVEL, err);
    if (rc) {
        records_free(x);
        return rc;
    }
    cell_record_put_head(&x->value, schema);
    record_writer_add(&x->writer, SLICE_EMPTY, buf_slice(&x->value));
    *out = x;
    return ERR_OK;
}

static int put_cell(struct export_records *x,
                    struct slice row,
                    const struct quarry_cell *c,
                    struct err *err)
{
    char family[CELL_RECORD_FAMILY_BYTES];
    const struct quarry_bulk_cell cell = {.row = row,
                                          .family = family,
                                          .qualifier = c->qualifier,
                                          .timestamp_us = c->timestamp_us,
                                          .value = c->value};
    PRE(c->family.len < sizeof(family));
    if (c->value.len > RECORDS_VALUE_BYTES_MAX)
        return err_set(err, ERR_TOOBIG,
                       "export: a value of %zu bytes in row \"%.*s\": records "
                       "hold 255 MiB at most; JSON lines and TSV hold more",
                       c->value.len, (int)MIN_OF(row.len, (size_t)100),
                       row.data);
    memcpy(family, c->family.data, c->family.len);
    family[c->family.len] = '\0';
    buf_clear(&x->value);
    cell_record_put(&x->value, &cell);
    record_writer_add(&x->writer, row, buf_slice(&x->value));
    x->bytes += row.len + x->value.len;
    return ERR_OK;
}

int export_records_row(struct export_records *x,
                       const struct quarry_row *row,
                       struct err *err)
{
    int rc = ERR_OK;
    for (size_t i = 0; i < row->cell_count && !rc; i++)
        rc = put_cell(x, row->key, &row->cells[i], err);
    return rc;
}

uint64_t export_records_bytes(const struct export_records *x)
{
    return x->bytes;
}

/* The temporary file into the output. */
static int copy_spool(struct export_records *x, struct err *err)
{
    FILE *from = fopen(x->spool, "rb");
    char *piece;
    size_t n;
    bool bad;
    if (!from)
        return err_set_errno(err, errno, "%s", x->spool);
    piece = mem_alloc(RECORDS_COPY);
    while ((n = fread(piece, 1, RECORDS_COPY, from)) > 0)
        if (fwrite(piece, 1, n, x->to->out) != n)
            break;
    bad = n > 0 || ferror(from) || fflush(x->to->out) != 0;
    if (bad)
        err_set_errno(err, errno, "export");
    mem_free(piece);
    fclose(from);
    return bad ? err->code : ERR_OK;
}

int export_records_close(struct export_records *x, int code, struct err *err)
{
    PRE(x->to);
    if (!code)
        code = record_writer_finish(&x->writer, false, err);
    if (!code && x->spool)
        code = copy_spool(x, err);
    records_free(x);
    return code;
}
