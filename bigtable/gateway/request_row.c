/* Requests that change one row. They differ in the numbers of their fields
 * only, so one loop reads all of them by a table of numbers.
 */
#include "bigtable/gateway/request_row.h"

#include "base/core/pb.h"
#include "bigtable/gateway/api_fields.h"
#include "bigtable/gateway/api_service.h"
#include "bigtable/gateway/request_mutation.h"

const struct request_row_fields request_row_write = {
    .table = PB_MutateRowRequest_table_name,
    .row = PB_MutateRowRequest_row_key,
    .lists = {PB_MutateRowRequest_mutations, 0},
    .view = PB_MutateRowRequest_authorized_view_name,
    .profile = PB_MutateRowRequest_app_profile_id,
};

int request_too_many(struct err *err)
{
    return err_set(err, ERR_INVALID, "more than %d mutations in one request",
                   REQUEST_MUTATIONS_MAX);
}

int request_row_check(struct slice row, size_t count, struct err *err)
{
    if (row.len == 0)
        return err_set(err, ERR_INVALID, "Row keys must be non-empty");
    if (count == 0)
        return err_set(err, ERR_INVALID, "No mutations provided");
    return 0;
}

static void request_row_take(struct request_row *r,
                             const struct request_row_fields *fields,
                             const struct pb_field *f)
{
    if (f->wire != PB_BYTES)
        return;
    if (f->number == fields->table) {
        r->table = f->bytes;
    } else if (f->number == fields->row) {
        r->row = f->bytes;
    } else if (f->number == fields->lists[0]) {
        r->last = f->bytes;
        r->counts[0]++;
    } else if (f->number == fields->lists[1]) {
        r->counts[1]++;
    } else if (f->number == fields->filter) {
        r->filter = f->bytes;
        r->has_filter = true;
    } else if (f->number == fields->profile) {
        r->profile = f->bytes;
    } else if (f->number == fields->view) {
        r->view = f->bytes;
    }
}

int request_row_parse(struct request_row *out,
                      struct slice message,
                      const struct request_row_fields *fields,
                      struct err *err)
{
    struct cursor c = cursor_make(message);
    struct pb_field f;
    int rc = 0;
    *out = (struct request_row){.message = message,
                                .table = SLICE_EMPTY,
                                .row = SLICE_EMPTY,
                                .filter = SLICE_EMPTY,
                                .profile = SLICE_EMPTY,
                                .view = SLICE_EMPTY,
                                .last = SLICE_EMPTY};
    while (pb_next(&c, &f))
        request_row_take(out, fields, &f);
    if (c.bad)
        rc = service_bad_request(err);
    if (rc == 0)
        rc = request_row_check(out->row, out->counts[0] + out->counts[1], err);
    if (rc == 0 && (out->counts[0] > REQUEST_MUTATIONS_MAX ||
                    out->counts[1] > REQUEST_MUTATIONS_MAX))
        rc = request_too_many(err);
    return rc;
}

int request_row_mutate(const struct request_row *r,
                       struct quarry_mutation *m,
                       int64_t now_us,
                       struct err *err)
{
    return r->counts[0] == 1
               ? request_mutation_take(m, r->last, now_us, err)
               : request_mutation_add_all(
                     m, r->message, request_row_write.lists[0], now_us, err);
}
