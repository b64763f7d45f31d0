/* A store: tablets, their commit log, registry, and background work. Either
 * embedded, with all tables of one directory:
 *
 *     DIR/LOCK        held by the owning process
 *     DIR/KEYS        data keys, if it is encrypted (base/crypt/keyring.h)
 *     DIR/CURRENT     and manifest-*: what the store consists of (manifest.h)
 *     DIR/log/        commit log (commit_log.h)
 *     DIR/tables/     SSTables (sstable/)
 *     DIR/snapshots/  records of snapshots (snapshot.h)
 *     DIR/load/       files of bulk loads that are not committed yet
 *     DIR/PINNED      a state for the tasks of a job (store_pin)
 *
 * or, in a tablet server, over a file system that many share: the log and the
 * registry come from outside, tablets come and go (shared.h), and SSTables
 * are removed by nobody here.
 *
 * Threads: any, unless a function says otherwise.
 *
 * Order of locks, outermost first: catalog_lock, a table's change_lock, the
 * write turn (write_queue.h), store.lock, the background's lock, a group's
 * edit_lock, the registry's, the log's. The write turn is never held over a
 * call of the registry.
 */
#ifndef BIGTABLE_STORE_STORE_H
#define BIGTABLE_STORE_STORE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "base/runtime/sync.h"
#include "bigtable/row/schema.h"
#include "bigtable/store/background.h"
#include "bigtable/store/file_numbers.h"
#include "bigtable/store/file_refs.h"
#include "bigtable/store/snapshot.h"
#include "bigtable/tablet/table_part.h"
#include "bigtable/tablet/tablet.h"
#include "bigtable/tablet/tablet_env.h"
#include "bigtable/write/write_queue.h"

struct block_cache;
struct fs;
struct fs_lock;
struct manifest;
struct master_keys;
struct registry;
struct scan_cache;
struct store_sharing;
struct write_log;
struct world;

#define STORE_KEYS_NAME "KEYS" /* Data keys of an encrypted store. */

#define STORE_CACHE_BYTES    ((uint64_t)256 << 20)
#define STORE_MEMTABLE_BYTES ((uint64_t)256 << 20)
/* A tablet above it is split: the paper's are "100-200 MB by default"; ours are
 * in one process, where splits serve parallel scans and bounded compactions. */
#define STORE_SPLIT_BYTES ((uint64_t)1 << 30)

/* Of the caches' bytes the scan cache has this part unless told, at most: what
 * is larger would rather hold blocks. */
#define STORE_SCAN_CACHE_SHARE     8
#define STORE_SCAN_CACHE_BYTES_MAX ((uint64_t)64 << 20)

struct store_options {
    uint64_t cache_bytes;      /* Of both caches; 0: STORE_CACHE_BYTES. */
    uint64_t scan_cache_bytes; /* Of those; 0: a share, see above. */
    bool scan_cache_off;
    uint64_t memtable_bytes;   /* All memtables together; 0: the default. */
    uint64_t split_bytes;      /* 0: STORE_SPLIT_BYTES. */
    unsigned background_tasks; /* 0: one per CPU, at least two. */
    bool read_only; /* Beside the process that writes it: read_beside.h. */
    bool pinned;    /* The state of store_pin(), if there is one; read-only. */
    bool must_exist;
    struct master_keys *master_keys; /* Shared. NULL: none is given; else what
                                        is written is encrypted. */
    bool repair; /* Give up what is damaged: the log from there on, the last
                    edit of the manifest, snapshots. */
};

struct store {
    struct world *world;       /* Borrowed. */
    struct tablet_env env;     /* Shared by its tablets. */
    struct fs *fs;             /* Owned, unless shared. */
    struct fs_lock *file_lock; /* NULL: read-only. */
    char *dir;
    struct store_options options;
    struct block_cache *cache;
    struct manifest *manifest;     /* NULL: shared. */
    struct registry *registry;     /* Owned. */
    struct store_sharing *sharing; /* Owned. NULL: embedded. */
    struct file_refs files;
    struct file_numbers numbers; /* Of SSTables. */
    atomic_ullong next_tablet;
    bool closing;         /* Files stay: releasing one does not delete it. */
    atomic_bool log_kept; /* A tablet was given up that needs the log. */

    struct mutex catalog_lock; /* Over the making and dropping of tables, and of
                                  snapshots. */
    uint64_t next_table;
    struct held_snapshots snapshots;
    struct mutex lock;          /* Of the next five. */
    struct table_part **tables; /* References. Embedded: by name. */
    size_t table_count;
    uint64_t *pinned; /* Files the pins hold. */
    size_t pinned_count;
    unsigned pin_count;

    struct write_queue queue;
    struct background background;
};

/* Open the store in @dir of @world (borrowed). Parks. Errors: those of
 * quarry_open(). */
MUST_CHECK int store_open(struct world *world,
                          const char *dir,
                          const struct store_options *opts,
                          struct store **out,
                          struct err *err);
/* PRE: no table is open, no read under way. NULL is allowed. Parks. */
void store_close(struct store *s);

/* --- tables (table_catalog.c) -------------------------------------------- */

/* The table @name, referenced. Errors: ERR_NOTFOUND, naming those there are. */
MUST_CHECK int store_find_table(struct store *s,
                                const char *name,
                                struct table_part **out,
                                struct err *err);
MUST_CHECK int store_create_table(struct store *s,
                                  const char *name,
                                  const struct schema *schema,
                                  struct err *err);
MUST_CHECK int
store_drop_table(struct store *s, const char *name, struct err *err);
/* Make table @name of the tablets of @r, whose files are held. PRE: the catalog
 * is locked. Parks. Errors: ERR_EXISTS, ERR_INVALID, ERR_CORRUPT. */
struct snapshot_record;
MUST_CHECK int store__make_table(struct store *s,
                                 const char *name,
                                 const struct snapshot_record *r,
                                 struct err *err);
/* Put a schema in force that @change makes of the present one. */
typedef int (*schema_change_fn)(void *ctx,
                                struct schema *schema,
                                struct err *err);
MUST_CHECK int store_alter_table(struct store *s,
                                 struct table_part *t,
                                 schema_change_fn change,
                                 void *ctx,
                                 struct err *err);
/* Names, sorted. *@names and each are owned: world_names_free() of world.h. */
void table_part_names(struct store *s, char ***names, size_t *count);

/* --- durability (store.c, pin.c) ----------------------------------------- */

/* Everything applied before the call is in SSTables. Parks. */
MUST_CHECK int store_flush(struct store *s, struct err *err);
MUST_CHECK int store_pin(struct store *s, struct err *err);
void store_unpin(struct store *s);

/* --- pieces the files of this directory share ---------------------------- */

/* The store that has @env, or @t. Borrowed. */
static inline struct store *store_of_env(struct tablet_env *env)
{
    return CONTAINER_OF(env, struct store, env);
}

static inline struct store *store_of(const struct tablet *t)
{
    return store_of_env(t->env);
}

/* The time that a compaction measures ages by (tablet_env_age_us() is a
 * read's), which drops what is too old. In a tablet server that has just begun
 * (age_clock_is_proven()) nothing is old: its clock may be wrong from the
 * start. */
int64_t store_drop_age_us(struct store *s);
/* Make @edit of @tablet (0: of none) durable, with the counters added. Parks.
 * PRE: the write turn is not held. Errors: those of registry_commit(). */
MUST_CHECK int store_commit(struct store *s,
                            uint64_t tablet,
                            struct buf *edit,
                            struct err *err);
/* Put @schema, number @generation, in force for @t. PRE: its change_lock is
 * held, and @v is its view. Parks. */
MUST_CHECK int store_put_schema(struct store *s,
                                struct table_part *t,
                                struct table_part_view *v,
                                const struct schema *schema,
                                uint64_t generation,
                                struct err *err);
/* Shared by opening and closing; @s is not in use. */
struct store *store__new(struct world *world, const struct store_options *opts);
void store__make_caches(struct store *s);
/* A reference to SSTable @number was released: delete it if it was the last. */
void store_drop_file(struct store *s, uint64_t number);
/* Release log segments that nothing needs any more. */
void store_release_log(struct store *s);
/* If a shared log is longer than it should be, freeze the memtable that has
 * waited longest. PRE: the write turn is not held. Parks. */
void store_limit_log(struct store *s);
/* Freeze every memtable. PRE: the write turn is held. */
void store_freeze(struct store *s);
/* All views, referenced, in an owned array. */
struct table_part_view **store_views(struct store *s, size_t *count);
void store_views_free(struct table_part_view **views, size_t count);

#endif /* BIGTABLE_STORE_STORE_H */
