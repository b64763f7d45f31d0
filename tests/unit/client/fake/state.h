/* The state of a fake cluster (fake_cluster.h). */
#ifndef TESTS_UNIT_CLIENT_FAKE_STATE_H
#define TESTS_UNIT_CLIENT_FAKE_STATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/hash_map.h"
#include "base/rpc/remote.h"
#include "base/rpc/security.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "bigtable/quarry.h"
#include "bigtable/row/schema.h"
#include "chubby-lite/chubby.h"
#include "chubby-lite/server.h"
#include "tests/lib/check_main.h"

#define FAKE_SERVERS_MAX 8
#define FAKE_TABLETS_MAX 256
#define FAKE_TABLES_MAX  128
#define FAKE_NAME_BYTES  64

/* A principal whose calls are all refused. */
#define FAKE_REFUSED "mallory"

struct fake;

struct fake_tablet {
    uint64_t id;
    uint64_t table;
    char name[FAKE_NAME_BYTES];
    struct buf start;
    struct buf end;
    unsigned server; /* Index. */
    uint64_t epoch;
};

struct fake_server {
    struct fake *fake;
    unsigned index;
    struct rpc_server *rpc;
    struct rpc_listener *listener;
};

struct fake_table {
    char name[FAKE_NAME_BYTES];
    uint64_t id;
    uint64_t generation;
    struct schema *schema;
};

/* Faults to come. All are counted down; 0: none. */
struct fake_faults {
    atomic_int lose_answers; /* Of changes: done, and said to be unavailable. */
    atomic_int refuse;       /* Calls answered with ERR_UNAVAILABLE. */
    atomic_int refuse_rows;  /* Rows of them. */
    atomic_int late;         /* Reads answered after a second. */
    atomic_int move_on_read; /* After this many reads the tablet moves. */
    atomic_int split_on_read; /* After this many it is split in place. */
};

struct fake {
    struct world *world;
    struct rpc_security *security;
    struct loop *loop;
    struct quarry *store; /* Everything, METADATA too. */
    struct rpc_server *lock_rpc;
    struct rpc_listener *lock_listener;
    struct chubby_server *lock_server;
    struct chubby *chubby;
    char target[64];
    struct fake_server servers[FAKE_SERVERS_MAX];
    unsigned server_count;
    struct fake_tablet tablets[FAKE_TABLETS_MAX]; /* Of the loop. */
    size_t tablet_count;
    struct fake_table tables[FAKE_TABLES_MAX];
    size_t table_count;
    uint64_t next_id;
    uint64_t next_table;
    struct hash_map answers; /* By idempotency key: struct buf, owned. */
    struct fake_faults faults;
    atomic_ullong metadata_reads;
    atomic_ullong reads;
    atomic_ullong each_calls; /* For single rows and cells. */
    atomic_ullong changes;
    bool moved;            /* By the read before: one in a row is enough. */
    uint32_t answer_bytes; /* Of reads, at most; 0: as asked for. */
    /* Of calls for single rows and cells: */
    atomic_size_t each_bytes; /* A reply of this size is full; 0: no
                                 bound. */
    char denied;           /* Rows with this first byte are refused; 0: none. */
    atomic_ullong late_us; /* How late `late` is; 0: a second. */
    bool no_master;
};

static inline void fake_must(int rc, const struct err *e)
{
    ck_assert_msg(rc == 0, "%s", e->text);
}

static inline bool fake_take(atomic_int *n)
{
    int have = atomic_load(n);
    return have > 0 && atomic_compare_exchange_strong(n, &have, have - 1);
}

static inline void fake_be_late(struct fake *f)
{
    if (fake_take(&f->faults.late))
        world_sleep_us(f->world, f->late_us ? f->late_us : 1000000);
}

#endif /* TESTS_UNIT_CLIENT_FAKE_STATE_H */
