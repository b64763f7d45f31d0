/* A fake tablet server runs programs over a tablet, and tells where to cut it
 * and what it holds. */
#ifndef TESTS_UNIT_CLIENT_FAKE_PROGRAMS_H
#define TESTS_UNIT_CLIENT_FAKE_PROGRAMS_H

#include <string.h>

#include "base/core/arena.h"
#include "base/core/panic.h"
#include "bigtable/read/script.h"
#include "bigtable/wire/data_calls.h"
#include "sawzall-lite/sawzall.h"
#include "tests/unit/client/fake/reads.h"

static inline int fake_refuse_output(void *ctx,
                                     const char *path,
                                     struct slice text,
                                     struct err *e)
{
    (void)ctx;
    (void)text;
    err_set(e, ERR_ABORTED, "the program writes to %s", path);
    err_set_detail(e, ERR_DETAIL_PROGRAM_WRITES, "");
    return ERR_ABORTED;
}

static inline int fake_run_rows(struct fake *f,
                                const struct fake_tablet *t,
                                const struct run_request *r,
                                struct quarry_read_options *o,
                                struct rpc_call *call,
                                struct err *e)
{
    struct saw_compile_options compile = {
        .restricted = true,
        .ignore_undefs = r->settings.ignore_undefs,
        .defer_tables = r->settings.defer_tables};
    struct saw_run_options run_options = {.fuel_per_record = r->fuel,
                                          .memory_bytes_max = r->memory_max,
                                          .depth_max = r->settings.depth_max,
                                          .seed = r->settings.seed,
                                          .write = fake_refuse_output};
    struct quarry_table *table = fake_open(f, t->name);
    struct buf diagnostics = BUF_INIT;
    struct run_reply reply = {.done = true, .next = SLICE_EMPTY};
    char *output = NULL;
    struct saw_program *p;
    struct saw_run *run = NULL;
    int rc = saw_compile(&compile, r->source, "program", &p, &diagnostics);
    if (rc)
        err_set(e, rc, "%s", buf_cstr(&diagnostics));
    if (r->settings.has_table_output)
        run_options.table_output = output = mem_strndup(
            r->settings.table_output.data, r->settings.table_output.len);
    o->ordered = true;
    if (rc == 0)
        rc = saw_run_new(p, &run_options, &run, e);
    if (rc == 0)
        rc = quarry_run_program(table, o, run, &reply.row_count, e);
    if (rc == 0) {
        saw_run_encode_tables(run, call->reply_attachment);
        run_reply_put(&reply, call->reply_body);
    }
    saw_run_free(run);
    saw_program_free(p);
    mem_free(output);
    buf_close(&diagnostics);
    quarry_table_close(table);
    return rc;
}

static inline int fake_run(void *ctx, struct rpc_call *call, struct err *e)
{
    struct fake_server *s = ctx;
    struct quarry_range *ranges = mem_alloc(5000 * sizeof(*ranges));
    struct quarry_read_options o;
    struct run_request r;
    struct fake_tablet *t;
    struct row_set set;
    struct arena a;
    int rc;
    arena_init(&a);
    rc = run_request_get(call->body, &r, e);
    t = rc == 0 ? fake_tablet_at(s, r.tablet) : NULL;
    if (t && fake_moves(s->fake)) {
        fake_move_tablet(s->fake, t);
        t = NULL;
    }
    if (rc == 0 && !t)
        rc = fake_not_here(e);
    if (rc == 0)
        rc = read_options_get(r.options, &a, &o, e);
    if (rc == 0) {
        struct quarry_filter *filter =
            (struct quarry_filter *)(uintptr_t)o.filter;
        if (fake_clip(t, r.from, &set, ranges, 5000, &o)) {
            rc = fake_run_rows(s->fake, t, &r, &o, call, e);
        } else {
            struct run_reply reply = {.done = true, .next = SLICE_EMPTY};
            run_reply_put(&reply, call->reply_body);
        }
        row_set_close(&set);
        filter_unref(filter);
    }
    arena_close(&a);
    mem_free(ranges);
    return rc;
}

static inline int fake_cuts(void *ctx, struct rpc_call *call, struct err *e)
{
    struct fake_server *s = ctx;
    struct cuts_request r;
    struct quarry_table *table;
    struct fake_tablet *t;
    struct slice *keys;
    size_t count;
    size_t kept = 0;
    int rc = cuts_request_get(call->body, &r, e);
    t = rc == 0 ? fake_tablet_at(s, r.tablet) : NULL;
    if (rc == 0 && !t)
        rc = fake_not_here(e);
    if (rc)
        return rc;
    table = fake_open(s->fake, t->name);
    rc = quarry_table_split_points(table, r.parts, &keys, &count, e);
    quarry_table_close(table);
    for (size_t i = 0; rc == 0 && i < count; i++)
        if (fake_holds(t, keys[i]) && slice_cmp(keys[i], buf_slice(&t->start)))
            keys[kept++] = keys[i];
    if (rc == 0) {
        keys_put(keys, kept, call->reply_attachment);
        mem_free(keys);
    }
    return rc;
}

static inline int fake_describe(void *ctx, struct rpc_call *call, struct err *e)
{
    struct fake_server *s = ctx;
    struct group_load g = {.name = SLICE_LIT("default"), .entry_count = 1};
    struct describe_reply reply = {
        .bytes = 1000, .group_count = 1, .groups = &g};
    struct cuts_request r;
    int rc = cuts_request_get(call->body, &r, e);
    if (rc == 0 && !fake_tablet_at(s, r.tablet))
        rc = fake_not_here(e);
    if (rc == 0)
        describe_reply_put(&reply, call->reply_body);
    return rc;
}

#endif /* TESTS_UNIT_CLIENT_FAKE_PROGRAMS_H */
