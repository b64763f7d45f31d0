/* Bulk loads as outputs: the ticket that begins a load, the lists of files of
 * its parts, and their commit. Tickets and lists are small files in the staging
 * directory, so that a restarted job master finds them. */
#include "mapreduce/output/bulk_output.h"

#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "bigtable/client/bulk_load.h"
#include "mapreduce/records/files.h"

/* A ticket holds a schema and the borders of the table's tablets. */
#define TICKET_BYTES_MAX ((size_t)64 << 20)
/* A list has two keys a file. */
#define LIST_BYTES_MAX ((size_t)256 << 20)

static void put_load_id(const char *job_id, unsigned index, struct buf *out)
{
    buf_printf(out, "job-%s-%u", job_id, index);
}

void bulk_output_ticket_path(const char *staging, struct buf *out)
{
    buf_clear(out);
    buf_printf(out, "%s/_ticket", staging);
}

static int read_ticket(const struct job_files *files,
                       const char *staging,
                       struct buf *out,
                       struct err *err)
{
    struct buf path = BUF_INIT;
    int rc;
    bulk_output_ticket_path(staging, &path);
    rc = files_read_all(files, buf_cstr(&path), TICKET_BYTES_MAX, out, err);
    buf_close(&path);
    return rc;
}

/* --- the job master's side ----------------------------------------------- */

static int bulk_output_begin_table(const struct job_files *files,
                                   const char *path,
                                   struct quarry *store,
                                   const char *table,
                                   const char *id,
                                   struct err *err)
{
    struct buf ticket = BUF_INIT;
    int rc = quarry_bulk_begin(store, table, id, &ticket, err);
    if (rc == 0)
        rc = files_replace(files, path, buf_slice(&ticket), err);
    buf_close(&ticket);
    return rc;
}

int bulk_output_begin(const struct job_files *files,
                      const char *staging,
                      struct quarry *store,
                      const char *table,
                      const char *job_id,
                      unsigned index,
                      struct err *err)
{
    struct buf path = BUF_INIT;
    struct buf id = BUF_INIT;
    struct files_info info;
    int rc;
    bulk_output_ticket_path(staging, &path);
    rc = files_stat(files, buf_cstr(&path), &info, err);
    if (rc == ERR_NOTFOUND) {
        put_load_id(job_id, index, &id);
        rc = bulk_output_begin_table(files, buf_cstr(&path), store, table,
                                     buf_cstr(&id), err);
    }
    buf_close(&id);
    buf_close(&path);
    return rc;
}

int bulk_output_lend(struct quarry *store,
                     const char *table,
                     const char *job_id,
                     unsigned index,
                     struct key_loan *out,
                     struct err *err)
{
    struct buf id = BUF_INIT;
    int rc;
    put_load_id(job_id, index, &id);
    rc = quarry_bulk_lend(store, table, buf_cstr(&id), out, err);
    buf_close(&id);
    return rc;
}

/* The lists of the parts, one after the other in the order of the tasks. */
static int read_lists(const struct job_files *files,
                      const char *staging,
                      struct buf *out,
                      struct err *err)
{
    struct buf path = BUF_INIT;
    char **names = NULL;
    size_t count = 0;
    int rc = files_list(files, staging, &names, &count, err);
    for (size_t i = 0; i < count && rc == 0; i++) {
        if (strncmp(names[i], "part-", 5) != 0)
            continue;
        buf_clear(&path);
        buf_printf(&path, "%s/%s", staging, names[i]);
        rc = files_read_all(files, buf_cstr(&path), LIST_BYTES_MAX, out, err);
    }
    files_names_free(names, count);
    buf_close(&path);
    return rc;
}

int bulk_output_commit(const struct job_files *files,
                       const char *staging,
                       struct quarry *store,
                       struct err *err)
{
    struct buf ticket = BUF_INIT;
    struct buf lists = BUF_INIT;
    int rc = read_ticket(files, staging, &ticket, err);
    if (rc == 0)
        rc = read_lists(files, staging, &lists, err);
    if (rc == 0)
        rc = quarry_bulk_commit(store, buf_slice(&ticket), buf_slice(&lists),
                                NULL, err);
    buf_close(&ticket);
    buf_close(&lists);
    return rc;
}

int bulk_output_abandon(const struct job_files *files,
                        const char *staging,
                        struct quarry *store,
                        struct err *err)
{
    struct buf ticket = BUF_INIT;
    int rc = read_ticket(files, staging, &ticket, err);
    if (rc == 0)
        rc = quarry_bulk_abandon(store, buf_slice(&ticket), err);
    buf_close(&ticket);
    return rc == ERR_NOTFOUND ? 0 : rc;
}

/* --- an attempt's side --------------------------------------------------- */

struct bulk_part {
    const struct job_files *files;
    struct quarry_bulk_writer *writer;
    struct buf row;    /* Of the last cell. */
    struct buf family; /* NUL-terminated for the writer. */
    uint64_t rows;
};

int bulk_output_part_path(const char *job_id,
                          unsigned index,
                          const char *prefix,
                          struct buf *out,
                          struct err *err)
{
    struct buf id = BUF_INIT;
    int rc;
    put_load_id(job_id, index, &id);
    rc = quarry_bulk_part_path(buf_cstr(&id), prefix, out, err);
    buf_close(&id);
    return rc;
}

int bulk_part_open(const struct job_files *files,
                   const char *staging,
                   const char *prefix,
                   struct quarry *store,
                   const struct key_loan *loan,
                   struct bulk_part **out,
                   struct err *err)
{
    struct quarry_bulk_place place = {.world = files->world, .fs = files->fs};
    struct bulk_part *p = mem_zalloc(1, sizeof(*p));
    struct buf ticket = BUF_INIT;
    int rc = read_ticket(files, staging, &ticket, err);
    if (store)
        quarry_bulk_place_of(store, &place);
    place.loan = loan;
    p->files = files;
    if (rc == 0)
        rc = quarry_bulk_writer_open(&place, buf_slice(&ticket), prefix,
                                     &p->writer, err);
    buf_close(&ticket);
    if (rc) {
        bulk_part_close(p);
        p = NULL;
    }
    *out = p;
    return rc;
}

/* Say what a job can do about rows in the wrong order. */
static int out_of_order(struct bulk_part *p, struct slice row, struct err *err)
{
    err_set(err, ERR_INVALID,
            "row \"%.*s\" comes behind row \"%.*s\": rows of a bulk output "
            "must ascend within a task",
            (int)MIN_OF(row.len, (size_t)80), row.data,
            (int)MIN_OF(p->row.len, (size_t)80), buf_cstr(&p->row));
    err_hint(err, "emit rows as keys and put them in reduce, or write without "
                  "bulk=yes");
    return ERR_INVALID;
}

int bulk_part_put(struct bulk_part *p,
                  struct slice row,
                  struct slice family,
                  struct slice qualifier,
                  int64_t timestamp_us,
                  struct slice value,
                  struct err *err)
{
    int order = p->rows ? slice_cmp(row, buf_slice(&p->row)) : 1;
    if (order < 0)
        return out_of_order(p, row, err);
    if (order > 0) {
        p->rows++;
        buf_clear(&p->row);
        buf_append_slice(&p->row, row);
    }
    buf_clear(&p->family);
    buf_append_slice(&p->family, family);
    return quarry_bulk_writer_set(p->writer, row, buf_cstr(&p->family),
                                  qualifier, timestamp_us, value, err);
}

uint64_t bulk_part_rows(const struct bulk_part *p)
{
    return p->rows;
}

int bulk_part_finish(struct bulk_part *p, const char *path, struct err *err)
{
    struct buf list = BUF_INIT;
    int rc = quarry_bulk_writer_finish(p->writer, &list, err);
    if (rc == 0)
        rc = files_replace(p->files, path, buf_slice(&list), err);
    buf_close(&list);
    return rc;
}

void bulk_part_close(struct bulk_part *p)
{
    if (!p)
        return;
    quarry_bulk_writer_free(p->writer);
    buf_close(&p->row);
    buf_close(&p->family);
    mem_free(p);
}
