/* The report of an import: damage, rows, refused lines and the rate; and the
 * files of --rejects. */
#include "cli/import_report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/core/text.h"
#include "cli/table_printer.h"

/* Damage printed before the rest is only counted. */
#define DAMAGE_SHOWN_MAX 20

static void print_place(const struct ingest_damage *d)
{
    char line[40] = "";
    if (d->line)
        snprintf(line, sizeof(line), ", line %" PRIu64, d->line);
    fprintf(stderr, "quarry: %s: byte %" PRIu64 "%s: %s%s\n", d->file,
            d->offset, line, d->reason, d->lost ? " (lost)" : "");
}

static void print_damage(const struct ingest_report *r)
{
    size_t shown = MIN_OF(r->damage_kept, (size_t)DAMAGE_SHOWN_MAX);
    for (size_t i = 0; i < shown; i++)
        print_place(&r->damage[i]);
    if (r->damage_count > shown)
        fprintf(stderr, "quarry: … and %" PRIu64 " more places of damage\n",
                r->damage_count - shown);
}

/* All that the report keeps, a JSON object a line. */
int import_report_damage(const struct ingest_report *r,
                         const char *path,
                         struct err *err)
{
    struct buf b = BUF_INIT;
    FILE *f = fopen(path, "w");
    if (!f)
        return err_set_errno(err, errno, "--damage-to %s", path);
    for (size_t i = 0; i < r->damage_kept; i++) {
        const struct ingest_damage *d = &r->damage[i];
        buf_append_str(&b, "{\"file\":");
        text_put_json(&b, slice_str(d->file));
        buf_printf(&b, ",\"offset\":%" PRIu64, d->offset);
        if (d->line)
            buf_printf(&b, ",\"line\":%" PRIu64, d->line);
        buf_append_str(&b, ",\"reason\":");
        text_put_json(&b, slice_str(d->reason));
        buf_printf(&b, ",\"lost\":%s}\n", d->lost ? "true" : "false");
        fwrite(b.data, 1, b.len, f);
        buf_clear(&b);
    }
    buf_close(&b);
    if (fclose(f))
        return err_set_errno(err, errno, "--damage-to %s", path);
    return 0;
}

static const struct sheet_column report_columns[] = {
    {"records", SHEET_NUMBER},   {"pages", SHEET_NUMBER},
    {"revisits", SHEET_NUMBER},  {"links", SHEET_NUMBER},
    {"skipped", SHEET_NUMBER},   {"rows", SHEET_NUMBER},
    {"new_rows", SHEET_NUMBER},  {"cells", SHEET_NUMBER},
    {"damaged", SHEET_NUMBER},   {"lost", SHEET_NUMBER},
    {"bytes_read", SHEET_BYTES}, {"bytes_decoded", SHEET_BYTES},
};

/* Rows that were written, each counted once where they were told apart. */
uint64_t import_rows_there(const struct ingest_report *r)
{
    return r->distinct_count ? r->distinct_count : r->row_count;
}

static void print_report_sheet(struct cli *cli, const struct ingest_report *r)
{
    struct sheet s;
    sheet_init(&s, report_columns, ARRAY_LEN(report_columns));
    sheet_add_u64(&s, r->record_count);
    sheet_add_u64(&s, r->page_count);
    sheet_add_u64(&s, r->revisit_count);
    sheet_add_u64(&s, r->link_count);
    sheet_add_u64(&s, r->skipped_count);
    sheet_add_u64(&s, import_rows_there(r));
    sheet_add_u64(&s, r->new_is_known ? r->new_count : 0);
    sheet_add_u64(&s, r->cell_count);
    sheet_add_u64(&s, r->damage_count);
    sheet_add_u64(&s, r->lost_count);
    sheet_add_u64(&s, r->bytes_read);
    sheet_add_u64(&s, r->bytes_decoded);
    sheet_print(&s, cli->format);
    sheet_close(&s);
}

static void put_count_of(struct buf *b, uint64_t n, const char *what)
{
    if (n == 0)
        return;
    if (b->len)
        buf_append_str(b, ", ");
    text_put_count(b, n);
    buf_printf(b, " %s", what);
}

/* One line for people: what came in, and how fast. */
static void
print_summary(const struct ingest_report *r, const char *table, bool failed)
{
    struct buf b = BUF_INIT;
    uint64_t us = MAX_OF(r->elapsed_us, UINT64_C(1));
    /* Archives alone tell what they were decompressed to. */
    uint64_t bytes = MAX_OF(r->bytes_read, r->bytes_decoded);
    double per_s = (double)bytes * 1e6 / (double)us;
    put_count_of(&b, r->record_count, "records");
    put_count_of(&b, r->page_count, "pages");
    put_count_of(&b, r->revisit_count, "revisits");
    put_count_of(&b, r->link_count, "links");
    put_count_of(&b, import_rows_there(r),
                 import_rows_there(r) == 1 ? "row" : "rows");
    if (b.len == 0)
        buf_append_str(&b, "nothing");
    if (r->new_is_known) {
        buf_append_str(&b, r->new_count ? ", " : ", none");
        if (r->new_count)
            text_put_count(&b, r->new_count);
        buf_append_str(&b, " new");
    }
    put_count_of(&b, r->lost_count, "refused or lost");
    /* Input that was read and not flushed is lost with the failure. */
    if (failed)
        buf_append_str(&b, " before it failed; ");
    else
        buf_printf(&b, " into %s; ", table);
    text_put_bytes(&b, r->bytes_read);
    buf_append_str(&b, " read, ");
    if (r->bytes_decoded > 0) {
        text_put_bytes(&b, r->bytes_decoded);
        buf_append_str(&b, " decoded, ");
    }
    buf_append_str(&b, "in ");
    text_put_duration(&b, r->elapsed_us);
    buf_append_str(&b, " (");
    text_put_bytes(&b, (uint64_t)per_s);
    buf_append_str(&b, "/s)");
    puts(buf_cstr(&b));
    buf_close(&b);
}

/* Of several records with one key, a row has the cells of the last. */
static void remark_same_keys(struct cli *cli,
                             const struct args *args,
                             const struct ingest_report *r)
{
    struct buf b = BUF_INIT;
    if (r->distinct_count == 0 || r->distinct_count >= r->row_count)
        return;
    text_put_count(&b, r->row_count - r->distinct_count);
    buf_append_str(&b, " records have the key of an earlier one and share its "
                       "row");
    if (strcmp(args->command->name, "import csv") == 0 &&
        !args_flag(args, "key"))
        buf_append_str(&b, "; the key is the first column: --key COLUMN,COLUMN "
                           "makes one of several, --key '#' numbers the lines");
    cli_remark(cli, "%s", buf_cstr(&b));
    buf_close(&b);
}

void import_report_print(struct cli *cli,
                         const struct args *args,
                         const struct ingest_report *r,
                         const char *table,
                         bool failed)
{
    print_damage(r);
    remark_same_keys(cli, args, r);
    if (cli->format == FORMAT_TEXT)
        print_summary(r, table, failed);
    else
        print_report_sheet(cli, r);
}

/* --- refused lines ------------------------------------------------------- */

int import_rejects_open(struct import_rejects *x,
                        const char *path,
                        struct err *err)
{
    struct buf b = BUF_INIT;
    int rc;
    *x = (struct import_rejects){.at = 0};
    PRE(path);
    buf_printf(&b, "%s.reasons", path);
    x->reasons_path = buf_take(&b);
    rc = output_file_open(&x->lines, path, err);
    if (rc)
        goto fail_path;
    rc = output_file_open(&x->reasons, x->reasons_path, err);
    if (rc)
        goto fail_lines;
    x->open = true;
    return 0;
fail_lines:
    rc = output_file_close(&x->lines, rc, NULL);
fail_path:
    mem_free(x->reasons_path);
    err_wrap(err, "--rejects");
    return rc;
}

void import_rejects_add(void *ctx, const struct ingest_reject *r)
{
    struct import_rejects *x = ctx;
    struct buf b = BUF_INIT;
    bool ends = r->bytes.len && r->bytes.data[r->bytes.len - 1] == '\n';
    PRE(x->open);
    if (!r->lost)
        return;
    buf_append_str(&b, "{\"file\": ");
    text_put_json(&b, slice_str(r->file));
    buf_printf(&b, ", \"line\": %" PRIu64 ", \"offset\": %" PRIu64, r->line,
               r->offset);
    buf_append_str(&b, ", \"reason\": ");
    text_put_json(&b, slice_str(r->reason));
    buf_printf(&b, ", \"at\": %" PRIu64 ", \"bytes\": %zu}\n", x->at,
               r->bytes.len);
    fwrite(b.data, 1, b.len, x->reasons.out);
    fwrite(r->bytes.data, 1, r->bytes.len, x->lines.out);
    /* The last line of a file may lack its end; the next one needs it. */
    if (!ends)
        fputc('\n', x->lines.out);
    x->at += r->bytes.len + !ends;
    buf_close(&b);
}

int import_rejects_close(struct import_rejects *x, int code, struct err *err)
{
    struct err why = ERR_INIT;
    int rc;
    if (!x->open)
        return code;
    rc = output_file_close(&x->lines, 0, &why);
    rc = output_file_close(&x->reasons, rc, &why);
    mem_free(x->reasons_path);
    x->open = false;
    if (rc && !code) {
        err_wrap(&why, "--rejects");
        code = err_copy(err, &why);
    }
    return code;
}
