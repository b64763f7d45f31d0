/* What the master knows: servers, tablets, and who serves what.
 *
 * Nothing here is true for certain: servers die and tablets split at any
 * moment, and what is written down is METADATA. The master acts on this view
 * and each act is conditional on what is written down, so that an error of the
 * view costs a try.
 *
 * Threads: one loop; nothing parks.
 *
 * Invariants
 *     I1. Tablets are in the order of their keys, which are different.
 *     I2. A tablet that is `busy` stays: the fiber that made it so may keep a
 *         pointer to it over parking calls. A server stays for ever.
 */
#ifndef BIGTABLE_MASTER_CLUSTER_VIEW_H
#define BIGTABLE_MASTER_CLUSTER_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/hash_map.h"
#include "base/core/slice.h"
#include "base/runtime/sync.h"
#include "bigtable/master/assignment.h"
#include "bigtable/master/metadata_store.h"
#include "bigtable/master/weight.h"
#include "bigtable/wire/control_calls.h"

struct rpc_channel;

enum tablet_stage {
    STAGE_UNASSIGNED, /* Nobody's, or a dead server's. */
    STAGE_ORDERED,    /* t:location names a live server, which may not have
                         loaded it yet. */
    STAGE_SERVED,     /* That server said that it serves it. */
};

struct known_tablet {
    uint64_t id;
    uint64_t table;
    struct buf key; /* Its row; the root tablet's too, which has none. */
    struct buf start;
    struct buf end;
    enum tablet_stage stage;
    uint64_t server; /* Unless it is unassigned. */
    uint64_t epoch;
    struct buf location; /* Bytes of t:location when it was read. */
    uint64_t *logs;      /* Of t:state then. */
    size_t log_count;
    bool is_fresh; /* No server can have changed the row since it was read. */
    bool has_split;
    bool busy;
    struct tablet_use use;
    uint64_t requests;    /* Reported last, */
    uint64_t requests_ns; /* and when. */
    uint64_t known_ns;    /* Since when it is as it is: for merges. */
    uint64_t closed_ns;   /* Since when its last server took no writes. */
    uint64_t served_ns;   /* Since when it is served, or ordered. */
    uint64_t moved_ns;    /* By balancing, last. */
    uint64_t retry_ns;    /* No order before. */
    unsigned failures;    /* Orders in a row. */
    uint64_t avoid;       /* The server that failed last. */
    uint64_t only;        /* The server whose log has its entries. */
    uint64_t waits_for;   /* A log that must be sorted first; 0: none. */
    uint64_t reading;     /* Number of the reading that met it last. */
};

struct known_server {
    uint64_t number;
    char *name; /* Of its file in the lock service. */
    char *address;
    bool alive;
    struct rpc_channel *channel;
    uint64_t heard_ns;         /* Answered last; 0: never. */
    bool suspect;              /* Its lock is to be looked after. */
    struct cond wake;          /* Of the fiber that watches it. */
    struct tablet_load *loads; /* What it said of its tablets, by id, */
    uint64_t asked_ns;         /* asked then. */
    size_t load_count;
    uint64_t memory_bytes;
    uint64_t memory_max;
    uint64_t files_decided; /* See struct server_status; 0: it said nothing. */
    uint32_t orders;        /* To load, under way. */
    uint32_t sorts;         /* Of logs, under way. */
    /* Summed up by cluster_view_sum(). */
    double load;
    uint64_t tablets;
    struct tablet_use use;
};

struct cluster_view {
    struct known_tablet **tablets;
    size_t tablet_count;
    size_t tablet_cap;
    struct hash_map by_id; /* struct known_tablet * */
    struct known_server **servers;
    size_t server_count;
    uint64_t reading; /* Of METADATA, counted. */
};

void cluster_view_init(struct cluster_view *p);
/* PRE: servers' channels are freed. */
void cluster_view_close(struct cluster_view *p);

/* --- servers ------------------------------------------------------------- */

/* NULL when there is none. */
struct known_server *cluster_view_server(const struct cluster_view *p,
                                         uint64_t number);
bool cluster_view_is_alive(const struct cluster_view *p, uint64_t number);
struct known_server *cluster_view_add_server(struct cluster_view *p,
                                             const struct server_record *r,
                                             char *name);
/* @s died: what it had is unassigned. */
void cluster_view_server_died(struct cluster_view *p, struct known_server *s);
/* @s said all this, asked at @asked_ns. Takes over @loads, sorted by id. */
void cluster_view_note_loads(struct cluster_view *p,
                             struct known_server *s,
                             struct tablet_load *loads,
                             size_t count,
                             uint64_t asked_ns,
                             uint64_t now_ns);

/* Tablets that their servers ought to serve and do not, as they said last, have
 * to be ordered again; those of dead servers are unassigned. */
void cluster_view_check(struct cluster_view *p);

/* --- tablets ------------------------------------------------------------- */

struct known_tablet *cluster_view_tablet(const struct cluster_view *p,
                                         uint64_t id);
/* The tablet of @table that holds @row, as far as known; NULL: none. */
struct known_tablet *cluster_view_find(const struct cluster_view *p,
                                       uint64_t table,
                                       struct slice row);
/* Index of the first tablet whose key is not below @key. */
size_t cluster_view_at(const struct cluster_view *p, struct slice key);

/* A row was read; @root: it is the root tablet's record. What is busy stays as
 * it is, but for being met. Errors: ERR_CORRUPT; the view is unchanged. */
MUST_CHECK int cluster_view_note_row(struct cluster_view *p,
                                     const struct metadata_row *row,
                                     uint64_t now_ns,
                                     struct err *err);
/* The same for the row of @t, which the caller has made busy. Errors:
 * ERR_CORRUPT; ERR_NOTFOUND: another tablet has the row. */
MUST_CHECK int cluster_view_refresh(struct cluster_view *p,
                                    struct known_tablet *t,
                                    const struct metadata_row *row,
                                    uint64_t now_ns,
                                    struct err *err);
/* All rows in [@start, @end) were read: tablets in it that the reading did not
 * meet are no more. */
void cluster_view_forget_unmet(struct cluster_view *p,
                               struct slice start,
                               struct slice end,
                               uint64_t reading);
void cluster_view_remove(struct cluster_view *p, struct known_tablet *t);

enum tablet_level cluster_view_level(const struct known_tablet *t);
/* Tablets above this level have to wait. */
enum tablet_level cluster_view_open_level(const struct cluster_view *p);

/* Add up what servers have, and weigh it. */
struct weight_scale cluster_view_sum(struct cluster_view *p);
uint64_t cluster_view_count(const struct cluster_view *p,
                            enum tablet_stage stage);

#endif /* BIGTABLE_MASTER_CLUSTER_VIEW_H */
