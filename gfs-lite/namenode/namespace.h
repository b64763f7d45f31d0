/* The tree of names, the chunks that files consist of, and who may write which
 * file (GFS 4.1).
 *
 * Part of the namenode's replicated state: every function is deterministic;
 * numbers and times come from the caller. Paths are relative to the root, parts
 * separated by '/'; empty parts and "." do not count, ".." is refused.
 *
 * Invariants (names_check() walks everything; the functions assert what is
 * cheap)
 *     INV-1. Each chunk's refs are the files that contain it, and the open file
 *            that has it ahead.
 *     INV-2. Only the last chunk of a file may be unsealed; the file is then
 *            open, and the chunk has one reference. Its writer may have a next
 *            chunk: the open file holds it, with one reference, until the last
 *            one is sealed. It is added to the file if that was sealed at the
 *            length it ended with, and dropped if it was sealed shorter.
 *     INV-3. A directory's counters are those of all inodes below it.
 *     INV-4. A doomed inode is found by no path and, with names_by_id(), by no
 *            number.
 *     INV-5. While a tree is copied no name below it is made, removed or
 *            changed, and no chunk that it had. The copy so far is a prefix of
 *            the source, in prefix order.
 *     INV-6. The parent of an inode is a directory and is there as long as it.
 */
#ifndef GFS_LITE_NAMENODE_NAMESPACE_H
#define GFS_LITE_NAMENODE_NAMESPACE_H

#include "base/core/err.h"
#include "gfs-lite/namenode/chunk_map.h"
#include "gfs-lite/namenode/grants.h"
#include "gfs-lite/namenode/inode.h"
#include "gfs-lite/namenode/owners.h"

/* Removed files are kept here for a while: below it a directory for each
 * removal, named by its time, with the path as it was. */
#define NAMESPACE_TRASH ".trash"

/* Most inodes, chunks or entries of the trash that one command frees. */
#define NAMES_STEP_MAX 1024

/* The tree that is being copied. Until it is complete, the copy is one of the
 * doomed: no path leads to it, and it is freed there if it is given up. */
struct tree_copy {
    struct inode *source; /* NULL: none is copied, and all of this is 0. */
    struct inode *top;    /* Of the copy. */
    struct inode *at;     /* Of the source: the last inode that is copied. */
    struct inode *last;   /* Its copy. */
    uint64_t chunk_limit; /* Chunks from this number on were added later. */
    uint64_t time_us; /* When it began: the copy shows the tree as of then. */
    char *to;         /* The name it gets. Owned. */
};

/* A file that is being written. */
struct open_file {
    uint64_t id; /* Of its inode. First: see id_map.h. */
    uint64_t session;
    uint64_t epoch;
    bool shared; /* By record append (GFS 3.3); of no session. */
    struct gfs_server_set chain; /* Of the unsealed last chunk. */
    struct chunk *next;          /* The chunk after it, or NULL. */
    uint32_t ended;              /* If there is one: bytes of the last chunk. */
    struct gfs_server_set next_chain;
};

/* A file that is locked. */
struct lock_entry {
    uint64_t id; /* Of its inode. First: see id_map.h. */
    uint64_t session;
};

struct names {
    struct inode *root;
    struct inode *doomed; /* Removed trees that are not freed yet; in no map. */
    struct id_map inodes; /* All, by id; the doomed as well. */
    struct chunk_map chunks;
    struct id_map open_files; /* struct open_file, owned. */
    struct id_map locks;      /* struct lock_entry, owned. */
    uint64_t next_id;
    struct tree_copy copy;
    struct owners owners;
    struct id_map grants; /* struct grant_list, owned. */

    struct {
        uint16_t owner; /* Of inodes that the running command makes, */
        uint8_t mask;   /* and the mode bits that they do not get. */
    } maker;
};

/* The root directory and nothing else. */
void names_init(struct names *ns);
/* Free everything. */
void names_close(struct names *ns);

/* --- looking ------------------------------------------------------------- */

/* The inode at @path. Borrowed. Errors: ERR_NOTFOUND; ERR_INVALID. */
MUST_CHECK int names_find(const struct names *ns,
                          struct slice path,
                          struct inode **out,
                          struct err *err);
/* The inode numbered @id, or NULL: there is none, or it was removed. */
struct inode *names_by_id(const struct names *ns, uint64_t id);
/* The file numbered @id and its writer's record, if @epoch is its writer's.
 * Errors: ERR_NOTFOUND (removed), ERR_ABORTED (not the writer any more). */
MUST_CHECK int names_writer(const struct names *ns,
                            uint64_t id,
                            uint64_t epoch,
                            struct inode **file,
                            struct open_file **open,
                            struct err *err);

/* Inodes made from now on belong to @principal and get no bits of @mask.
 * Errors: those of owners_number(). */
MUST_CHECK int names_make_as(struct names *ns,
                             struct slice principal,
                             uint32_t mask,
                             struct err *err);

/* --- changing names ------------------------------------------------------ */

/* All of these may give ERR_UNAVAILABLE: a tree that would change is being
 * copied. Directories above a new name may have been made by then; the call can
 * be repeated. */

/* Make the directory at @path and missing ones above. *@out is borrowed.
 * Errors: ERR_INVALID (a part is a file), ERR_EXHAUSTED (quota). */
MUST_CHECK int names_mkdirs(struct names *ns,
                            struct slice path,
                            uint64_t time_us,
                            struct inode **out,
                            struct err *err);
/* Make an empty file at @path, replacing a file that is there; missing
 * directories are made. Errors: ERR_EXISTS (@exclusive), ERR_INVALID (a
 * directory, or a file where a directory must be), ERR_EXHAUSTED (quota). */
MUST_CHECK int names_create(struct names *ns,
                            struct slice path,
                            bool exclusive,
                            uint8_t replication,
                            uint64_t time_us,
                            struct inode **out,
                            struct err *err);
/* As rename(2): a file takes the place of a file, a directory that of an empty
 * directory. Errors: ERR_NOTFOUND, ERR_INVALID (into itself, kinds differ,
 * names below it would be too deep),
 * ERR_EXISTS (a directory that is not empty), ERR_EXHAUSTED. */
MUST_CHECK int names_rename(struct names *ns,
                            struct slice from,
                            struct slice to,
                            uint64_t time_us,
                            struct err *err);
/* Remove the file at @path, or, if @tree, whatever is there with all below; the
 * root itself stays. Errors: ERR_NOTFOUND, ERR_INVALID (a directory). */
MUST_CHECK int names_remove(struct names *ns,
                            struct slice path,
                            bool tree,
                            uint64_t time_us,
                            struct err *err);
/* Move it to the trash instead; a file in the trash is removed. Errors: as
 * above; ERR_INVALID: its path there would be too long. */
MUST_CHECK int names_discard(struct names *ns,
                             struct slice path,
                             uint64_t time_us,
                             struct err *err);
/* Does the trash have anything from before @before_us? */
bool names_trash_is_due(const struct names *ns, uint64_t before_us);
/* Remove such things, NAMES_STEP_MAX at most. */
void names_empty_trash(struct names *ns, uint64_t before_us);
/* Is anything removed and not freed yet? */
bool names_has_doomed(const struct names *ns);
/* Free NAMES_STEP_MAX chunks and inodes of it. */
void names_reap(struct names *ns);
/* Do the quotas of @parent and above have room for another tree like @n?
 * ERR_EXHAUSTED. */
MUST_CHECK int names_check_room(const struct inode *parent,
                                const struct inode *n,
                                struct err *err);
/* For the files at and below @path that come after the path @after, if it is
 * not empty: as many as make about @most inodes and chunks. PRE: @most > 0.
 * *@last: continue after this one; NULL: that was all. */
MUST_CHECK int names_set_replication(struct names *ns,
                                     struct slice path,
                                     uint8_t replication,
                                     struct slice after,
                                     uint64_t most,
                                     const struct inode **last,
                                     struct err *err);
/* Set the quotas of a directory; 0: none. Errors: ERR_NOTFOUND, ERR_INVALID (a
 * file). */
MUST_CHECK int names_set_quota(struct names *ns,
                               struct slice path,
                               uint64_t entries,
                               uint64_t bytes,
                               struct err *err);

/* --- rights: permission.h decides by them -------------------------------- */

/* @mode: enum gfs_mode. Errors: ERR_NOTFOUND, ERR_INVALID (a file has no sticky
 * bit). */
MUST_CHECK int names_set_mode(struct names *ns,
                              struct slice path,
                              uint32_t mode,
                              struct err *err);
/* Change the owner; grants that the old one made are removed. Errors:
 * ERR_NOTFOUND, ERR_INVALID (no name), those of owners_number(). */
MUST_CHECK int names_set_owner(struct names *ns,
                               struct slice path,
                               struct slice owner,
                               struct err *err);
/* Give @principal @rights to @path and all below, or take them away. @by_owner:
 * see grants.h. Errors: ERR_NOTFOUND, ERR_INVALID, ERR_EXHAUSTED. */
MUST_CHECK int names_grant(struct names *ns,
                           struct slice path,
                           struct slice principal,
                           uint64_t rights,
                           bool take,
                           bool by_owner,
                           struct err *err);

/* --- copying ------------------------------------------------------------- */

/* Begin to copy @from, a file or a directory with all below it, to the new name
 * @to, sharing chunks (GFS 3.4). A copy counts for the quotas above it like
 * other files; the quotas of copied directories are not copied.
 * ERR_UNAVAILABLE: another copy is being made. ERR_BUSY: *@busy is a file whose
 * last chunk must be sealed first. ERR_EXISTS, ERR_EXHAUSTED (quota):
 * directories above it may have been made. */
MUST_CHECK int names_copy_begin(struct names *ns,
                                struct slice from,
                                struct slice to,
                                uint64_t time_us,
                                uint64_t *busy,
                                struct err *err);
/* Copy about @most more inodes and chunks; a complete copy gets its name.
 * Errors as above: the copy is given up. PRE: one is being made. */
MUST_CHECK int names_copy_step(struct names *ns,
                               uint64_t most,
                               uint64_t time_us,
                               struct err *err);

static inline bool names_is_copying(const struct names *ns)
{
    return ns->copy.source != NULL;
}

/* May names in the directory @n and below it change? 0 or ERR_UNAVAILABLE: they
 * are being copied. */
MUST_CHECK int names_check_still(const struct names *ns,
                                 const struct inode *n,
                                 struct err *err);
/* May @n and everything below it be changed or removed? */
MUST_CHECK int names_check_all_still(const struct names *ns,
                                     const struct inode *n,
                                     struct err *err);

/* --- changing files ------------------------------------------------------ */

/* Record that @file is open. PRE: it is not. Borrowed. */
struct open_file *names_open(struct names *ns,
                             struct inode *file,
                             uint64_t session,
                             uint64_t epoch,
                             bool shared);
/* Forget that @file is open; a chunk ahead is dropped. PRE: its last chunk is
 * sealed, or it has none. */
void names_close_file(struct names *ns, struct inode *file, uint64_t time_us);
/* Add an unsealed chunk. PRE: the last one is sealed. Errors: ERR_EXHAUSTED. */
MUST_CHECK int names_add_chunk(struct names *ns,
                               struct inode *file,
                               struct chunk **out,
                               struct err *err);
/* Add one after the unsealed last chunk, which ended with @length bytes. PRE:
 * there is none yet; @length > 0. Errors: ERR_EXHAUSTED. */
MUST_CHECK int names_add_ahead(struct names *ns,
                               struct inode *file,
                               struct open_file *o,
                               uint32_t length,
                               struct err *err);
/* Drop the chunk after the last one, if there is one. */
void names_drop_ahead(struct names *ns, struct open_file *o);
/* Seal the last chunk at @length with its pending version; without bytes it is
 * dropped. A chunk ahead becomes the last one, unsealed, or is dropped if this
 * one did not end at the length it was begun with. PRE: the last chunk is
 * unsealed. */
void names_seal(struct names *ns,
                struct inode *file,
                uint32_t length,
                uint64_t time_us);

/* --- locks --------------------------------------------------------------- */

/* Lock the file at @path, made if it is missing, for @session. ERR_BUSY:
 * *@holder has it. */
MUST_CHECK int names_lock(struct names *ns,
                          struct slice path,
                          uint64_t session,
                          uint64_t time_us,
                          struct inode **out,
                          uint64_t *holder,
                          struct err *err);
/* ERR_NOTFOUND: @session has no such lock. */
MUST_CHECK int
names_unlock(struct names *ns, uint64_t id, uint64_t session, struct err *err);
/* Release all locks of @session. */
void names_unlock_all(struct names *ns, uint64_t session);

/* --- walking ------------------------------------------------------------- */

/* The next inode of the tree below and with @top in prefix order; NULL at the
 * end. */
struct inode *names_next(const struct inode *top, const struct inode *n);
/* The next one after @path, which leads below @top; the inode that it names may
 * have been removed. */
struct inode *names_next_after(const struct names *ns,
                               const struct inode *top,
                               struct slice path);
/* Is there a path to @n from which a walk can continue? Not to the root, nor to
 * an inode that was moved where no path is long enough. */
bool names_can_be_found(const struct inode *n);

/* The work that a step counts for @n. */
static inline uint64_t names_work(const struct inode *n)
{
    return n->is_directory || n->chunk_count == 0 ? 1 : n->chunk_count;
}

/* A file in the tree @top whose last chunk is not sealed, or NULL. */
struct inode *names_find_unsealed(const struct names *ns,
                                  const struct inode *top);

/* --- for the files of this module ---------------------------------------- */

/* The counts that an inode and all below it add to the directories above. */
struct weight {
    uint64_t entries;
    uint64_t files;
    uint64_t bytes;
};

/* The weight of @n with all below it. */
struct weight names_weigh(const struct inode *n);
/* May @n, with all below it, be named @to? Names may be deeper than the limit
 * only if they do not get deeper: a tree can leave the trash. ERR_INVALID. */
MUST_CHECK int
names_check_depth(const struct inode *n, struct slice to, struct err *err);
/* Add @n and all below it to the levels of @parent and above (@in), or remove
 * them. */
void names_count_levels(struct inode *parent, const struct inode *n, bool in);
/* Add to, or take from, the counters of @parent and all above it. */
void names_add_weight(struct inode *parent, struct weight w);
void names_take_weight(struct inode *parent, struct weight w);
/* Remove @n from its directory. PRE: it is in one. */
void names_detach(struct inode *n);
/* Give @n the name @name below @parent. */
void names_move(struct names *ns,
                struct inode *n,
                struct inode *parent,
                struct slice name,
                uint64_t time_us);
/* Is @n @above, or below it? */
bool names_is_below(const struct inode *n, const struct inode *above);
/* Put @n, which is in no directory, among the doomed. */
void names_doom(struct names *ns, struct inode *n);
/* Free @n, which is in no directory: now if it is small, else among the doomed,
 * step by step. */
void names_dispose(struct names *ns, struct inode *n);
/* Free @n, which is in no directory, and all below it, now. */
void names_destroy(struct names *ns, struct inode *n);

/* --- for the image ------------------------------------------------------- */

/* Put @n, which is in no directory, below @parent, and count it. */
void names_attach(struct names *ns, struct inode *parent, struct inode *n);
/* The copy of ns->copy.at; NULL: the copy so far is not the source up to it. */
struct inode *names_copy_last(const struct names *ns);
/* Panics unless the invariants hold: for tests. */
void names_check(const struct names *ns);

#endif /* GFS_LITE_NAMENODE_NAMESPACE_H */
