/* A session in a service that others run: its lease, its transactions, the
 * nodes that it has open, what it watches and what it has cached. Private to
 * mapped/; the contract is that of chubby.h.
 *
 * Lease. The store says how long a renewal is good for (coordination.h). It
 * counts from before the renewal was sent, by the clock that also runs while
 * the machine sleeps, less the drift of two clocks. When it has run out, the
 * session is in jeopardy: that is before any server ends it.
 *
 * Transactions. Each has one change more: the number of the transaction in the
 * session's journal, a value that only this session writes, and only in the
 * version it had. So there is one at a time; one whose answer was lost is found
 * in the journal, or is kept from ever being made by another change of it.
 *
 * Caches. A session that keeps the contents of a file has a value below the
 * state of its lock (mapped_path.h), made in a transaction that finds the
 * contents unchanged and nobody draining. A session that will change the file
 * marks the lock's state as draining, waits until those values are gone, and
 * then makes its change in one transaction with that mark's end. A session
 * watches the state of the locks of files that it has cached, drops them when
 * somebody drains, and only then takes its value away; one that dies loses its
 * values with its session, whose lease has run out by then. So no change is
 * acknowledged while a cache has what was before it.
 *
 * Instances. A version begins again when a value is removed and made again; so
 * the directory's list counts removals in it, and transactions on a node check
 * that there was none since the node was looked at.
 *
 * One loop.
 *
 * Invariants
 *     INV-1. A session that has ended stays so: mapped__set_state().
 *     INV-2. Contents are cached only while the session's value below the lock
 *            is there: `registered` is set before, and cleared after them.
 *     INV-3. One transaction is under way: `committing`.
 *     INV-4. A node has a handle, or a fiber that keeps it: `refs`.
 */
#ifndef CHUBBY_LITE_MAPPED_MAPPED_STATE_H
#define CHUBBY_LITE_MAPPED_MAPPED_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include <bsd/sys/queue.h>

#include "base/core/buf.h"
#include "base/core/rand.h"
#include "chubby-lite/chubby_ops.h"
#include "chubby-lite/mapped/coordination.h"
#include "chubby-lite/mapped/mapped_path.h"
#include "chubby-lite/mapped/mapped_record.h"
#include "chubby-lite/wait_queue.h"

struct fiber;

/* The code of a try that found another session's change between its look and
 * its own: look again. */
#define MAPPED_AGAIN 1

/* Operations of one transaction, the journal's not counted. */
#define MAPPED_OPS_MAX 128

enum mapped_session_state {
    MAPPED_SAFE,
    MAPPED_JEOPARDY,
    MAPPED_EXPIRED
};

struct mapped {
    struct chubby base;
    struct world *world;
    chubby_event_cb on_event;
    void *ctx;
    struct coordination *store; /* Owned. */
    char *root;
    char *beat; /* Paths of the session's own values. */
    struct buf beat_record;
    char *journal;
    uint32_t grace_ms;
    struct rand_gen random;
    enum mapped_session_state state;
    uint64_t deadline_ns;      /* Monotonic: the session surely lives before. */
    struct wait_queue changed; /* Woken when state, or what is watched, did. */
    struct fiber *keeper;
    struct fiber *watcher;
    struct wait_queue dirty; /* The watcher waits here. */
    bool has_dirty;
    bool closing;
    /* Transactions. */
    bool committing;
    struct wait_queue turn;
    bool journal_doubt;      /* One may or may not have been made. */
    int64_t journal_version; /* Before it. */
    uint64_t journal_number; /* In it. */
    /* Nodes and handles. */
    LIST_HEAD(, mapped_node) nodes;
    LIST_HEAD(, path_waiter) waiters;
    uint64_t handle_count; /* Ever opened: numbers of handles. */
    uint64_t cache_bytes;
    uint64_t cache_bytes_max;
};

/* A node that is open here. */
struct mapped_node {
    LIST_ENTRY(mapped_node) link;
    LIST_HEAD(, mapped_handle) handles;
    struct mapped *session;
    unsigned refs; /* Handles, and fibers that use it. */
    char *path;    /* Owned. */
    struct mapped_path at;
    const char *record; /* Of `at`: record or ephemeral. */
    uint64_t instance;
    bool is_directory;
    bool is_ephemeral;
    bool gone;      /* Removed: known by an event or an answer. */
    bool gone_told; /* And its handles know. */
    bool leaving;   /* The last handle of an ephemeral file closes. */
    /* Left for the watcher to look at again. */
    bool record_dirty;
    bool lock_dirty;
    bool list_dirty;
    bool lock_watched;
    bool list_watched;
    /* As last seen, to tell what an event is about. */
    uint64_t content_generation;
    uint64_t list_version;
    uint64_t lock_generation;
    uint64_t wanted;
    /* Cached contents. */
    bool registered; /* The session's value below the lock may be there. */
    bool cached;
    uint64_t cache_epoch; /* Another after each drop. */
    unsigned writing;     /* Calls that change it. */
    unsigned uncaching;   /* Calls that take the session's value away. */
    struct buf contents;
};

struct mapped_handle {
    struct chubby_handle base;
    LIST_ENTRY(mapped_handle) link;
    struct mapped_node *node;
    uint64_t id;
    unsigned flags;
    unsigned events;
    uint32_t lock_delay_ms;
    enum chubby_lock holding; /* As its last call said. */
    bool lock_doubt;          /* A call ended without saying. */
    unsigned reads;
};

/* A fiber that waits for a change of some paths. */
struct path_waiter {
    LIST_ENTRY(path_waiter) link;
    char **paths;
    size_t count;
    bool hit;
};

static inline struct mapped *mapped__session(struct chubby *base)
{
    return (struct mapped *)base;
}

static inline struct mapped_handle *mapped__handle(struct chubby_handle *base)
{
    return (struct mapped_handle *)base;
}

/* --- mapped_session.c ---------------------------------------------------- */

void mapped__set_state(struct mapped *m, enum mapped_session_state state);
bool mapped__is_safe(const struct mapped *m);
/* When a fiber that was cancelled has had its time to say goodbye. */
uint64_t mapped__hasty_ns(const struct mapped *m);
/* Wait while the session is in jeopardy. Parks. Errors: ERR_CLOSED. */
MUST_CHECK int mapped__wait_safe(struct mapped *m, struct err *err);
/* Pass on an event of a handle, or (NULL) of the session. */
void mapped__notify(struct mapped *m,
                    struct mapped_handle *h,
                    enum chubby_event event);

/* --- mapped_store.c: the store, over losses of its answers ---------------- */

/* As those of the store, but they try again while the session lives. */
MUST_CHECK int mapped__get(struct mapped *m,
                           const char *path,
                           unsigned flags,
                           struct buf *value,
                           struct coordination_stat *stat,
                           struct err *err);
MUST_CHECK int mapped__list(struct mapped *m,
                            const char *path,
                            unsigned flags,
                            char ***names,
                            size_t *count,
                            struct err *err);
/* 0: all of @ops were made, once, at *@revision (NULL: not wanted);
 * MAPPED_AGAIN: none, because something was not as they say. With another error
 * they may have been made. */
MUST_CHECK int mapped__commit(struct mapped *m,
                              const struct coordination_op *ops,
                              size_t count,
                              uint64_t *revision,
                              struct err *err);
/* Does session @id live? With COORDINATION_WATCH, its end is an event. */
MUST_CHECK int mapped__lives(struct mapped *m,
                             uint64_t id,
                             unsigned flags,
                             bool *lives,
                             struct err *err);
/* The value of session @id below @path. Owned. */
char *mapped__session_path(const char *path, uint64_t id);

/* One try of a call. It may look at what is old unless it is @fresh: what it
 * changes is checked in any case, and a refusal is tried again. */
typedef int (*mapped_try_fn)(void *arg, bool fresh, struct err *err);
/* Try until the outcome is not MAPPED_AGAIN; the first time @fresh, later in
 * any case. Parks. */
MUST_CHECK int mapped__try(struct mapped *m,
                           mapped_try_fn fn,
                           void *arg,
                           bool fresh,
                           struct err *err);

void mapped__wait_for(struct mapped *m,
                      struct path_waiter *w,
                      const char *path);
/* Wait for a change of what was added since the last look, at most until
 * @until_ns (0: some seconds). Parks. */
MUST_CHECK int mapped__wait_change(struct mapped *m,
                                   struct path_waiter *w,
                                   uint64_t until_ns,
                                   struct err *err);
void mapped__waiter_close(struct path_waiter *w);

/* --- mapped_node.c ------------------------------------------------------- */

void mapped__node_unref(struct mapped_node *n);

/* The state of a node, as a look at it found it. */
struct mapped_look {
    int64_t above_version; /* Of the list it is in. */
    struct coordination_stat stat;
    struct mapped_record record; /* Borrows from `bytes`. */
    struct buf bytes;
};

void mapped__look_close(struct mapped_look *l);
/* ERR_NOTFOUND: the instance is gone. @flags: COORDINATION_*. */
MUST_CHECK int mapped__look(struct mapped_node *n,
                            unsigned flags,
                            struct mapped_look *out,
                            struct err *err);
/* The check that no instance was removed since @l. */
struct coordination_op mapped__unremoved(const struct mapped_node *n,
                                         const struct mapped_look *l);
/* The change of the directory above that @n was written, made or removed. */
size_t mapped__touch_above(const struct mapped_node *n,
                           struct coordination_op *ops);

/* The operations of chubby_ops.h. */
int mapped__open(struct chubby *base,
                 const char *path,
                 unsigned flags,
                 const struct chubby_open_options *opts,
                 struct chubby_handle **out,
                 struct err *err);
void mapped__close(struct chubby_handle *base);
int mapped__remove(struct chubby_handle *base, struct err *err);

/* --- mapped_list.c ------------------------------------------------------- */

/* A node in a directory. */
struct mapped_entry {
    char *name; /* Owned. */
    bool has_record;
    bool has_ephemeral;
    bool has_children;
    size_t marker_count;
};

struct mapped_entries {
    struct mapped_entry *at; /* Owned, by name. */
    size_t count;
    char **markers; /* Owned: their names, as listed. */
    size_t marker_count;
};

/* Nodes in the list @children, those too that nobody has open any more
 * (mapped__entry_is_there()). ERR_NOTFOUND: there is no such list. */
MUST_CHECK int mapped__entries(struct mapped *m,
                               const char *children,
                               unsigned flags,
                               struct mapped_entries *out,
                               struct err *err);
void mapped__entries_close(struct mapped_entries *e);
bool mapped__entry_is_there(const struct mapped_entry *e);
const struct mapped_entry *mapped__entry_find(const struct mapped_entries *e,
                                              struct slice name);
/* Remove the ephemeral file @path that nobody has open, if it is still so. */
void mapped__sweep(struct mapped *m, struct slice path);

int mapped__list_names(struct chubby_handle *base,
                       char ***names,
                       size_t *count,
                       struct err *err);
int mapped__list_sessions(struct chubby *base,
                          uint64_t after,
                          uint32_t limit,
                          struct arena *a,
                          struct chubby_session_list *out,
                          struct err *err);
int mapped__list_entries(struct chubby *base,
                         const char *path,
                         const char *after,
                         uint32_t limit,
                         struct arena *a,
                         struct chubby_entry_list *out,
                         struct err *err);

/* --- mapped_cache.c ------------------------------------------------------ */

/* Drop cached contents, and take the session's value away. Parks. */
void mapped__uncache(struct mapped_node *n);
/* Have all caches of @n dropped. *@lock_version is that of the lock's state,
 * which says so; @state borrows from @a. Parks. */
MUST_CHECK int mapped__drain(struct mapped_node *n,
                             struct arena *a,
                             struct lock_state_record *state,
                             int64_t *lock_version,
                             struct err *err);
/* Nobody drains @n any more on behalf of this session, also if the caller was
 * cancelled. Parks. */
void mapped__drained(struct mapped_node *n);
int mapped__read(struct chubby_handle *base,
                 struct buf *out,
                 struct chubby_stat *stat,
                 struct err *err);
bool mapped__is_cached(const struct chubby_handle *base);
int mapped__get_stat(struct chubby_handle *base,
                     struct chubby_stat *stat,
                     struct err *err);
int mapped__write(struct chubby_handle *base,
                  struct slice contents,
                  uint64_t if_generation,
                  struct err *err);

/* --- mapped_lock.c ------------------------------------------------------- */

/* The state of the lock of @n; @out is in memory of @a. */
MUST_CHECK int mapped__lock_state(struct mapped *m,
                                  const char *path,
                                  unsigned flags,
                                  struct arena *a,
                                  struct lock_state_record *out,
                                  int64_t *version,
                                  struct err *err);
/* Free the lock if @h holds it, or may. Parks. */
void mapped__let_lock(struct mapped_handle *h);
/* Take holders out whose sessions are dead, and close the lock for their
 * delays. *@changed: there were some. */
MUST_CHECK int mapped__bury_holders(struct mapped *m,
                                    struct lock_state_record *s,
                                    unsigned flags,
                                    struct path_waiter *w,
                                    bool *changed,
                                    struct err *err);
int mapped__acquire(struct chubby_handle *base,
                    enum chubby_lock mode,
                    struct err *err);
int mapped__try_acquire(struct chubby_handle *base,
                        enum chubby_lock mode,
                        struct err *err);
int mapped__release(struct chubby_handle *base, struct err *err);
int mapped__sequencer(struct chubby_handle *base,
                      char text[CHUBBY_SEQUENCER_BYTES_MAX],
                      struct err *err);
int mapped__check_sequencer(struct chubby *base,
                            struct slice sequencer,
                            struct err *err);

/* --- mapped_watch.c ------------------------------------------------------ */

void mapped__on_event(void *ctx,
                      enum coordination_event event,
                      const char *path);
void mapped__watch_loop(void *arg);
/* Look at all of @n again soon. */
void mapped__soil(struct mapped_node *n);

#endif /* CHUBBY_LITE_MAPPED_MAPPED_STATE_H */
