/* The master's view of the cluster: servers, tablets, and which server has
 * which tablet.
 *
 * Nothing in it is certain: servers die and tablets split at any moment, and
 * METADATA alone counts. The master acts on this view, and each act is
 * conditional on METADATA, so that an error of the view costs one try.
 *
 * Threads: one loop; nothing parks.
 *
 * Invariants, kept by cluster_view.c
 *     INV-1. Tablets are in the order of their keys, which are different.
 *     INV-2. A tablet that is `busy` stays: the fiber that made it busy may
 *            keep a pointer to it over parking calls. A server stays for ever.
 *     INV-3. A tablet is in one place: a stage other than STAGE_UNASSIGNED has
 *            exactly one server, in `server`.
 *     INV-4. A tablet becomes served only after it was ordered, or because its
 *            record and its server say so.
 *     INV-5. The epoch of a tablet never decreases.
 *     INV-6. Only the row of an unassigned tablet is fresh.
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
    STAGE_UNASSIGNED, /* It has no server, or a dead one. */
    STAGE_ORDERED,    /* t:location names a live server, which may not have
                         loaded it yet. */
    STAGE_SERVED,     /* That server reported that it serves it. */
};

struct known_tablet {
    uint64_t id;
    uint64_t table;
    struct buf key; /* Of its row; the root tablet has one too, but no row. */
    struct buf start;
    struct buf end;
    enum tablet_stage stage;
    uint64_t server; /* Unless it is unassigned. */
    uint64_t epoch;
    struct buf location; /* Bytes of t:location when it was read. */
    uint64_t *logs;      /* Of t:state then. */
    size_t log_count;
    bool is_fresh; /* No server can have changed the row since it was read:
                    * INV-6. */
    bool has_split;
    bool busy;
    struct tablet_use use;
    uint64_t requests;    /* As reported last, */
    uint64_t requests_ns; /* and when. */
    uint64_t known_ns;    /* When its bounds last changed: for merges. */
    uint64_t closed_ns;   /* When its last server stopped taking writes. */
    uint64_t served_ns;   /* When it was served, or ordered. */
    uint64_t moved_ns;    /* When balancing moved it last. */
    uint64_t retry_ns;    /* No order is given before this time. */
    unsigned failures;    /* Consecutive orders that failed. */
    uint64_t avoid;       /* Number of the server that failed last. */
    uint64_t only;        /* Number of the server whose log has its entries. */
    uint64_t waits_for;   /* A log that must be sorted first; 0: none. */
    uint64_t reading;     /* Number of the last reading that found it. */
};

struct known_server {
    uint64_t number;
    char *name; /* Of its file in the lock service. */
    char *address;
    bool alive;
    struct rpc_channel *channel;
    uint64_t heard_ns;         /* When it last answered; 0: never. */
    bool suspect;              /* Its lock must be probed. */
    struct cond wake;          /* Of the fiber that watches it. */
    struct tablet_load *loads; /* Its last report, by id, */
    uint64_t asked_ns;         /* asked for at this time. */
    size_t load_count;
    uint64_t memory_bytes;
    uint64_t memory_max;
    uint64_t files_decided; /* See struct server_status; 0: unknown. */
    uint32_t orders;        /* To load, in progress. */
    uint32_t sorts;         /* Of logs, in progress. */
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
    uint64_t reading; /* Number of readings of METADATA. */
};

/* An empty view. */
void cluster_view_init(struct cluster_view *p);
/* PRE: the servers' channels are freed, and no tablet is busy. */
void cluster_view_close(struct cluster_view *p);

/* --- servers ------------------------------------------------------------- */

/* The server with this number; NULL: there is none. */
struct known_server *cluster_view_server(const struct cluster_view *p,
                                         uint64_t number);
/* Is the server known, and not dead? */
bool cluster_view_is_alive(const struct cluster_view *p, uint64_t number);
/* Add the server of @r, which is alive; its channel is the caller's to make.
 * @name moves in. PRE: its number is new. */
struct known_server *cluster_view_add_server(struct cluster_view *p,
                                             const struct server_record *r,
                                             char *name);
/* Declare @s dead: its tablets are unassigned. */
void cluster_view_server_died(struct cluster_view *p, struct known_server *s);
/* Take the report of @s, asked for at @asked_ns. @loads move in; PRE: sorted by
 * id. */
void cluster_view_note_loads(struct cluster_view *p,
                             struct known_server *s,
                             struct tablet_load *loads,
                             size_t count,
                             uint64_t asked_ns,
                             uint64_t now_ns);

/* Compare tablets with the reports of their servers: those that a server does
 * not have are ordered again; those of dead servers are unassigned. */
void cluster_view_check(struct cluster_view *p);

/* --- tablets ------------------------------------------------------------- */

/* The tablet with this id; NULL: there is none. */
struct known_tablet *cluster_view_tablet(const struct cluster_view *p,
                                         uint64_t id);
/* The tablet of @table that holds @row; NULL: none is known. */
struct known_tablet *cluster_view_find(const struct cluster_view *p,
                                       uint64_t table,
                                       struct slice row);
/* Index of the first tablet whose key is not below @key. */
size_t cluster_view_at(const struct cluster_view *p, struct slice key);

/* Take a row that was read. A busy tablet stays as it is, and counts as found.
 * Errors: ERR_CORRUPT; the view is unchanged. */
MUST_CHECK int cluster_view_note_row(struct cluster_view *p,
                                     const struct metadata_row *row,
                                     uint64_t now_ns,
                                     struct err *err);
/* Take the row of @t, which the caller has made busy. Errors: ERR_CORRUPT;
 * ERR_NOTFOUND: another tablet has the row. */
MUST_CHECK int cluster_view_refresh(struct cluster_view *p,
                                    struct known_tablet *t,
                                    const struct metadata_row *row,
                                    uint64_t now_ns,
                                    struct err *err);
/* All rows in [@start, @end) were read by @reading: remove the tablets in it
 * that it did not find, unless they are busy. */
void cluster_view_forget_unmet(struct cluster_view *p,
                               struct slice start,
                               struct slice end,
                               uint64_t reading);
/* Forget @t, and free it. PRE: it is not busy. */
void cluster_view_remove(struct cluster_view *p, struct known_tablet *t);
/* Make @t busy for the calling fiber: INV-2. PRE: it is not. */
void known_tablet_hold(struct known_tablet *t);
/* It is busy no more, and may be freed by others. PRE: it was held. */
void known_tablet_release(struct known_tablet *t);
/* Change the stage of @t by what the master did, or learned of an order.
 * PRE: INV-3, INV-4. */
void known_tablet_move(struct known_tablet *t, enum tablet_stage to);
/* Where @t is now, as recorded: INV-5. */
void known_tablet_locate(struct known_tablet *t,
                         const struct tablet_location *l);

/* Root, METADATA's, or a user's. */
enum tablet_level cluster_view_level(const struct known_tablet *t);
/* The level up to which tablets may be placed: all tablets of the levels below
 * it are served. */
enum tablet_level cluster_view_open_level(const struct cluster_view *p);

/* Add up the use and the load of each server. Returns the scale of weights. */
struct weight_scale cluster_view_sum(struct cluster_view *p);
/* Tablets in @stage. */
uint64_t cluster_view_count(const struct cluster_view *p,
                            enum tablet_stage stage);

#endif /* BIGTABLE_MASTER_CLUSTER_VIEW_H */
