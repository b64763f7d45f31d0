/* CheckAndMutateRow and ReadModifyWriteRow.
 *
 *     CheckAndMutateRowRequest   table_name 1, row_key 2, true_mutations 4,
 *                                false_mutations 5, predicate_filter 6,
 *                                authorized_view_name 9
 *     CheckAndMutateRowResponse  predicate_matched 1
 *     ReadModifyWriteRowRequest  table_name 1, row_key 2, rules 3,
 *                                authorized_view_name 6
 *     ReadModifyWriteRule        family_name 1, column_qualifier 2,
 *                                append_value 3, increment_amount 4
 *     ReadModifyWriteRowResponse row 1 {key 1, families 2 {name 1, columns 2
 *                                {qualifier 1, cells 2 {timestamp_micros 1,
 *                                value 2}}}}
 */
#include <string.h>

#include "base/core/panic.h"
#include "bigtable/gateway/pb.h"
#include "bigtable/gateway/request_filter.h"
#include "bigtable/gateway/request_mutation.h"
#include "bigtable/gateway/service.h"

static int no_key(struct err *err)
{
    return err_set(err, ERR_INVALID, "row keys must not be empty");
}

static int no_views(struct err *err)
{
    return err_set(err, ERR_UNSUPPORTED, "writing through a view");
}

/* --- CheckAndMutateRow ------------------------------------------------------
 */

struct check_request {
    struct gateway *gateway;
    struct slice message;
    struct slice table;
    struct slice row;
    struct slice predicate;
    bool has_predicate;
    size_t counts[2]; /* Mutations if true, if false. */
    bool matched;
    int rc;
    struct err *err;
};

static int parse_check(struct check_request *r, struct err *err)
{
    struct cursor c = cursor_make(r->message);
    struct pb_field f;
    while (pb_next(&c, &f)) {
        if (pb_is_bytes(&f, 1)) {
            r->table = f.bytes;
        } else if (pb_is_bytes(&f, 2)) {
            r->row = f.bytes;
        } else if (pb_is_bytes(&f, 4) || pb_is_bytes(&f, 5)) {
            r->counts[f.number - 4]++;
        } else if (pb_is_bytes(&f, 6)) {
            r->predicate = f.bytes;
            r->has_predicate = true;
        } else if (pb_is_bytes(&f, 9) && f.bytes.len) {
            return no_views(err);
        }
    }
    if (c.bad)
        return service_bad_request(err);
    if (r->row.len == 0)
        return no_key(err);
    if (r->counts[0] == 0 && r->counts[1] == 0)
        return err_set(err, ERR_INVALID, "no mutations provided");
    if (r->counts[0] > REQUEST_MUTATIONS_MAX ||
        r->counts[1] > REQUEST_MUTATIONS_MAX)
        return err_set(err, ERR_INVALID,
                       "more than %d mutations in one request",
                       REQUEST_MUTATIONS_MAX);
    return 0;
}

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
    struct quarry_mutation *const m[2] = {quarry_mutation_new(r->row),
                                          quarry_mutation_new(r->row)};
    struct quarry_filter *predicate = NULL;
    int rc = 0;
    if (r->has_predicate)
        rc = request_filter(r->predicate, &predicate, err);
    if (rc == 0)
        rc = add_both(r, m, err);
    if (rc == 0)
        rc = quarry_check_and_mutate(
            t, r->row, predicate, r->counts[0] ? m[0] : NULL,
            r->counts[1] ? m[1] : NULL, NULL, &r->matched, err);
    quarry_filter_free(predicate);
    quarry_mutation_free(m[0]);
    quarry_mutation_free(m[1]);
    return rc;
}

static void run_check(void *arg)
{
    struct check_request *r = arg;
    struct quarry_table *t;
    r->rc = parse_check(r, r->err);
    if (r->rc == 0)
        r->rc = service_open_table(r->gateway, r->table, &t, r->err);
    if (r->rc)
        return;
    r->rc = apply_check(r, t, r->err);
    quarry_table_close(t);
}

int data_check_and_mutate(void *ctx, struct grpc_call *call, struct err *err)
{
    struct check_request r = {.gateway = ctx,
                              .message = grpc_request(call),
                              .table = SLICE_EMPTY,
                              .row = SLICE_EMPTY,
                              .err = err};
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

/* As the real service. */
#define RULES_MAX 100000

/* A rule and the name of its family. */
struct rule_names {
    char family[REQUEST_FAMILY_BYTES_MAX + 1];
};

struct modify_request {
    struct gateway *gateway;
    struct slice message;
    struct slice table;
    struct slice row;
    struct quarry_rmw_rule *rules; /* Owned. */
    struct rule_names *names;      /* Owned. */
    size_t rule_count;
    struct quarry_row *out; /* Owned. */
    int rc;
    struct err *err;
};

static int parse_modify(struct modify_request *r, struct err *err)
{
    struct cursor c = cursor_make(r->message);
    struct pb_field f;
    while (pb_next(&c, &f)) {
        if (pb_is_bytes(&f, 1))
            r->table = f.bytes;
        else if (pb_is_bytes(&f, 2))
            r->row = f.bytes;
        else if (pb_is_bytes(&f, 3))
            r->rule_count++;
        else if (pb_is_bytes(&f, 6) && f.bytes.len)
            return no_views(err);
    }
    if (c.bad)
        return service_bad_request(err);
    if (r->row.len == 0)
        return no_key(err);
    if (r->rule_count == 0 || r->rule_count > RULES_MAX)
        return err_set(err, ERR_INVALID, "expected 1 to %d rules", RULES_MAX);
    return 0;
}

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
    r->rules = mem_alloc(r->rule_count * sizeof(*r->rules));
    r->names = mem_alloc(r->rule_count * sizeof(*r->names));
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
    r->rc = parse_modify(r, r->err);
    if (r->rc == 0)
        r->rc = parse_rules(r, r->err);
    if (r->rc == 0)
        r->rc = service_open_table(r->gateway, r->table, &t, r->err);
    if (r->rc)
        return;
    r->rc = quarry_read_modify_write(t, r->row, r->rules, r->rule_count, NULL,
                                     &r->out, r->err);
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
    pb_put_bytes(b, 1, r->row);
    while (r->out && i < r->out->cell_count)
        i = put_family(b, r->out, i);
    pb_close(b, opened);
    return grpc_send(call, b, err);
}

int data_read_modify_write(void *ctx, struct grpc_call *call, struct err *err)
{
    struct modify_request r = {.gateway = ctx,
                               .message = grpc_request(call),
                               .table = SLICE_EMPTY,
                               .row = SLICE_EMPTY,
                               .err = err};
    int rc;
    service_run(r.gateway, call, run_modify, &r);
    rc = r.rc ? r.rc : reply_modify(&r, call, err);
    quarry_row_free(r.out);
    mem_free(r.rules);
    mem_free(r.names);
    return rc;
}
