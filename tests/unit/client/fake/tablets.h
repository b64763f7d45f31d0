/* Tablets of a fake cluster, and what METADATA and the lock service say of
 * them. On its loop. */
#ifndef TESTS_UNIT_CLIENT_FAKE_TABLETS_H
#define TESTS_UNIT_CLIENT_FAKE_TABLETS_H

#include <stdio.h>
#include <string.h>

#include "base/core/panic.h"
#include "bigtable/row/mutation.h"
#include "bigtable/wire/control_calls.h"
#include "bigtable/wire/data_calls.h"
#include "bigtable/wire/metadata.h"
#include "tests/unit/client/fake/state.h"

/* --- what is written down ------------------------------------------------ */

static inline struct quarry_table *fake_open(struct fake *f, const char *name)
{
    struct err e = ERR_INIT;
    struct quarry_table *t;
    fake_must(quarry_table_open(f->store, name, &t, &e), &e);
    return t;
}

static inline struct tablet_location fake_location(const struct fake_tablet *t,
                                                   struct fake *f)
{
    return (struct tablet_location){.server = t->server + 100,
                                    .epoch = t->epoch,
                                    .address = slice_str(rpc_listener_address(
                                        f->servers[t->server].listener))};
}

static inline void
fake_write_file(struct fake *f, const char *path, struct slice contents)
{
    struct chubby_handle *h;
    struct err e = ERR_INIT;
    fake_must(chubby_open(f->chubby, path,
                          CHUBBY_READ | CHUBBY_WRITE | CHUBBY_CREATE, NULL, &h,
                          &e),
              &e);
    fake_must(chubby_write(h, contents, 0, &e), &e);
    chubby_close(h);
}

static inline void fake_make_directory(struct fake *f, const char *path)
{
    struct chubby_handle *h;
    struct err e = ERR_INIT;
    fake_must(chubby_open(f->chubby, path,
                          CHUBBY_READ | CHUBBY_CREATE | CHUBBY_DIRECTORY, NULL,
                          &h, &e),
              &e);
    chubby_close(h);
}

/* The row of @t in METADATA, or the file of the root. On the loop. */
static inline void fake_record(struct fake *f, const struct fake_tablet *t)
{
    struct tablet_bounds b = {t->id, t->table, buf_slice(&t->start),
                              buf_slice(&t->end)};
    struct tablet_location l = fake_location(t, f);
    struct buf bytes = BUF_INIT;
    struct buf key = BUF_INIT;
    struct quarry_mutation m;
    struct err e = ERR_INIT;
    if (t->table == METADATA_TABLE_ID && t->start.len == 0) {
        struct tablet_record *r = mem_zalloc(1, sizeof(*r));
        r->bounds = b;
        r->location = l;
        tablet_record_put(r, &bytes);
        fake_write_file(f, BIGTABLE_LOCK_ROOT_TAB, buf_slice(&bytes));
        mem_free(r);
    } else {
        struct quarry_table *meta = fake_open(f, METADATA_TABLE);
        metadata_key(t->table, b.end, &key);
        mutation_init(&m, buf_slice(&key));
        tablet_bounds_put(&b, &bytes);
        mutation_set(&m, SLICE_LIT("t"), SLICE_LIT("tablet"), 1,
                     buf_slice(&bytes));
        buf_clear(&bytes);
        tablet_location_put(&l, &bytes);
        mutation_set(&m, SLICE_LIT("t"), SLICE_LIT("location"), 1,
                     buf_slice(&bytes));
        fake_must(quarry_apply(meta, &m, NULL, &e), &e);
        mutation_close(&m);
        quarry_table_close(meta);
    }
    buf_close(&bytes);
    buf_close(&key);
}

static inline void fake_record_table(struct fake *f, const struct fake_table *t)
{
    struct buf bytes = BUF_INIT;
    struct buf schema = BUF_INIT;
    struct table_record r = {.id = t->id, .generation = t->generation};
    char path[128];
    schema_encode(t->schema, &schema);
    r.schema = buf_slice(&schema);
    table_record_put(&r, &bytes);
    snprintf(path, sizeof(path), BIGTABLE_LOCK_TABLES "/%s", t->name);
    fake_write_file(f, path, buf_slice(&bytes));
    buf_close(&bytes);
    buf_close(&schema);
}

/* --- tablets, on the loop ------------------------------------------------ */

static inline struct fake_tablet *fake_add(struct fake *f,
                                           uint64_t table,
                                           const char *name,
                                           struct slice start,
                                           struct slice end,
                                           unsigned server)
{
    struct fake_tablet *t = &f->tablets[f->tablet_count++];
    INVARIANT(f->tablet_count <= FAKE_TABLETS_MAX);
    *t = (struct fake_tablet){.id = f->next_id++,
                              .table = table,
                              .server = server % f->server_count,
                              .epoch = 1};
    memcpy(t->name, name, strlen(name) + 1);
    buf_append_slice(&t->start, start);
    buf_append_slice(&t->end, end);
    return t;
}

static inline bool fake_holds(const struct fake_tablet *t, struct slice row)
{
    return slice_cmp(buf_slice(&t->start), row) <= 0 &&
           (t->end.len == 0 || slice_cmp(row, buf_slice(&t->end)) < 0);
}

static inline struct fake_tablet *
fake_find(struct fake *f, const char *name, struct slice row)
{
    for (size_t i = 0; i < f->tablet_count; i++)
        if (strcmp(f->tablets[i].name, name) == 0 &&
            fake_holds(&f->tablets[i], row))
            return &f->tablets[i];
    return NULL;
}

static inline void fake_move_tablet(struct fake *f, struct fake_tablet *t)
{
    t->server = (t->server + 1) % f->server_count;
    t->epoch++;
    fake_record(f, t);
}

static inline void
fake_split_tablet(struct fake *f, struct fake_tablet *t, struct slice row)
{
    struct fake_tablet *upper;
    char name[FAKE_NAME_BYTES];
    if (slice_cmp(row, buf_slice(&t->start)) <= 0 || !fake_holds(t, row))
        return;
    snprintf(name, sizeof(name), "%s", t->name);
    upper = fake_add(f, t->table, name, row, buf_slice(&t->end), t->server + 1);
    t->id = f->next_id++;
    buf_clear(&t->end);
    buf_append_slice(&t->end, row);
    fake_record(f, t);
    fake_record(f, upper);
}

static inline int fake_not_here(struct err *e)
{
    err_set(e, ERR_NOTFOUND, "tablet not here");
    err_set_detail(e, ERR_DETAIL_ELSEWHERE, "");
    return ERR_NOTFOUND;
}

/* The tablet @id, if @s serves it. */
static inline struct fake_tablet *fake_tablet_at(struct fake_server *s,
                                                 uint64_t id)
{
    for (size_t i = 0; i < s->fake->tablet_count; i++)
        if (s->fake->tablets[i].id == id &&
            s->fake->tablets[i].server == s->index)
            return &s->fake->tablets[i];
    return NULL;
}

#endif /* TESTS_UNIT_CLIENT_FAKE_TABLETS_H */
