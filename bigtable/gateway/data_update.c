/* CheckAndMutateRow and ReadModifyWriteRow: the single-row transactions of the
 * API. Both are calls of the store, which makes them atomic; here the request
 * is parsed, the app profile asked whether it allows transactions, and the
 * answer written.
 */
#include <string.h>

#include "base/core/panic.h"
#include "base/core/pb.h"
#include "bigtable/gateway/api_fields.h"
#include "bigtable/gateway/api_service.h"
#include "bigtable/gateway/app_profile.h"
#include "bigtable/gateway/authorized_view.h"
#include "bigtable/gateway/request_filter.h"
#include "bigtable/gateway/request_mutation.h"
#include "bigtable/gateway/request_row.h"

/* --- CheckAndMutateRow --------------------------------------------------- */

static const struct request_row_fields check_fields = {
    .table = PB_CheckAndMutateRowRequest_table_name,
    .row = PB_CheckAndMutateRowRequest_row_key,
    .lists = {PB_CheckAndMutateRowRequest_true_mutations,
              PB_CheckAndMutateRowRequest_false_mutations},
    .filter = PB_CheckAndMutateRowRequest_predicate_filter,
    .view = PB_CheckAndMutateRowRequest_authorized_view_name,
    .profile = PB_CheckAndMutateRowRequest_app_profile_id,
};

struct check_request {
    struct gateway *gateway;
    struct slice message;
    struct request_row
        q; /* Its lists: the changes if the predicate matches, and if not. */
    struct authorized_view *view; /* Owned; NULL: none. */
    bool matched;
    int rc;
    struct err *err;
};

static int add_both(struct check_request *r,
                    struct quarry_mutation *const m[2],
                    struct err *err)
{
    struct cursor c = cursor_make(r->message);
    int64_t now_us = service_now_us(r->gateway);
    struct pb_field f;
    int rc = 0;
    while (rc == 0 && pb_next(&c, &f))
        for (int i = 0; i < 2 && rc == 0; i++)
            if (pb_is_bytes(&f, check_fields.lists[i]))
                rc = request_mutation_add(m[i], f.bytes, now_us, err);
    return rc;
}

static int
apply_check(struct check_request *r, struct quarry_table *t, struct err *err)
{
    struct quarry_mutation *const m[2] = {quarry_mutation_new(r->q.row),
                                          quarry_mutation_new(r->q.row)};
    struct quarry_filter *predicate = NULL;
    int rc = 0;
    if (r->q.has_filter)
        rc = request_filter(r->q.filter, &predicate, err);
    authorized_view_limit_filter(r->view, &predicate);
    if (rc == 0)
        rc = add_both(r, m, err);
    for (int i = 0; i < 2 && rc == 0; i++)
        rc = authorized_view_check(r->view, m[i], err);
    if (rc == 0)
        rc = quarry_check_and_mutate(
            t, r->q.row, predicate, r->q.counts[0] ? m[0] : NULL,
            r->q.counts[1] ? m[1] : NULL, NULL, &r->matched, err);
    quarry_filter_free(predicate);
    quarry_mutation_free(m[0]);
    quarry_mutation_free(m[1]);
    return rc;
}

static void run_check(void *arg)
{
    struct check_request *r = arg;
    struct quarry_table *t;
    r->rc = request_row_parse(&r->q, r->message, &check_fields, r->err);
    if (r->rc == 0)
        r->rc = authorized_view_open(r->gateway, r->q.view, &r->q.table,
                                     &r->view, r->err);
    if (r->rc == 0)
        r->rc = app_profile_check(r->gateway, r->q.table, r->q.profile,
                                  APP_PROFILE_TRANSACTION, r->err);
    if (r->rc == 0)
        r->rc = service_open_table(r->gateway, r->q.table, &t, r->err);
    if (r->rc)
        return;
    r->rc = apply_check(r, t, r->err);
    quarry_table_close(t);
}

int data_check_and_mutate(void *ctx, struct grpc_call *call, struct err *err)
{
    struct check_request r = {
        .gateway = ctx, .message = grpc_request(call), .err = err};
    struct buf *b;
    service_run(r.gateway, call, run_check, &r);
    authorized_view_close(r.view);
    if (r.rc)
        return r.rc;
    b = grpc_scratch(call);
    if (r.matched)
        pb_put_integer(b, PB_CheckAndMutateRowResponse_predicate_matched, 1);
    return grpc_send(call, b, err);
}

/* --- ReadModifyWriteRow -------------------------------------------------- */

static const struct request_row_fields modify_fields = {
    .table = PB_ReadModifyWriteRowRequest_table_name,
    .row = PB_ReadModifyWriteRowRequest_row_key,
    .lists = {PB_ReadModifyWriteRowRequest_rules, 0},
    .view = PB_ReadModifyWriteRowRequest_authorized_view_name,
    .profile = PB_ReadModifyWriteRowRequest_app_profile_id,
};

/* The name of a rule's family, with its NUL. */
struct rule_names {
    char family[REQUEST_FAMILY_BYTES_MAX + 1];
};

struct modify_request {
    struct gateway *gateway;
    struct slice message;
    struct request_row q;          /* Its list: the rules. */
    struct authorized_view *view;  /* Owned; NULL: none. */
    struct quarry_rmw_rule *rules; /* Owned. */
    struct rule_names *names;      /* Owned. */
    struct quarry_row *out;        /* Owned. */
    int rc;
    struct err *err;
};

static int parse_rule(struct slice bytes,
                      struct quarry_rmw_rule *rule,
                      struct rule_names *names,
                      struct err *err)
{
    struct cursor c = cursor_make(bytes);
    struct slice family = SLICE_EMPTY;
    struct pb_field f;
    bool any = false;
    *rule = (struct quarry_rmw_rule){.qualifier = SLICE_EMPTY};
    while (pb_next(&c, &f)) {
        if (pb_is_bytes(&f, PB_ReadModifyWriteRule_family_name)) {
            family = f.bytes;
        } else if (pb_is_bytes(&f, PB_ReadModifyWriteRule_column_qualifier)) {
            rule->qualifier = f.bytes;
        } else if (pb_is_bytes(&f, PB_ReadModifyWriteRule_append_value)) {
            rule->kind = QUARRY_RMW_APPEND;
            rule->append = f.bytes;
            any = true;
        } else if (pb_is_integer(&f, PB_ReadModifyWriteRule_increment_amount)) {
            rule->kind = QUARRY_RMW_INCREMENT;
            rule->increment = (int64_t)f.integer;
            any = true;
        }
    }
    if (c.bad)
        return service_bad_request(err);
    if (!any)
        return err_set(err, ERR_INVALID,
                       "a rule without append_value or increment_amount");
    rule->family = names->family;
    return request_family(family, names->family, err);
}

static int parse_rules(struct modify_request *r, struct err *err)
{
    struct cursor c = cursor_make(r->message);
    struct pb_field f;
    size_t i = 0;
    int rc = 0;
    r->rules = mem_alloc(r->q.counts[0] * sizeof(*r->rules));
    r->names = mem_alloc(r->q.counts[0] * sizeof(*r->names));
    while (rc == 0 && pb_next(&c, &f))
        if (pb_is_bytes(&f, PB_ReadModifyWriteRowRequest_rules)) {
            rc = parse_rule(f.bytes, &r->rules[i], &r->names[i], err);
            if (rc == 0)
                rc = authorized_view_check_column(r->view, r->q.row,
                                                  slice_str(r->names[i].family),
                                                  r->rules[i].qualifier, err);
            i++;
        }
    return rc;
}

static void run_modify(void *arg)
{
    struct modify_request *r = arg;
    struct quarry_table *t;
    r->rc = request_row_parse(&r->q, r->message, &modify_fields, r->err);
    if (r->rc == 0)
        r->rc = authorized_view_open(r->gateway, r->q.view, &r->q.table,
                                     &r->view, r->err);
    if (r->rc == 0)
        r->rc = app_profile_check(r->gateway, r->q.table, r->q.profile,
                                  APP_PROFILE_TRANSACTION, r->err);
    if (r->rc == 0)
        r->rc = parse_rules(r, r->err);
    if (r->rc == 0)
        r->rc = service_open_table(r->gateway, r->q.table, &t, r->err);
    if (r->rc)
        return;
    r->rc = quarry_read_modify_write(t, r->q.row, r->rules, r->q.counts[0],
                                     NULL, &r->out, r->err);
    quarry_table_close(t);
}

static void put_cell(struct buf *b, const struct quarry_cell *cell)
{
    size_t opened = pb_open(b, PB_Column_cells);
    pb_put_integer(b, PB_Cell_timestamp_micros, cell->timestamp_us);
    pb_put_bytes(b, PB_Cell_value, cell->value);
    pb_close(b, opened);
}

/* Append the column of cell @i; returns the index of the first cell after it.
 */
static size_t put_column(struct buf *b, const struct quarry_row *row, size_t i)
{
    const struct quarry_cell *first = &row->cells[i];
    size_t opened = pb_open(b, PB_Family_columns);
    pb_put_bytes(b, PB_Column_qualifier, first->qualifier);
    for (; i < row->cell_count; i++) {
        const struct quarry_cell *cell = &row->cells[i];
        if (!slice_eq(cell->family, first->family) ||
            !slice_eq(cell->qualifier, first->qualifier))
            break;
        put_cell(b, cell);
    }
    pb_close(b, opened);
    return i;
}

static size_t put_family(struct buf *b, const struct quarry_row *row, size_t i)
{
    struct slice family = row->cells[i].family;
    size_t opened = pb_open(b, PB_Row_families);
    pb_put_bytes(b, PB_Family_name, family);
    while (i < row->cell_count && slice_eq(row->cells[i].family, family))
        i = put_column(b, row, i);
    pb_close(b, opened);
    return i;
}

static int
reply_modify(struct modify_request *r, struct grpc_call *call, struct err *err)
{
    struct buf *b = grpc_scratch(call);
    size_t opened = pb_open(b, PB_ReadModifyWriteRowResponse_row);
    size_t i = 0;
    pb_put_bytes(b, PB_Row_key, r->q.row);
    while (r->out && i < r->out->cell_count)
        i = put_family(b, r->out, i);
    pb_close(b, opened);
    return grpc_send(call, b, err);
}

int data_read_modify_write(void *ctx, struct grpc_call *call, struct err *err)
{
    struct modify_request r = {
        .gateway = ctx, .message = grpc_request(call), .err = err};
    int rc;
    service_run(r.gateway, call, run_modify, &r);
    rc = r.rc ? r.rc : reply_modify(&r, call, err);
    authorized_view_close(r.view);
    quarry_row_free(r.out);
    mem_free(r.rules);
    mem_free(r.names);
    return rc;
}
