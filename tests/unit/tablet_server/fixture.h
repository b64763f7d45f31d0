/* Tablet servers on simulated machines, with a lock service of one server and a
 * local file system of the director in place of the shared one; the test itself
 * is their master and their client.
 */
#ifndef TESTS_UNIT_TABLET_SERVER_FIXTURE_H
#define TESTS_UNIT_TABLET_SERVER_FIXTURE_H

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/rpc/remote.h"
#include "base/rpc/security.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/sim/sim_cluster.h"
#include "bigtable/quarry.h"
#include "bigtable/row/mutation.h"
#include "bigtable/row/schema.h"
#include "bigtable/tablet_server/tablet_rows.h"
#include "bigtable/tablet_server/tablet_server.h"
#include "bigtable/wire/control_calls.h"
#include "bigtable/wire/data_calls.h"
#include "bigtable/wire/log_calls.h"
#include "chubby-lite/chubby.h"
#include "gfs-lite/fs_ops.h"
#include "tests/lib/check_main.h"
#include "tests/lib/lock_cell.h"

enum {
    NODES_MAX = 4,
    SECOND = 1000000
};

struct node {
    struct world *world;
    char name[16];
    char address[32];
    struct tablet_server *server; /* While it runs. */
    struct rpc_server *rpc;       /* Likewise. */
    uint64_t number;              /* Of its last run. */
    int failure;                  /* Why it ended; 0: it was told to. */
    struct rpc_channel *channel;  /* The director's, to it. */
};

static struct sim_cluster *cluster;
static struct world *lock_machine;
static struct world *director;
static struct rpc_security *security;
static struct fs *files; /* Shared, on the director. */
static struct node nodes[NODES_MAX];
static struct chubby *master_session;
static struct chubby_handle *master_lock;
static char master_sequencer[CHUBBY_SEQUENCER_BYTES_MAX];
static struct tablet_server_options server_options;
static const char *const lock_addresses[] = {"s1:700"};

static struct err test_err; /* Of the last call. */

static inline struct err *fresh_err(void)
{
    test_err = ERR_INIT;
    return &test_err;
}

/* @call may say why in `err`. */
#define OK(call)                                                               \
    do {                                                                       \
        struct err *err = fresh_err();                                         \
        int rc_ = (call);                                                      \
        ck_assert_msg(rc_ == 0, "%s: %d %s", #call, rc_, err->text);           \
    } while (0)

/* --- machines ------------------------------------------------------------ */

/* All that is asked of a master. */
static inline int answer_status(void *ctx, struct rpc_call *c, struct err *err)
{
    (void)ctx;
    (void)c;
    (void)err;
    return 0;
}

/* The lock service answers as a master as well. */
static const struct rpc_method status_of_master = {MASTER_STATUS, "status",
                                                   answer_status, 0};
static struct lock_cell lock_service;

/* Others than those of the directory; NULL: none. */
static const struct fs_ops *(*files_with)(const struct fs_ops *ops);

/* Each server has its own view of the shared directory, so that closing it
 * leaves the others'. */
static inline int open_files(void *ctx, struct fs **out, struct err *err)
{
    int rc = fs_local_open(director, "/fs", out, err);
    (void)ctx;
    if (rc == 0 && files_with)
        (*out)->ops = files_with((*out)->ops);
    return rc;
}

static bool leaves; /* A server that stops ends with its whole cluster. */

static inline void node_main(void *arg)
{
    struct node *n = arg;
    struct rpc_server *rpc = rpc_server_new(n->world);
    struct tablet_server_options o = server_options;
    struct rpc_listen_options listen = {.security = security};
    struct rpc_listener *listener = NULL;
    o.cell = lock_addresses;
    o.cell_count = 1;
    o.security = security;
    o.open_fs = open_files;
    o.ctx = n;
    o.lease_ms = 2000;
    o.grace_ms = 2000;
    n->rpc = rpc;
    ck_assert_int_eq(tablet_server_open(n->world, rpc, &o, &n->server, NULL),
                     0);
    if (rpc_listen(rpc, n->address, &listen, &listener, NULL) == 0) {
        tablet_server_start(n->server, n->address);
        /* As the process does: it ends when the server is not well. */
        while (fiber_check(NULL) == 0 &&
               (n->failure = tablet_server_health(n->server, NULL)) == 0)
            world_sleep_us(n->world, 50000);
        if (leaves)
            tablet_server_leave(n->server);
        else
            tablet_server_stop(n->server);
    }
    rpc_listener_close(listener);
    tablet_server_close(n->server);
    n->server = NULL;
    n->rpc = NULL;
    rpc_server_free(rpc);
}

static inline void print_line(void *ctx, const char *line)
{
    if (ctx || strstr(line, ": INFO") || strstr(line, ": WARN") ||
        strstr(line, " note"))
        fprintf(stderr, "%s\n", line);
}

static inline void start_cluster(uint64_t seed)
{
    struct sim_options o = {.network_us = 100, .sync_us = 100};
    const char *trace = getenv("QUARRY_TRACE");
    cluster = sim_cluster_new(seed);
    if (trace)
        sim_cluster_on_trace(cluster, print_line,
                             strcmp(trace, "all") == 0 ? &nodes : NULL);
    security = rpc_security_none("test", "ann");
    director = sim_director(cluster);
    lock_machine = sim_machine_new(cluster, "s1", &o);
    memset(nodes, 0, sizeof(nodes));
    leaves = false;
    files_with = NULL;
    for (int i = 0; i < NODES_MAX; i++) {
        struct node *n = &nodes[i];
        snprintf(n->name, sizeof(n->name), "t%d", i + 1);
        snprintf(n->address, sizeof(n->address), "t%d:900", i + 1);
        n->world = sim_machine_new(cluster, n->name, &o);
    }
    server_options = (struct tablet_server_options){.background_tasks = 2};
}

static inline void free_cluster(void)
{
    rpc_security_free(security);
    sim_cluster_free(cluster);
}

/* --- the test as master -------------------------------------------------- */

static inline void put_file(const char *path, struct slice contents)
{
    struct chubby_open_options o = {.contents = contents};
    struct chubby_handle *h;
    OK(chubby_open(master_session, path,
                   CHUBBY_READ | CHUBBY_WRITE | CHUBBY_CREATE, &o, &h, err));
    OK(chubby_write(h, contents, 0, err));
    chubby_close(h);
}

static inline void make_dir(const char *path)
{
    struct chubby_handle *h;
    OK(chubby_open(master_session, path,
                   CHUBBY_READ | CHUBBY_CREATE | CHUBBY_DIRECTORY, NULL, &h,
                   err));
    chubby_close(h);
}

/* Boot the lock service and become master. */
static inline void begin(void)
{
    const struct chubby_options o = {
        .servers = lock_addresses, .server_count = 1, .security = security};
    lock_service =
        (struct lock_cell){lock_machine, security, &status_of_master};
    sim_boot(lock_machine, lock_cell_main, &lock_service);
    OK(fs_local_open(director, "/fs", &files, err));
    OK(chubby_connect(director, &o, &master_session, err));
    make_dir("/bigtable");
    make_dir("/bigtable/tables");
    OK(chubby_open(master_session, BIGTABLE_LOCK_MASTER,
                   CHUBBY_READ | CHUBBY_WRITE | CHUBBY_CREATE, NULL,
                   &master_lock, err));
    OK(chubby_acquire(master_lock, CHUBBY_EXCLUSIVE, err));
    OK(chubby_sequencer(master_lock, master_sequencer, err));
}

static inline void end(void)
{
    for (int i = 0; i < NODES_MAX; i++) {
        if (sim_is_up(nodes[i].world))
            sim_stop(nodes[i].world);
        rpc_channel_free(nodes[i].channel);
    }
    chubby_close(master_lock);
    chubby_disconnect(master_session);
    sim_stop(lock_machine);
    fs_close(files);
}

static inline void boot(struct node *n)
{
    struct rpc_channel_options o = {.security = security};
    sim_boot(n->world, node_main, n);
    if (!n->channel)
        n->channel = rpc_channel_new(n->address, &o);
    for (;;) {
        struct tablet_server_stats stats = {.number = 0};
        if (n->server)
            tablet_server_get_stats(n->server, &stats);
        if (stats.is_ready) {
            n->number = stats.number;
            return;
        }
        world_sleep_us(director, 10000);
    }
}

static inline int call(struct node *n,
                       uint32_t method,
                       const struct buf *body,
                       struct slice attachment,
                       struct buf *reply,
                       struct buf *rows,
                       struct err *err)
{
    struct rpc_call_options o = {.timeout_us = 20 * SECOND};
    return rpc_call(n->channel, method, &o, buf_slice(body), attachment, reply,
                    rows, err);
}

/* Of orders: who has logs sorted (wire/log_calls.h). */
static struct slice order_holders;

static inline int order(struct node *n,
                        uint32_t method,
                        uint64_t tablet,
                        uint64_t epoch,
                        struct slice key,
                        struct slice row,
                        struct err *err)
{
    struct tablet_order o = {.sequencer = slice_str(master_sequencer),
                             .server = n->number,
                             .tablet = tablet,
                             .epoch = epoch,
                             .key = key,
                             .row = row,
                             .holders = order_holders};
    struct buf body = BUF_INIT;
    int rc;
    tablet_order_put(&o, &body);
    rc = call(n, method, &body, SLICE_EMPTY, NULL, NULL, err);
    buf_close(&body);
    return rc;
}

/* --- the test as client -------------------------------------------------- */

struct change_list {
    struct buf bytes;
    uint32_t count;
};

#define ROOT_TABLET UINT64_C(3)

/* Rows of the root tablet begin as those of METADATA do. */
static inline struct slice row_name(uint64_t tablet, const char *row)
{
    static struct buf name;
    if (tablet != ROOT_TABLET)
        return slice_str(row);
    buf_clear(&name);
    metadata_key(METADATA_TABLE_ID, slice_str(row), &name);
    return buf_slice(&name);
}

static inline void
put_cell(struct change_list *l, uint64_t tablet, const char *row, const char *v)
{
    struct quarry_mutation m;
    struct row_change c = {.tablet = tablet, .row = row_name(tablet, row)};
    mutation_init(&m, c.row);
    mutation_set(&m, SLICE_LIT("t"), SLICE_LIT("v"), 1, slice_str(v));
    c.ops = buf_slice(&m.ops);
    c.count = (uint32_t)m.count;
    row_change_put(&c, &l->bytes);
    l->count++;
    mutation_close(&m);
}

/* The code of the first change, or that of the call. Closes @l. */
static inline int apply(struct node *n, struct change_list *l, struct err *err)
{
    struct apply_request r = {.durability = 0, .count = l->count};
    struct apply_reply answer;
    struct buf body = BUF_INIT;
    struct buf reply = BUF_INIT;
    struct arena a;
    int rc;
    arena_init(&a);
    apply_request_put(&r, &body);
    rc = call(n, TABLET_APPLY, &body, buf_slice(&l->bytes), &reply, NULL, err);
    if (rc == 0)
        rc = apply_reply_get(buf_slice(&reply), &a, &answer, err);
    for (uint32_t i = 0; rc == 0 && i < answer.count; i++)
        if (answer.codes[i])
            rc = err_copy(err, &answer.first);
    buf_close(&body);
    buf_close(&reply);
    buf_close(&l->bytes);
    arena_close(&a);
    return rc;
}

static inline int put(struct node *n,
                      uint64_t tablet,
                      const char *row,
                      const char *value,
                      struct err *err)
{
    struct change_list l = {BUF_INIT, 0};
    put_cell(&l, tablet, row, value);
    return apply(n, &l, err);
}

static inline void
print_row(struct buf *out, uint64_t tablet, const struct quarry_row *row)
{
    size_t skip = tablet == ROOT_TABLET ? 9 : 0;
    buf_printf(out, "%.*s=%.*s ",
               SLICE_ARG(slice_sub(row->key, skip, row->key.len)),
               SLICE_ARG(row->cells[0].value));
}

/* All rows of the tablet as "row=value " … to @out. */
static inline int
read_all(struct node *n, uint64_t tablet, struct buf *out, struct err *err)
{
    const struct quarry_read_options o = {.versions = 1};
    struct buf options = BUF_INIT;
    struct buf from = BUF_INIT;
    bool done = false;
    int rc = 0;
    read_options_put(&o, &options);
    while (rc == 0 && !done) {
        struct read_request r = {.tablet = tablet,
                                 .options = buf_slice(&options),
                                 .from = buf_slice(&from),
                                 .bytes_max = 200};
        struct read_reply answer;
        struct row_decoder reader;
        const struct quarry_row *row;
        struct buf body = BUF_INIT;
        struct buf reply = BUF_INIT;
        struct buf rows = BUF_INIT;
        read_request_put(&r, &body);
        rc = call(n, TABLET_READ, &body, SLICE_EMPTY, &reply, &rows, err);
        if (rc == 0)
            rc = read_reply_get(buf_slice(&reply), &answer, err);
        if (rc == 0) {
            done = answer.done;
            buf_clear(&from);
            buf_append_slice(&from, answer.next);
            row_decoder_init(&reader, buf_slice(&rows));
            while (row_decoder_next(&reader, &row, err) == 0 && row)
                print_row(out, tablet, row);
            row_decoder_close(&reader);
        }
        buf_close(&body);
        buf_close(&reply);
        buf_close(&rows);
    }
    buf_close(&options);
    buf_close(&from);
    return rc;
}

static inline void
expect_rows(struct node *n, uint64_t tablet, const char *want)
{
    struct buf got = BUF_INIT;
    OK(read_all(n, tablet, &got, err));
    ck_assert_str_eq(buf_cstr(&got), want);
    buf_close(&got);
}

/* --- the root tablet ----------------------------------------------------- */

/* The file of the root tablet: nobody has it, or @n with @epoch. */
static inline void write_root(struct node *n, uint64_t epoch)
{
    struct tablet_record *r = mem_zalloc(1, sizeof(*r));
    struct buf end_row = BUF_INIT;
    struct buf bytes = BUF_INIT;
    metadata_root_end(&end_row);
    r->bounds = (struct tablet_bounds){ROOT_TABLET, METADATA_TABLE_ID,
                                       SLICE_EMPTY, buf_slice(&end_row)};
    if (n) {
        r->location =
            (struct tablet_location){n->number, epoch, slice_str(n->address)};
    }
    tablet_record_put(r, &bytes);
    put_file(BIGTABLE_LOCK_ROOT_TAB, buf_slice(&bytes));
    buf_close(&bytes);
    buf_close(&end_row);
    mem_free(r);
}

static inline void read_root(struct tablet_record *out, struct buf *bytes)
{
    struct chubby_handle *h;
    buf_clear(bytes);
    OK(chubby_open(master_session, BIGTABLE_LOCK_ROOT_TAB, CHUBBY_READ, NULL,
                   &h, err));
    OK(chubby_read(h, bytes, NULL, err));
    chubby_close(h);
    OK(tablet_record_get(buf_slice(bytes), out, err));
}

/* Assign the root tablet to @n, as the master does when nobody has it. */
static inline void move_root(struct node *n, uint64_t epoch)
{
    struct tablet_record *r = mem_alloc(sizeof(*r));
    struct buf bytes = BUF_INIT;
    struct buf next = BUF_INIT;
    read_root(r, &bytes);
    r->location =
        (struct tablet_location){n->number, epoch, slice_str(n->address)};
    tablet_record_put(r, &next);
    put_file(BIGTABLE_LOCK_ROOT_TAB, buf_slice(&next));
    buf_close(&bytes);
    buf_close(&next);
    mem_free(r);
}

/* --- a METADATA in memory, of all servers -------------------------------- */

enum {
    FAKE_ROWS_MAX = 64
};

struct fake_row {
    struct buf key;
    struct tablet_row row;
};

static struct fake_row fake_rows[FAKE_ROWS_MAX];
static size_t fake_row_count;
static unsigned fake_lost_in; /* One answer of this number is lost; 0: none. */
static uint64_t fake_calls;
static bool fake_away;         /* Nobody serves it. */
static unsigned fake_refusals; /* Changes still to fail, without being made. */
/* Called with each row that was changed, before the answer leaves; true: it is
 * lost. */
static bool (*fake_changed)(struct fake_row *row);

static inline void set_buf(struct buf *b, struct slice s)
{
    buf_clear(b);
    buf_append_slice(b, s);
}

static inline struct fake_row *fake_find(struct slice key)
{
    for (size_t i = 0; i < fake_row_count; i++)
        if (slice_eq(buf_slice(&fake_rows[i].key), key))
            return &fake_rows[i];
    return NULL;
}

/* The way there, and whether the answer comes back. */
static inline int fake_way(struct err *err)
{
    world_sleep_us(director, 500);
    if (fake_away)
        return err_set(err, ERR_UNAVAILABLE, "METADATA is not served");
    if (fake_lost_in && ++fake_calls % fake_lost_in == 0)
        return err_set(err, ERR_UNAVAILABLE, "the answer was lost");
    return 0;
}

static inline int fake_read(struct tablet_rows *r,
                            struct slice key,
                            struct tablet_row *out,
                            struct err *err)
{
    struct fake_row *f = fake_find(key);
    (void)r;
    if (!f)
        return err_set(err, ERR_NOTFOUND, "no such row");
    set_buf(&out->bounds, buf_slice(&f->row.bounds));
    set_buf(&out->location, buf_slice(&f->row.location));
    set_buf(&out->state, buf_slice(&f->row.state));
    set_buf(&out->split, buf_slice(&f->row.split));
    out->version = f->row.version;
    return fake_way(err);
}

static inline void fake_apply(struct fake_row *f,
                              const struct tablet_row_change *c)
{
    if (c->bounds.len)
        set_buf(&f->row.bounds, c->bounds);
    if (c->location.len)
        set_buf(&f->row.location, c->location);
    if (c->split.len || c->drop_split)
        set_buf(&f->row.split, c->split);
    if (!c->state.len)
        return;
    set_buf(&f->row.state, c->state);
    f->row.version++;
}

static inline int fake_change(struct tablet_rows *r,
                              const struct tablet_row_change *c,
                              bool *done,
                              uint64_t *version,
                              struct err *err)
{
    struct fake_row *f = fake_away ? NULL : fake_find(c->key);
    (void)r;
    if (fake_refusals > 0) {
        fake_refusals--;
        *done = false;
        return err_set(err, ERR_ABORTED, "refused");
    }
    *done = f && slice_eq(buf_slice(&f->row.location), c->if_location) &&
            (c->if_version == 0 || c->if_version == f->row.version);
    if (*done)
        fake_apply(f, c);
    *version = f ? f->row.version : 0;
    if (*done && fake_changed && fake_changed(f))
        return err_set(err, ERR_UNAVAILABLE, "the answer was lost");
    return fake_way(err);
}

static inline int fake_create(struct tablet_rows *r,
                              const struct tablet_row_change *c,
                              bool *done,
                              struct err *err)
{
    (void)r;
    *done = !fake_away && fake_find(c->key) == NULL;
    if (*done) {
        struct fake_row *f = &fake_rows[fake_row_count++];
        ck_assert_uint_le(fake_row_count, FAKE_ROWS_MAX);
        set_buf(&f->key, c->key);
        fake_apply(f, c);
    }
    return fake_way(err);
}

static inline void fake_free(struct tablet_rows *r)
{
    (void)r;
}

static inline struct tablet_rows *fake_metadata(void)
{
    static const struct tablet_rows_ops ops = {fake_read, fake_change,
                                               fake_create, fake_free};
    static struct tablet_rows rows = {&ops};
    return &rows;
}

static inline void forget_rows(void)
{
    for (size_t i = 0; i < fake_row_count; i++) {
        buf_close(&fake_rows[i].key);
        tablet_row_close(&fake_rows[i].row);
        fake_rows[i] = (struct fake_row){.key = BUF_INIT};
    }
    fake_row_count = 0;
    fake_lost_in = 0;
    fake_changed = NULL;
}

/* --- a user's table ------------------------------------------------------ */

enum {
    USER_TABLE = 7
};

/* Write the table's record, with the family t and, in a group of its own, u. */
static inline void make_table(void)
{
    struct schema *schema = schema_new();
    struct table_record r = {.id = USER_TABLE, .generation = 1};
    struct buf encoded = BUF_INIT;
    struct buf bytes = BUF_INIT;
    OK(schema_add_group(schema, "other", "", err));
    OK(schema_add_family(schema, "t", "", err));
    OK(schema_add_family(schema, "u", "group=other", err));
    schema_encode(schema, &encoded);
    r.schema = buf_slice(&encoded);
    table_record_put(&r, &bytes);
    put_file(BIGTABLE_LOCK_TABLES "/users", buf_slice(&bytes));
    buf_close(&encoded);
    buf_close(&bytes);
    schema_free(schema);
}

/* A new tablet @id of the rows [start, end), given to @n. */
static inline void make_tablet(uint64_t id,
                               const char *start,
                               const char *end_row,
                               struct node *n,
                               uint64_t epoch)
{
    struct tablet_bounds b = {id, USER_TABLE, slice_str(start),
                              slice_str(end_row)};
    struct tablet_location l = {n->number, epoch, slice_str(n->address)};
    struct tablet_state *state = mem_zalloc(1, sizeof(*state));
    struct tablet_row_change c = {.event = NULL};
    struct buf key = BUF_INIT, bounds = BUF_INIT, location = BUF_INIT,
               bytes = BUF_INIT;
    bool done;
    metadata_key(USER_TABLE, b.end, &key);
    tablet_bounds_put(&b, &bounds);
    tablet_location_put(&l, &location);
    tablet_state_put(state, &bytes);
    c.key = buf_slice(&key);
    c.bounds = buf_slice(&bounds);
    c.location = buf_slice(&location);
    c.state = buf_slice(&bytes);
    ck_assert_int_eq(tablet_rows_create(fake_metadata(), &c, &done, NULL), 0);
    ck_assert(done);
    buf_close(&key);
    buf_close(&bounds);
    buf_close(&location);
    buf_close(&bytes);
    mem_free(state);
}

/* The row of the tablet that ends before @end_row. Borrowed. */
static inline struct fake_row *tablet_row_of(const char *end_row)
{
    struct buf key = BUF_INIT;
    struct fake_row *f;
    metadata_key(USER_TABLE, slice_str(end_row), &key);
    f = fake_find(buf_slice(&key));
    buf_close(&key);
    ck_assert_ptr_nonnull(f);
    return f;
}

/* The bounds in the record of that tablet. */
static inline struct tablet_bounds bounds_of(const char *end_row)
{
    struct tablet_bounds b;
    ck_assert_int_eq(
        tablet_bounds_get(buf_slice(&tablet_row_of(end_row)->row.bounds), &b,
                          NULL),
        0);
    return b;
}

static inline struct tablet_location location_of(const char *end_row)
{
    struct tablet_location l;
    ck_assert_int_eq(
        tablet_location_get(buf_slice(&tablet_row_of(end_row)->row.location),
                            &l, NULL),
        0);
    return l;
}

/* Give the tablet to @n: as the master does when nobody has it. */
static inline void assign(const char *end_row, struct node *n, uint64_t epoch)
{
    struct tablet_location l = {n->number, epoch, slice_str(n->address)};
    struct buf bytes = BUF_INIT;
    tablet_location_put(&l, &bytes);
    set_buf(&tablet_row_of(end_row)->row.location, buf_slice(&bytes));
    buf_close(&bytes);
}

static inline int
order_of(struct node *n, uint32_t method, const char *end_row, struct err *err)
{
    struct fake_row *f = tablet_row_of(end_row);
    struct buf key = BUF_INIT;
    int rc;
    set_buf(&key, buf_slice(&f->key));
    rc = order(n, method, bounds_of(end_row).id, location_of(end_row).epoch,
               buf_slice(&key), SLICE_EMPTY, err);
    buf_close(&key);
    return rc;
}

/* Have @n sort a segment, and note in @holders (NULL: nowhere) if it has it in
 * memory. */
static inline void
sort_segment(struct node *n, const struct log_order *o, struct buf *holders)
{
    const struct log_holder h = {o->log, n->number, o->segment,
                                 slice_str(n->address)};
    struct buf body = BUF_INIT;
    struct buf reply = BUF_INIT;
    struct log_sorted sorted;
    log_order_put(o, &body);
    OK(call(n, TABLET_LOG_SORT, &body, SLICE_EMPTY, &reply, NULL, err));
    OK(log_sorted_get(buf_slice(&reply), &sorted, err));
    if (holders && sorted.held)
        log_holder_put(&h, holders);
    buf_close(&reply);
    buf_close(&body);
}

/* Sort every segment of a dead server's log, at @n. */
static inline void
sort_log_at(struct node *n, uint64_t log, struct buf *holders)
{
    char dir[64];
    char **names;
    size_t count;
    snprintf(dir, sizeof(dir), "log/%08llu", (unsigned long long)log);
    OK(fs_list(files, dir, &names, &count, err));
    for (size_t i = 0; i < count; i++) {
        struct log_order o = {.sequencer = slice_str(master_sequencer),
                              .server = n->number,
                              .log = log,
                              .segment = slice_str(names[i])};
        if (strstr(names[i], ".log"))
            sort_segment(n, &o, holders);
    }
    fs_names_free(names, count);
}

static inline void sort_log(struct node *n, uint64_t log)
{
    sort_log_at(n, log, NULL);
}

#endif /* TESTS_UNIT_TABLET_SERVER_FIXTURE_H */
