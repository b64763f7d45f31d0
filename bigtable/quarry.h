/* The C library of Quarry: tables of rows, columns and timed cells.
 *
 * A program that writes a row and prints a table's rows:
 *
 *     #include <quarry.h>
 *     #include <stdio.h>
 *
 *     int main(void)
 *     {
 *         struct err err = ERR_INIT;
 *         struct quarry *q = NULL;
 *         struct quarry_table *t = NULL;
 *         struct quarry_scanner *rows = NULL;
 *         const struct quarry_row *row = NULL;
 *         struct quarry_mutation *m;
 *
 *         if (quarry_open("file:./quarry-data", NULL, &q, &err) ||
 *             quarry_table_open(q, "webtable", &t, &err))
 *             goto out;
 *
 *         m = quarry_mutation_new(SLICE_LIT("com.cnn.www"));
 *         quarry_mutation_set(m, "anchor", SLICE_LIT("com.c-span.www"),
 *                             QUARRY_NOW, SLICE_LIT("CNN"));
 *         err.code = quarry_apply(t, m, NULL, &err);
 *         quarry_mutation_free(m);
 *         if (err.code || quarry_scan(t, NULL, &rows, &err))
 *             goto out;
 *         while (quarry_scanner_next(rows, &row, &err) == 0 && row)
 *             printf("%.*s: %zu cells\n", SLICE_ARG(row->key),
 *                    row->cell_count);
 *         quarry_scanner_close(rows);
 *     out:
 *         if (err.code)
 *             fprintf(stderr, "%s\n", err.text);
 *         if (t)
 *             quarry_table_close(t);
 *         quarry_close(q);
 *         return err.code != 0;
 *     }
 *
 * It is built with `cc example.c $(pkg-config --cflags --libs quarry)`. In C++
 * (11 or later) it is the same.
 *
 * The shape is that of the Bigtable paper's section 3; where the paper is
 * silent, Cloud Bigtable's semantics hold. Timestamps are µs since 1970.
 *
 * Targets: "file:DIR" opens the embedded engine on a directory, which one
 * process writes at a time (ERR_BUSY otherwise), and any number read.
 * "host:port,host:port,…" is a cluster, by servers of it that have the lock
 * service; any of them do. Calls mean the same on both; what differs is said at
 * each.
 *
 * Threads: everything may be called from any thread; a scanner, a mutation or a
 * filter is used by one thread at a time. Calls that reach the store park a
 * fiber or block a thread.
 *
 * Ownership: what a function hands out by `**out` or returns as a new object is
 * the caller's. Rows and cells are borrowed as each function says.
 *
 * Errors: every call that reaches the store may end with these, beside what is
 * said at it.
 *   ERR_IO           the disk failed
 *   ERR_CORRUPT      a file is damaged, cut short or missing: names it
 *   ERR_UNSUPPORTED  written by a newer version, or not what this target does
 *   ERR_NOMEM        the machine has no memory
 *   ERR_UNAVAILABLE, ERR_DEADLINE   on a cluster: nobody answered in time
 *   ERR_DENIED       it was opened to read, or a list says no
 *   ERR_CANCELLED    the fiber was
 * After an error nothing has changed, now or after the next open, with these
 * exceptions. After ERR_UNKNOWN_OUTCOME, a failure while the change was on its
 * way to the disk, it is not visible now and may be there later: on a directory
 * after the next open, on a cluster after a server's recovery. To find out,
 * look then; a change of rows that must not be made twice is made conditional.
 * On a cluster it may also be there after ERR_UNAVAILABLE, ERR_DEADLINE and
 * ERR_CANCELLED.
 */
#ifndef BIGTABLE_QUARRY_H
#define BIGTABLE_QUARRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h" /* struct buf, for quarry_get */
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "bigtable/row/alteration.h" /* struct quarry_alter */
#include "bigtable/row/cells.h"      /* struct quarry_row, quarry_cell */
#include "bigtable/row/change.h"     /* struct quarry_change */
#include "bigtable/row/explain_counts.h"
#include "bigtable/row/row_request.h" /* struct quarry_read_options */

#ifdef __cplusplus
extern "C" {
#endif

struct master_keys;
struct quarry;
struct quarry_changes;
struct quarry_mutation;
struct quarry_scanner;
struct quarry_table;
struct rpc_security;
struct world;

/* "The server's clock": one time for a whole mutation, which is never before
 * one that the tablet gave earlier, whatever clocks do. A cell that somebody
 * has put at a later time of his own choice stays the newest of its column
 * until then.
 */
#define QUARRY_NOW INT64_MIN

/* --- the store ----------------------------------------------------------- */

struct quarry_options {
    uint64_t cache_bytes;    /* Block and scan cache; 0: 256 MiB. */
    uint64_t memtable_bytes; /* All memtables together; 0: 256 MiB. */
    bool read_only;          /* Open beside other readers and the process that
                                writes: sees all that was acknowledged when it
                                opened, unless deferred, and nothing later.
                                Writes nothing, nor needs to be able to. */
    bool pinned;             /* The same, and of the state that the writer has
                                kept by quarry_pin(), which it holds meanwhile.
                              */
    bool must_exist;         /* ERR_NOTFOUND instead of making the directory. */
    struct world *world;     /* Borrowed; NULL: the real one, owned. */
    unsigned background_tasks; /* Flushes and compactions; 0: one per CPU. */
    uint64_t split_bytes;      /* Tablets above it are split; 0: 1 GiB. */
    bool repair;               /* Accept a damaged commit log, or a damaged
                                  last change of the manifest: what was logged
                                  behind the damage is given up. */
    uint64_t scan_cache_bytes; /* Of cache_bytes, for rows and cells that are
                                  read again and again; 0: an eighth, at most
                                  64 MiB. */
    bool scan_cache_off;       /* None of it. */
    unsigned async_tasks; /* Threads of asynchronous calls, at most, started
                             as they are needed; 0: 16. */
    unsigned async_calls; /* Asynchronous calls in flight, at most; 0: 4,096. */

    /* Of directories alone: the master key, a file of 64 hexadecimal digits or
     * base64, or a command that prints it; NULL: none. With one, all that is
     * written is encrypted; a store that is encrypted does not open without
     * (ERR_DENIED). The key before, where `quarry encryption rotate-master` has
     * not been run since it changed. */
    const char *encryption_key_file;
    const char *encryption_key_command;
    const char *encryption_previous_key_file;
    const char *encryption_previous_key_command;
    struct master_keys *master_keys; /* Borrowed, instead of these four:
                                        base/crypt/master_key.h. */

    /* Of clusters alone; of directories, all above but `world` and async_*. */
    const char *key_file;  /* The cluster's key; NULL: none is asked for. */
    const char *memo;      /* Of a server, for when it restarts: a file that
                              this client alone uses, see chubby.h; or NULL. */
    const char *address;   /* Of a server: where others reach this process, see
                              chubby.h; or NULL. */
    const char *cluster;   /* Its name; NULL: "quarry". */
    const char *principal; /* Of this client; NULL: "quarry". */
    /* Instead of key and principal, TLS: PEM files of this side's certificate,
     * which says who this is, of its key, and of the servers' authority. */
    const char *certificate_file;
    const char *certificate_key_file;
    const char *authority_file;
    const struct rpc_security *security; /* Borrowed, instead of all these:
                                            base/rpc/security.h. */
    const char *act_as;  /* On whose behalf, as a view of quarry_as() is, which
                            says who may; NULL: on its own. */
    uint64_t timeout_us; /* Of each call, tries included; 0: 60 s. A fiber's
                            deadline holds, too. Maintenance has none. */
    size_t location_count; /* Tablets whose server is remembered; 0: 65,536. */
};

/* @opts may be NULL. Errors: ERR_BUSY (another process has it), ERR_UNSUPPORTED
 * (a newer format), ERR_CORRUPT, ERR_DENIED, ERR_INVALID (the target's form).
 */
QUARRY_EXPORT MUST_CHECK int quarry_open(const char *target,
                                         const struct quarry_options *opts,
                                         struct quarry **out,
                                         struct err *err);
/* Finish background work and close. Acknowledged logged writes are safe without
 * it. PRE: tables and scanners are closed. NULL is allowed. */
QUARRY_EXPORT void quarry_close(struct quarry *q);

/* --- traces -------------------------------------------------------------- */

/* Memory for quarry_trace_begin(). */
struct quarry_trace {
    uint64_t opaque[8];
};

/* The calls that this thread (or fiber) makes from now on, of any cluster,
 * belong to the trace of @traceparent, as children of the span that it names:
 * W3C's Trace Context, "00-<trace>-<span>-<flags>". The servers keep spans of
 * them if its flags say that it is sampled. They nest; quarry_trace_end() is
 * called on the same thread, and before @t is gone. Asynchronous calls, and a
 * scanner's reading ahead, belong to the trace in which they were begun.
 * ERR_INVALID: it is none; then nothing has begun. */
QUARRY_EXPORT MUST_CHECK int quarry_trace_begin(struct quarry_trace *t,
                                                const char *traceparent,
                                                struct err *err);
QUARRY_EXPORT void quarry_trace_end(struct quarry_trace *t);

/* --- the store as a whole ------------------------------------------------ */

/* Everything applied so far, in any durability, is in SSTables and synced
 * when this returns: minor compactions of all tables. */
QUARRY_EXPORT MUST_CHECK int quarry_flush(struct quarry *q, struct err *err);

/* Flush, and keep the present files until quarry_unpin(): `pinned` opens of the
 * directory, by other processes too, see exactly this state.
 * ERR_UNSUPPORTED on a cluster. */
QUARRY_EXPORT MUST_CHECK int quarry_pin(struct quarry *q, struct err *err);
QUARRY_EXPORT void quarry_unpin(struct quarry *q);

/* *@first and the @count - 1 numbers after it (at least one, at most
 * QUARRY_TIMESTAMPS_MAX) are above all that anybody was given before this call,
 * in this store or cluster, over restarts and failures of its servers. They are
 * about µs since 1970. Errors: as of any call; ERR_DENIED: opened to read. */
#define QUARRY_TIMESTAMPS_MAX 65536
QUARRY_EXPORT MUST_CHECK int quarry_timestamps(struct quarry *q,
                                               uint32_t count,
                                               int64_t *first,
                                               struct err *err);
/* Is it a directory, whose log is one: what was written before something that
 * is synced is synced with it? */
QUARRY_EXPORT bool quarry_is_directory(const struct quarry *q);
/* The caller's name, as the cluster's servers see it; "" of a directory.
 * Borrowed. */
QUARRY_EXPORT const char *quarry_principal(const struct quarry *q);
/* The world whose clock calls of @q use; borrowed. */
QUARRY_EXPORT struct world *quarry_world(struct quarry *q);

/* A counter of the store's work since it was opened, or of its contents. */
struct quarry_counter {
    const char *name; /* "scan_cache_hits"; lives for ever, as does `about`. */
    uint64_t value;
    const char *about;
};

#define QUARRY_COUNTERS_MAX 40

/* All counters, in an order that does not change; their number is returned. */
QUARRY_EXPORT size_t
quarry_counters(struct quarry *q,
                struct quarry_counter out[QUARRY_COUNTERS_MAX]);

/* --- tables -------------------------------------------------------------- */

struct quarry_group_spec {
    const char *name;
    /* "key=value" options as on the command line, comma-separated or "":
     * compression=none|zstd, level=3, block=64KiB, bloom=none|row|rowcol,
     * memory=on|off, cache=auto|off|on (do new files stay in the page cache),
     * dictionary=on|off, replication=N (of clusters: copies of
     * its SSTables; 0: as the cluster does). */
    const char *options;
};

struct quarry_family_spec {
    const char *name;
    /* versions=N, ttl=7d, group=NAME, gc=RULE, comma-separated or "". With both
     * versions and ttl, a cell goes when either says so (a union); gc takes
     * the full language of rules: see docs.
     * aggregate=sum|min|max|hll|hll-bytes: its cells are added to, and not set
     * (docs/aggregates.md). */
    const char *options;
};

/* Errors: ERR_EXISTS, ERR_INVALID names the option and what it may be,
 * ERR_FULL, ERR_UNKNOWN_OUTCOME. */
QUARRY_EXPORT MUST_CHECK int
quarry_table_create(struct quarry *q,
                    const char *name,
                    const struct quarry_family_spec *families,
                    size_t family_count,
                    const struct quarry_group_spec *groups,
                    size_t group_count,
                    struct err *err);
/* The same for a table that keeps its changes: @changes is a time, as "7d", and
 * perhaps a bound for each tablet, as "7d,max=10GiB"; NULL or "off": none. */
QUARRY_EXPORT MUST_CHECK int
quarry_table_create_with_changes(struct quarry *q,
                                 const char *name,
                                 const struct quarry_family_spec *families,
                                 size_t family_count,
                                 const struct quarry_group_spec *groups,
                                 size_t group_count,
                                 const char *changes,
                                 struct err *err);
/* Errors: ERR_NOTFOUND, ERR_FULL, ERR_UNKNOWN_OUTCOME: it is there as before,
 * and may be gone later. */
QUARRY_EXPORT MUST_CHECK int
quarry_table_drop(struct quarry *q, const char *name, struct err *err);

/* All changes or none. Errors: ERR_NOTFOUND, ERR_EXISTS, ERR_INVALID, ERR_FULL,
 * ERR_UNKNOWN_OUTCOME: none is in force, and all may be later. */
QUARRY_EXPORT MUST_CHECK int
quarry_table_alter(struct quarry *q,
                   const char *name,
                   const struct quarry_alter *changes,
                   size_t change_count,
                   struct err *err);

/* Names, sorted, without those of system tables, which begin with '.'; owned:
 * quarry_names_free(). */
QUARRY_EXPORT MUST_CHECK int quarry_table_list(struct quarry *q,
                                               char ***names,
                                               size_t *count,
                                               struct err *err);
/* The same, with those of system tables. */
QUARRY_EXPORT MUST_CHECK int quarry_table_list_all(struct quarry *q,
                                                   char ***names,
                                                   size_t *count,
                                                   struct err *err);
QUARRY_EXPORT void quarry_names_free(char **names, size_t count);

/* Owned: quarry_table_close(). ERR_NOTFOUND. */
QUARRY_EXPORT MUST_CHECK int quarry_table_open(struct quarry *q,
                                               const char *name,
                                               struct quarry_table **out,
                                               struct err *err);
QUARRY_EXPORT void quarry_table_close(struct quarry_table *t);
/* Its name; borrowed from the handle. */
QUARRY_EXPORT const char *quarry_table_name(const struct quarry_table *t);
/* Has it a family of that name? ERR_NOTFOUND lists those there are. */
QUARRY_EXPORT MUST_CHECK int quarry_table_check_family(struct quarry_table *t,
                                                       const char *family,
                                                       struct err *err);

struct quarry_family_info {
    const char *name; /* Borrowed from the info. */
    const char *group;
    const char *gc;        /* The rule as text: "versions=3", "" for none. */
    const char *aggregate; /* "sum"; "" for none. */
    uint64_t stored_bytes; /* Its part of the SSTables, about. */
    uint64_t memory_bytes; /* Of memtables, and of files kept in memory. */
};

struct quarry_group_info {
    const char *name;
    const char *options; /* Every option, as quarry_group_spec takes them. */
    size_t table_file_count;
    uint64_t table_bytes;
    size_t memtable_bytes;
    uint64_t entry_count;
};

struct quarry_tablet_info {
    struct slice start; /* Row range [start, end); an empty end has no bound. */
    struct slice end;
    uint64_t bytes;
    /* A second, over the last minute, or since the tablet is where it is. Of a
     * directory: by this process alone. */
    double reads_per_s; /* Rows. */
    double writes_per_s;
    double bytes_per_s; /* Of both. */
};

struct quarry_table_info {
    const char *name;
    const char *changes; /* How long changes are kept: "7d"; "off". */
    struct quarry_family_info *families;
    size_t family_count;
    struct quarry_group_info *groups;
    size_t group_count;
    struct quarry_tablet_info *tablets;
    size_t tablet_count;
    bool transactions; /* It takes part in them: quarry_txn.h. */
};

/* Owned: quarry_table_info_free(). */
QUARRY_EXPORT MUST_CHECK int
quarry_table_describe(struct quarry *q,
                      const char *name,
                      struct quarry_table_info **out,
                      struct err *err);
QUARRY_EXPORT void quarry_table_info_free(struct quarry_table_info *info);

/* Cut the tablet that holds @row there; both halves share its files. Errors:
 * ERR_NOTFOUND, ERR_INVALID, ERR_BUSY, ERR_FULL, ERR_UNKNOWN_OUTCOME. */
QUARRY_EXPORT MUST_CHECK int quarry_table_split(struct quarry *q,
                                                const char *name,
                                                struct slice row,
                                                struct err *err);

/* The outcome of a tablet's move. */
struct quarry_move {
    uint64_t tablet; /* Its id. */
    uint64_t from;   /* Numbers of servers; the same: it was there already. */
    uint64_t to;
    uint64_t unserved_us; /* Time in which its rows were not readable. */
};

/* Give the tablet that holds @row to the tablet server at @server, "host:port".
 * ERR_NOTFOUND, ERR_BUSY (it is being moved); ERR_UNSUPPORTED for a directory.
 */
QUARRY_EXPORT MUST_CHECK int quarry_table_move_tablet(struct quarry *q,
                                                      const char *name,
                                                      struct slice row,
                                                      const char *server,
                                                      struct quarry_move *out,
                                                      struct err *err);
/* Major compaction of all its tablets. Errors: ERR_NOTFOUND, ERR_FULL; whatever
 * they are, no row is lost. */
QUARRY_EXPORT MUST_CHECK int
quarry_table_compact(struct quarry *q, const char *name, struct err *err);
/* The same for the tablets alone that hold rows of [start, end); an empty @end
 * is the table's. */
QUARRY_EXPORT MUST_CHECK int quarry_table_compact_rows(struct quarry *q,
                                                       const char *name,
                                                       struct slice start,
                                                       struct slice end,
                                                       struct err *err);
/* Delete the rows in [start, end); an empty @end has no bound. Errors:
 * ERR_NOTFOUND, ERR_FULL, ERR_UNKNOWN_OUTCOME: some of the rows may be gone,
 * now or later. After any other some may be gone, too. */
QUARRY_EXPORT MUST_CHECK int quarry_table_drop_rows(struct quarry *q,
                                                    const char *name,
                                                    struct slice start,
                                                    struct slice end,
                                                    struct err *err);
/* Row keys that cut the table into about @parts equal pieces (for splits of a
 * job): *@keys and their bytes are one owned allocation, free with mem_free or
 * free(). */
QUARRY_EXPORT MUST_CHECK int quarry_table_split_points(struct quarry_table *t,
                                                       size_t parts,
                                                       struct slice **keys,
                                                       size_t *count,
                                                       struct err *err);

/* --- snapshots ----------------------------------------------------------- */
/* The state of a table at a moment, kept by reference to its SSTables, which
 * are never changed: taking one costs two minor compactions and no copies. Each
 * row is whole in it; on a cluster, tablets are as of moments a little apart.
 * Files stay while a table or a snapshot names them.
 */

struct quarry_snapshot {
    const char *name;
    const char *table;   /* It is of. */
    uint64_t created_us; /* Since 1970. */
    uint64_t expires_us; /* Dropped then, about; 0: never. */
    uint64_t tablet_count;
    uint64_t file_count;
    uint64_t bytes; /* Of the files, which may be others', too. */
};

struct quarry_snapshots {
    const struct quarry_snapshot *list; /* By name. */
    size_t count;
};

/* Take snapshot @name of @table, to be kept for @ttl_us (0: until it is
 * dropped). Names are as those of tables, without a '.' first. ERR_EXISTS,
 * ERR_NOTFOUND, ERR_INVALID, ERR_FULL; ERR_UNKNOWN_OUTCOME: it is there now,
 * and may be gone later. */
QUARRY_EXPORT MUST_CHECK int quarry_table_snapshot(struct quarry *q,
                                                   const char *table,
                                                   const char *name,
                                                   uint64_t ttl_us,
                                                   struct err *err);
/* Make @to, a new table, of what @table is now; from then on they have nothing
 * to do with each other. Errors: ERR_EXISTS, ERR_NOTFOUND, ERR_INVALID,
 * ERR_FULL, ERR_UNKNOWN_OUTCOME. */
QUARRY_EXPORT MUST_CHECK int quarry_table_clone(struct quarry *q,
                                                const char *table,
                                                const char *to,
                                                struct err *err);
/* *@out is owned: quarry_snapshots_free(). */
QUARRY_EXPORT MUST_CHECK int quarry_snapshot_list(struct quarry *q,
                                                  struct quarry_snapshots **out,
                                                  struct err *err);
QUARRY_EXPORT void quarry_snapshots_free(struct quarry_snapshots *s);
/* Families, groups and tablets that it has. Owned: quarry_table_info_free(). */
QUARRY_EXPORT MUST_CHECK int
quarry_snapshot_describe(struct quarry *q,
                         const char *name,
                         struct quarry_table_info **out,
                         struct err *err);
/* Errors: ERR_NOTFOUND, ERR_FULL, ERR_UNKNOWN_OUTCOME: it is there now, and may
 * be gone later. */
QUARRY_EXPORT MUST_CHECK int
quarry_snapshot_drop(struct quarry *q, const char *name, struct err *err);
/* A snapshot with this before a table's name is of a table that was dropped so
 * that it can come back. */
#define QUARRY_DROPPED_PREFIX "dropped."
/* Make @table, a new one, of the snapshot, which stays. Errors: ERR_EXISTS,
 * ERR_NOTFOUND, ERR_INVALID, ERR_FULL, ERR_UNKNOWN_OUTCOME. */
QUARRY_EXPORT MUST_CHECK int quarry_snapshot_restore(struct quarry *q,
                                                     const char *name,
                                                     const char *table,
                                                     struct err *err);

/* --- writing ------------------------------------------------------------- */

/* Changes to one row, applied atomically in the order given. @row is copied, as
 * are all arguments below. Mistakes (an empty row, a too long qualifier) are
 * remembered and reported by apply. */
QUARRY_EXPORT struct quarry_mutation *quarry_mutation_new(struct slice row);
QUARRY_EXPORT void quarry_mutation_free(struct quarry_mutation *m);
/* Reuse for another row, keeping the memory. */
QUARRY_EXPORT void quarry_mutation_reset(struct quarry_mutation *m,
                                         struct slice row);
QUARRY_EXPORT void quarry_mutation_set(struct quarry_mutation *m,
                                       const char *family,
                                       struct slice qualifier,
                                       int64_t timestamp_us,
                                       struct slice value);
/* Add to a cell of a family with an aggregate, which is 0, or empty, before:
 * an integer, or, if its aggregate is hll-bytes, bytes. In its order among the
 * other changes; made once, also when it is sent again after an error. */
QUARRY_EXPORT void quarry_mutation_add(struct quarry_mutation *m,
                                       const char *family,
                                       struct slice qualifier,
                                       int64_t timestamp_us,
                                       int64_t input);
QUARRY_EXPORT void quarry_mutation_add_bytes(struct quarry_mutation *m,
                                             const char *family,
                                             struct slice qualifier,
                                             int64_t timestamp_us,
                                             struct slice input);
/* Merge a state into one: what a read gave as the value of a cell of such a
 * family, 8 bytes of an integer, big-endian, or a sketch. */
QUARRY_EXPORT void quarry_mutation_merge(struct quarry_mutation *m,
                                         const char *family,
                                         struct slice qualifier,
                                         int64_t timestamp_us,
                                         struct slice state);
/* Cells of the column with timestamps in [min, max); both 0: all of them. */
QUARRY_EXPORT void quarry_mutation_delete_cells(struct quarry_mutation *m,
                                                const char *family,
                                                struct slice qualifier,
                                                int64_t min_us,
                                                int64_t max_us);
QUARRY_EXPORT void quarry_mutation_delete_family(struct quarry_mutation *m,
                                                 const char *family);
QUARRY_EXPORT void quarry_mutation_delete_row(struct quarry_mutation *m);
/* Changes so far, and their bytes. */
QUARRY_EXPORT size_t quarry_mutation_count(const struct quarry_mutation *m);
QUARRY_EXPORT size_t quarry_mutation_bytes(const struct quarry_mutation *m);

enum quarry_durability {
    QUARRY_SYNCED,   /* Default: in the commit log and on the disk. */
    QUARRY_LOGGED,   /* In the commit log: survives the process. */
    QUARRY_DEFERRED, /* In memory until the next quarry_flush(): for bulk
                        loads that can be run again. Until then, after a loss
                        of power a row may be there in some of its locality
                        groups and not in others. On a cluster as
                        QUARRY_LOGGED. */
};

struct quarry_write_options {
    enum quarry_durability durability;
};

/* @opts may be NULL everywhere. Errors: ERR_NOTFOUND (family; the text lists
 * those there are), ERR_TOOBIG, ERR_INVALID, ERR_FULL, ERR_IO,
 * ERR_UNKNOWN_OUTCOME (see Errors above). The same holds for every call that
 * changes rows. After an error of the disk a directory's store takes no more
 * writes until it is opened again; after ERR_FULL it does as soon as there is
 * room. */
QUARRY_EXPORT MUST_CHECK int
quarry_apply(struct quarry_table *t,
             const struct quarry_mutation *m,
             const struct quarry_write_options *opts,
             struct err *err);
/* Many rows in one call: each row atomically, not the batch. Rows are committed
 * to the log together. On error *@failed_index (may be NULL) is the first row
 * that was not applied, and rows from it on were not; after
 * ERR_UNKNOWN_OUTCOME any of them may be there later. */
QUARRY_EXPORT MUST_CHECK int
quarry_apply_batch(struct quarry_table *t,
                   struct quarry_mutation *const *mutations,
                   size_t count,
                   const struct quarry_write_options *opts,
                   size_t *failed_index,
                   struct err *err);

/* The same, but each row has its own outcome: 0 or an error in @codes, and what
 * fails does not keep the others from being applied. Returns the first failure
 * in their order, with its text, or 0. */
QUARRY_EXPORT MUST_CHECK int
quarry_apply_each(struct quarry_table *t,
                  struct quarry_mutation *const *mutations,
                  size_t count,
                  const struct quarry_write_options *opts,
                  int *codes,
                  struct err *err);

/* If @predicate leaves at least one cell of the row (NULL: if the row exists),
 * apply @if_true, else @if_false, atomically; either may be NULL, not both. */
QUARRY_EXPORT MUST_CHECK int
quarry_check_and_mutate(struct quarry_table *t,
                        struct slice row,
                        const struct quarry_filter *predicate,
                        const struct quarry_mutation *if_true,
                        const struct quarry_mutation *if_false,
                        const struct quarry_write_options *opts,
                        bool *matched,
                        struct err *err);

/* Read the newest cells, change and write them, atomically, rule after rule.
 * New cells have the current time in whole milliseconds, or the time of the
 * cell they replace when that is later. The new cells are handed to *@out
 * (owned, quarry_row_free()) when @out is not NULL. Errors: ERR_INVALID, an
 * increment of a cell that is not 8 bytes. */
QUARRY_EXPORT MUST_CHECK int
quarry_read_modify_write(struct quarry_table *t,
                         struct slice row,
                         const struct quarry_rmw_rule *rules,
                         size_t rule_count,
                         const struct quarry_write_options *opts,
                         struct quarry_row **out,
                         struct err *err);

/* --- reading ------------------------------------------------------------- */
/* Ranges and options: bigtable/row/row_request.h. */

/* One row. *@out is NULL when it has no visible cell; else owned. */
QUARRY_EXPORT MUST_CHECK int
quarry_read_row(struct quarry_table *t,
                struct slice row,
                const struct quarry_read_options *opts,
                struct quarry_row **out,
                struct err *err);
QUARRY_EXPORT void quarry_row_free(struct quarry_row *r); /* NULL allowed. */

/* Many rows, in any order: @rows, with room for @count, gets for each of @keys
 * what quarry_read_row() would give. Each row is of one moment, not all of them
 * of the same. On a cluster a call goes to each server, not one for each row.
 * On error, that of one of them, all of @rows are NULL. */
QUARRY_EXPORT MUST_CHECK int
quarry_read_rows(struct quarry_table *t,
                 const struct slice *keys,
                 size_t count,
                 const struct quarry_read_options *opts,
                 struct quarry_row **rows,
                 struct err *err);

/* The newest value of one column into @value (a caller's buffer, reused between
 * calls): the cheapest read there is. *@found tells whether there is one.
 * @value is cleared first; start from BUF_INIT, end with free(value->data). */
QUARRY_EXPORT MUST_CHECK int quarry_get(struct quarry_table *t,
                                        struct slice row,
                                        const char *family,
                                        struct slice qualifier,
                                        struct buf *value,
                                        bool *found,
                                        struct err *err);

/* Rows in ascending order, as of the call (a snapshot of each tablet); on a
 * cluster each of its servers' answers is of one moment. With `reversed`, in
 * descending order. */
QUARRY_EXPORT MUST_CHECK int quarry_scan(struct quarry_table *t,
                                         const struct quarry_read_options *opts,
                                         struct quarry_scanner **out,
                                         struct err *err);
/* *@row is borrowed until the next call, and NULL at the end. */
QUARRY_EXPORT MUST_CHECK int quarry_scanner_next(struct quarry_scanner *s,
                                                 const struct quarry_row **row,
                                                 struct err *err);
QUARRY_EXPORT void quarry_scanner_close(struct quarry_scanner *s);

/* Run a Sawzall program over the rows, in parallel inside the engine; its
 * tables are merged into @run. See sawzall-lite/sawzall.h. A program without
 * `r: Row = input` runs over the value of each cell, with the row as its key.
 * Each parallel run has the options of @run, its limits included; a program
 * that writes (to stdout, to files) is run as with `ordered`, and so is one
 * with a row limit. @opts->program and its fuel are not looked at. *@row_count
 * (may be NULL) gets the number of rows it saw. An error names the row. */
struct saw_run;
QUARRY_EXPORT MUST_CHECK int
quarry_run_program(struct quarry_table *t,
                   const struct quarry_read_options *opts,
                   struct saw_run *run,
                   uint64_t *row_count,
                   struct err *err);

/* --- explain ------------------------------------------------------------- */
/* The record of a scan, for quarry_read_options.explain: docs/explain.md. */

/* An empty record. Owned. One thread at a time, with the scans it is for. */
QUARRY_EXPORT struct quarry_explain *quarry_explain_new(void);
QUARRY_EXPORT void quarry_explain_free(struct quarry_explain *e); /* NULL ok. */
/* Append it as text for people, or as a JSON object. */
QUARRY_EXPORT void quarry_explain_text(const struct quarry_explain *e,
                                       struct buf *out);
QUARRY_EXPORT void quarry_explain_json(const struct quarry_explain *e,
                                       struct buf *out);
/* The counters of all its tablets, added up. */
QUARRY_EXPORT void quarry_explain_total(const struct quarry_explain *e,
                                        struct quarry_explain_counts *out);

/* --- filters ------------------------------------------------------------- */
/* Those of google.bigtable.v2.RowFilter, with its semantics; regular
 * expressions are RE2 over bytes and must match the whole. Constructors never
 * fail: a bad argument is remembered and reported by the read (ERR_INVALID).
 * Combinators take ownership of their parts. */

QUARRY_EXPORT struct quarry_filter *quarry_filter_pass_all(void);
QUARRY_EXPORT struct quarry_filter *quarry_filter_block_all(void);
QUARRY_EXPORT struct quarry_filter *quarry_filter_row_regex(struct slice re);
QUARRY_EXPORT struct quarry_filter *quarry_filter_family_regex(struct slice re);
QUARRY_EXPORT struct quarry_filter *
quarry_filter_qualifier_regex(struct slice re);
QUARRY_EXPORT struct quarry_filter *quarry_filter_value_regex(struct slice re);

enum quarry_bound {
    QUARRY_UNBOUNDED,
    QUARRY_CLOSED,
    QUARRY_OPEN
};
QUARRY_EXPORT struct quarry_filter *
quarry_filter_column_range(const char *family,
                           enum quarry_bound start_kind,
                           struct slice start,
                           enum quarry_bound end_kind,
                           struct slice end);
QUARRY_EXPORT struct quarry_filter *
quarry_filter_value_range(enum quarry_bound start_kind,
                          struct slice start,
                          enum quarry_bound end_kind,
                          struct slice end);
QUARRY_EXPORT struct quarry_filter *
quarry_filter_timestamp_range(int64_t min_us, int64_t max_us);
QUARRY_EXPORT struct quarry_filter *
quarry_filter_cells_per_row_offset(int32_t n);
QUARRY_EXPORT struct quarry_filter *
quarry_filter_cells_per_row_limit(int32_t n);
QUARRY_EXPORT struct quarry_filter *
quarry_filter_cells_per_column_limit(int32_t n);
QUARRY_EXPORT struct quarry_filter *quarry_filter_strip_value(void);
QUARRY_EXPORT struct quarry_filter *
quarry_filter_row_sample(double probability);
/* Values as long as @mask that have all of its bits. */
QUARRY_EXPORT struct quarry_filter *
quarry_filter_value_bitmask(struct slice mask);
QUARRY_EXPORT struct quarry_filter *quarry_filter_label(const char *label);
QUARRY_EXPORT struct quarry_filter *quarry_filter_sink(void);
QUARRY_EXPORT struct quarry_filter *
quarry_filter_chain(struct quarry_filter **parts, size_t count);
QUARRY_EXPORT struct quarry_filter *
quarry_filter_interleave(struct quarry_filter **parts, size_t count);
QUARRY_EXPORT struct quarry_filter *
quarry_filter_condition(struct quarry_filter *predicate,
                        struct quarry_filter *if_true,   /* May be NULL. */
                        struct quarry_filter *if_false); /* May be NULL. */
QUARRY_EXPORT void quarry_filter_free(struct quarry_filter *f);

/* --- asynchronous -------------------------------------------------------- */
/* For many operations in flight from few threads. A call copies what it needs
 * and returns; a pool of quarry_options.async_tasks threads of the library does
 * the work and calls back. Many are worth it: synced writes share commits, cold
 * reads share the disk. Operations run in any order: start one that depends on
 * another from its callback.
 *
 * Bounded: with quarry_options.async_calls in flight, a call waits until one
 * has called back. A callback may itself make calls, synchronous ones too,
 * which occupy its thread meanwhile; chains of asynchronous ones never
 * deadlock. It must not close the store or drain. A table may be closed while
 * calls on it are in flight; quarry_close() waits for all of them.
 */

/* Called once, on a thread of the library. @err is borrowed. */
typedef void (*quarry_apply_cb)(void *arg, int code, const struct err *err);
/* @row is owned by the callback; NULL when absent or on error. */
typedef void (*quarry_read_cb)(void *arg,
                               int code,
                               struct quarry_row *row,
                               const struct err *err);

/* @m is copied. */
QUARRY_EXPORT void quarry_apply_async(struct quarry_table *t,
                                      const struct quarry_mutation *m,
                                      const struct quarry_write_options *opts,
                                      quarry_apply_cb cb,
                                      void *arg);
QUARRY_EXPORT void quarry_read_row_async(struct quarry_table *t,
                                         struct slice row,
                                         const struct quarry_read_options *opts,
                                         quarry_read_cb cb,
                                         void *arg);
/* Wait until every asynchronous operation of @q has called back. */
QUARRY_EXPORT void quarry_drain(struct quarry *q);

/* --- changes ------------------------------------------------------------- */

/* A reader of the changes of a table that keeps them: each commit to a row,
 * whole and once; those of one row in their order, those of different rows in
 * none. Nothing is told that a crash may take back. A reader that keeps its
 * token with what it made of the changes misses none and sees none twice, over
 * crashes of any process, splits and moves. Bulk loads, dropped ranges of rows
 * and what garbage collection drops are not told (docs/changes.md).
 *
 * Threads: one at a time for each reader. */
#define QUARRY_CHANGES_OLDEST INT64_MIN

struct quarry_changes_options {
    struct slice start; /* Of rows [start, end); an empty end has no bound. */
    struct slice end;
    int64_t since_us;   /* Commits at and after this time; 0: after the open;
                           QUARRY_CHANGES_OLDEST: all that are kept. */
    struct slice token; /* Continue there instead; it has its rows in it. */
    size_t batch_bytes; /* About as many at once; 0: 1 MiB. */
};

/* @options may be NULL. Owned: quarry_changes_close(); @t outlives it.
 * Errors: ERR_UNSUPPORTED: the table keeps no changes; ERR_EXHAUSTED: those of
 * that time are not kept any more (the hint says from when they are);
 * ERR_INVALID: a bad token; ERR_DENIED. */
QUARRY_EXPORT MUST_CHECK int
quarry_changes_open(struct quarry_table *t,
                    const struct quarry_changes_options *options,
                    struct quarry_changes **out,
                    struct err *err);
/* The next changes, *@count of them, borrowed until the next call; none when
 * none came within @wait_us. Parks. Errors: as above; ERR_CORRUPT. */
QUARRY_EXPORT MUST_CHECK int
quarry_changes_next(struct quarry_changes *c,
                    uint64_t wait_us,
                    const struct quarry_change **list,
                    size_t *count,
                    struct err *err);
/* Append the place behind what quarry_changes_next() has returned so far. */
QUARRY_EXPORT void quarry_changes_token(const struct quarry_changes *c,
                                        struct buf *token);
/* All commits up to this time were returned; 0: it is not known yet. */
QUARRY_EXPORT int64_t quarry_changes_watermark(const struct quarry_changes *c);
QUARRY_EXPORT void quarry_changes_close(struct quarry_changes *c);

#ifdef __cplusplus
}
#endif

#endif /* BIGTABLE_QUARRY_H */
