/* CheckAndMutateRow and ReadModifyWriteRow.
 *
 *     CheckAndMutateRowRequest   table_name 1, row_key 2, true_mutations 4,
 *                                false_mutations 5, predicate_filter 6,
 *                                app_profile_id 7, authorized_view_name 9
 *     CheckAndMutateRowResponse  predicate_matched 1
 *     ReadModifyWriteRowRequest  table_name 1, row_key 2, rules 3,
 *                                app_profile_id 4, authorized_view_name 6
 *     ReadModifyWriteRule        family_name 1, column_qualifier 2,
 *                                append_value 3, increment_amount 4
 *     ReadModifyWriteRowResponse row 1 {key 1, families 2 {name 1, columns 2
 *                                {qualifier 1, cells 2 {timestamp_micros 1,
 *                                value 2}}}}
 */
#include <string.h>

#include "base/core/panic.h"
#include "bigtable/gateway/app_profile.h"
#include "bigtable/gateway/pb.h"
#include "bigtable/gateway/request_filter.h"
#include "bigtable/gateway/request_mutation.h"
#include "bigtable/gateway/request_row.h"
#include "bigtable/gateway/service.h"

/* --- CheckAndMutateRow ------------------------------------------------------
 */

static const struct request_row_fields check_fields = {.lists = {4, 5},
                                                       .filter = 6,
                                                       .view = 9,
                                                       .profile = 7};

struct check_request {
    struct gateway *gateway;
    struct slice message;
    struct request_row q; /* Its lists: what to do if true, if false. */
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
        if (pb_is_bytes(&f, 4) || pb_is_bytes(&f, 5))
            rc = request_mutation_add(m[f.number - 4], f.bytes, now_us, err);
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
    if (rc == 0)
        rc = add_both(r, m, err);
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
    if (r.rc)
        return r.rc;
    b = grpc_scratch(call);
    if (r.matched)
        pb_put_integer(b, 1, 1);
    return grpc_send(call, b, err);
}

/* --- ReadModifyWriteRow -----------------------------------------------------
 */

static const struct request_row_fields modify_fields = {.lists = {3, 0},
                                                        .view = 6,
                                                        .profile = 4};

/* A rule and the name of its family. */
struct rule_names {
    char family[REQUEST_FAMILY_BYTES_MAX + 1];
};

struct modify_request {
    struct gateway *gateway;
    struct slice message;
    struct request_row q;          /* Its list: the rules. */
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
        if (pb_is_bytes(&f, 1)) {
            family = f.bytes;
        } else if (pb_is_bytes(&f, 2)) {
            rule->qualifier = f.bytes;
        } else if (pb_is_bytes(&f, 3)) {
            rule->kind = QUARRY_RMW_APPEND;
            rule->append = f.bytes;
            any = true;
        } else if (pb_is_integer(&f, 4)) {
            rule->kind = QUARRY_RMW_INCREMENT;
            rule->increment = (int64_t)f.integer;
            any = true;
        }
    }
    if (c.bad)
        return service_bad_request(err);
    if (!any)
        return err_set(err, ERR_INVALID, "a rule that says nothing");
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
        if (pb_is_bytes(&f, 3)) {
            rc = parse_rule(f.bytes, &r->rules[i], &r->names[i], err);
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
    size_t opened = pb_open(b, 2);
    pb_put_integer(b, 1, cell->timestamp_us);
    pb_put_bytes(b, 2, cell->value);
    pb_close(b, opened);
}

/* All cells from @i on that are of its column; returns where they end. */
static size_t put_column(struct buf *b, const struct quarry_row *row, size_t i)
{
    const struct quarry_cell *first = &row->cells[i];
    size_t opened = pb_open(b, 2);
    pb_put_bytes(b, 1, first->qualifier);
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
    size_t opened = pb_open(b, 2);
    pb_put_bytes(b, 1, family);
    while (i < row->cell_count && slice_eq(row->cells[i].family, family))
        i = put_column(b, row, i);
    pb_close(b, opened);
    return i;
}

static int
reply_modify(struct modify_request *r, struct grpc_call *call, struct err *err)
{
    struct buf *b = grpc_scratch(call);
    size_t opened = pb_open(b, 1);
    size_t i = 0;
    pb_put_bytes(b, 1, r->q.row);
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
    quarry_row_free(r.out);
    mem_free(r.rules);
    mem_free(r.names);
    return rc;
}
