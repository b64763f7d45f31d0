/* The lock service: a small file system whose files are also locks. A cluster
 * agrees with it on its master, its live servers, the place of its root.
 *
 * After M. Burrows, "The Chubby lock service for loosely-coupled distributed
 * systems", OSDI 2006. A cell of one, three or five servers keeps directories
 * and small files; each of them is also a reader-writer lock. Whole files are
 * read and written atomically, clients cache consistently, and receive events
 * about changes.
 *
 *     chubby_connect(w, &opts, &c, &err)
 *     chubby_open(c, "/bigtable/master", CHUBBY_WRITE | CHUBBY_CREATE, NULL,
 *                 &h, &err)
 *     chubby_acquire(h, CHUBBY_EXCLUSIVE, &err)
 *     chubby_sequencer(h, text, &err)       every request to others carries it
 *     …
 *     chubby_close(h)
 *     chubby_disconnect(c)
 *
 * Sessions. A session lives while its keep-alives are answered. When the lease
 * runs out unanswered, it is in jeopardy: the cache is switched off and calls
 * wait. A server that answers within the grace period saves it, with all its
 * handles and locks; otherwise it has expired, every call fails with
 * ERR_CLOSED, and its locks are free after their lock-delay.
 *
 * Locks are advisory. A holder sends its sequencer along with its requests to
 * other servers, which check it (chubby_check_sequencer()): a request that was
 * delayed until after the lock had changed hands is refused.
 *
 * Threads: one loop, that of the fiber that connected.
 */
#ifndef CHUBBY_LITE_CHUBBY_H
#define CHUBBY_LITE_CHUBBY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/slice.h"

struct buf;
struct chubby;
struct chubby_handle;
struct rpc_security;
struct world;

/* Small files, as in the paper: larger data belongs elsewhere. */
#define CHUBBY_CONTENTS_BYTES_MAX  ((size_t)256 << 10)
#define CHUBBY_PATH_BYTES_MAX      1024
#define CHUBBY_NAME_BYTES_MAX      255
#define CHUBBY_DEPTH_MAX           32 /* Names in a path. */
#define CHUBBY_SEQUENCER_BYTES_MAX (CHUBBY_PATH_BYTES_MAX + 64)
#define CHUBBY_LOCK_DELAY_MS_MAX   60000

/* --- flags, locks and events --------------------------------------------- */

enum chubby_open_flags {
    CHUBBY_READ = 1,       /* Contents, children, state. */
    CHUBBY_WRITE = 2,      /* Contents, locks, deletion. */
    CHUBBY_CHANGE_ACL = 4, /* The names of its access control lists. */
    CHUBBY_CREATE = 8,     /* Make it if it does not exist. */
    CHUBBY_NEW = 16,       /* With CREATE: ERR_EXISTS if it exists. */
    CHUBBY_DIRECTORY = 32, /* Make, or insist on, a directory. */
    CHUBBY_EPHEMERAL = 64, /* With CREATE: is removed when no session has it
                              open (a directory: and when it is empty). */
    /* Each read asks the leader. A change of the node waits for the sessions
     * that may have it in their cache, or for the end of their leases; not for
     * this handle. */
    CHUBBY_UNCACHED = 128,
};

enum chubby_lock {
    CHUBBY_FREE = 0,
    CHUBBY_SHARED = 1,
    CHUBBY_EXCLUSIVE = 2
};

enum chubby_event {
    CHUBBY_EVENT_CONTENT = 1,  /* The file was written. */
    CHUBBY_EVENT_CHILDREN = 2, /* A child was made, removed or written. */
    CHUBBY_EVENT_LOCKED = 4,   /* The lock was acquired. */
    CHUBBY_EVENT_CONFLICT = 8, /* Another session wants the lock held here. */
    CHUBBY_EVENT_INVALID = 16, /* The node was removed; the handle is of no more
                                  use. Without subscription. */
    /* Of the session; without subscription. */
    CHUBBY_EVENT_FAILOVER = 32, /* Another server leads: events may be lost. */
    CHUBBY_EVENT_JEOPARDY = 64, /* The lease ran out unanswered. */
    CHUBBY_EVENT_SAFE = 128,    /* The jeopardy is over. */
    CHUBBY_EVENT_EXPIRED = 256, /* The session is lost, with all its locks. */
};

struct chubby_stat {
    uint64_t instance; /* Greater than that of any earlier node of the name. */
    uint64_t content_generation; /* Writes of the file, that of what it began
                                    with counted. */
    uint64_t lock_generation;    /* Times the lock went from free to held. */
    uint64_t acl_generation;
    uint64_t contents_bytes;
    uint32_t child_count;
    uint32_t checksum; /* CRC32C of the contents. */
    bool is_directory;
    bool is_ephemeral;
};

/* --- sessions ------------------------------------------------------------ */

/* @h is NULL for an event of the session. Does not park: post or start a fiber
 * for what does. */
typedef void (*chubby_event_cb)(void *ctx,
                                struct chubby_handle *h,
                                enum chubby_event event);

/* The lease of the sessions of the cluster's own processes. It is shorter than
 * that of clients, because the work of a server that is cut off waits that long
 * for another server. A process that was busy for 2 s keeps its session: a
 * quarter of the lease may have passed since its last keep-alive was answered.
 */
#define CHUBBY_SERVER_LEASE_MS 3000

/* Zeros give the defaults. */
struct chubby_options {
    const char *const *servers; /* Addresses of the cell; copied. */
    size_t server_count;
    const struct rpc_security *security; /* Borrowed. */
    uint32_t lease_ms;                   /* Default 12,000, with an address
                                            CHUBBY_SERVER_LEASE_MS. */
    uint32_t grace_ms;                   /* Default 45,000. */
    uint64_t cache_bytes;                /* Default 4 MiB. */
    /* A file where the client notes its session; copied. When its process has
     * died and restarts, that session ends at once instead of with its
     * lease. One client at a time uses it. NULL: none. */
    const char *memo;
    /* Where others reach this process ("host:port"; copied), which listens
     * there from before its session until after it. When its connections are
     * closed and nobody listens there any more, the process is gone: the
     * session ends at once instead of with its lease. NULL: none. */
    const char *address;
    chubby_event_cb on_event; /* NULL: events are dropped. */
    void *ctx;
};

/* The text of a file of `memo`, NUL-terminated: the session, in the terms of
 * its service. It may hold a secret that lets others end the session. */
#define CHUBBY_NOTE_BYTES_MAX 128

/* The session that is noted in the file @memo; false: none. Parks. */
MUST_CHECK bool chubby_noted_session(struct world *w,
                                     const char *memo,
                                     char note[CHUBBY_NOTE_BYTES_MAX]);
/* End the session of @note, whose client's process is gone. If no server
 * answers, its lease ends it. Parks, as long as the fiber's deadline allows. */
void chubby_end_session(struct world *w,
                        const struct chubby_options *opts,
                        const char *note);

/* Begin a session. Parks until a leader of the cell answered. *@out is owned.
 * Errors: ERR_UNAVAILABLE, ERR_DENIED, ERR_DEADLINE, ERR_CANCELLED. */
MUST_CHECK int chubby_connect(struct world *w,
                              const struct chubby_options *opts,
                              struct chubby **out,
                              struct err *err);
/* End the session and free its locks at once. Parks. PRE: no handle is open and
 * no call is running. NULL is allowed. */
void chubby_disconnect(struct chubby *c);

/* Are locks of this session surely held: is it neither in jeopardy nor expired?
 * A server that works under a lock checks this before each answer. */
bool chubby_is_safe(const struct chubby *c);

/* --- handles ------------------------------------------------------------- */

struct chubby_open_options {
    unsigned events;        /* CHUBBY_EVENT_* to receive. */
    uint32_t lock_delay_ms; /* How long the lock stays closed when its holder
                               fails; at most a minute. */
    struct slice contents;  /* With CHUBBY_CREATE. */
    /* Names of files in /acl; NULL: those of the directory above. */
    const char *acl_read;
    const char *acl_write;
    const char *acl_change;
};

/* Open the node at @path ("/a/b"). @opts may be NULL. Parks. *@out is owned.
 * Errors: ERR_NOTFOUND, ERR_EXISTS, ERR_INVALID (the path; a file where a
 * directory is needed), ERR_DENIED (names the list), ERR_TOOBIG, ERR_EXHAUSTED,
 * ERR_CLOSED (the session has expired), ERR_DEADLINE, ERR_CANCELLED. */
MUST_CHECK int chubby_open(struct chubby *c,
                           const char *path,
                           unsigned flags,
                           const struct chubby_open_options *opts,
                           struct chubby_handle **out,
                           struct err *err);
/* Close, freeing a lock held by it. Parks. NULL is allowed. */
void chubby_close(struct chubby_handle *h);
/* The path that @h was opened with; borrowed. */
const char *chubby_path(const struct chubby_handle *h);

/* All calls below park unless the cache has the answer. Errors, beside those
 * named:
 * ERR_NOTFOUND (the node is gone), ERR_DENIED (not opened for it), ERR_CLOSED,
 * ERR_DEADLINE, ERR_CANCELLED. */

/* Append the file's contents to @out. @stat may be NULL; with it, the leader is
 * asked. */
MUST_CHECK int chubby_read(struct chubby_handle *h,
                           struct buf *out,
                           struct chubby_stat *stat,
                           struct err *err);
/* Would chubby_read() be answered at once, from the cache? Then no change of
 * the file has been acknowledged since it was read. Does not park. */
bool chubby_is_cached(const struct chubby_handle *h);
/* Ask the leader for the state of the node. */
MUST_CHECK int chubby_get_stat(struct chubby_handle *h,
                               struct chubby_stat *stat,
                               struct err *err);
/* Names of a directory's children, sorted. Owned: chubby_names_free(). */
MUST_CHECK int chubby_list(struct chubby_handle *h,
                           char ***names,
                           size_t *count,
                           struct err *err);
/* Free what chubby_list() returned. */
void chubby_names_free(char **names, size_t count);

/* Replace the file's contents; @if_generation, unless 0, must be the content
 * generation: ERR_ABORTED otherwise. ERR_TOOBIG. */
MUST_CHECK int chubby_write(struct chubby_handle *h,
                            struct slice contents,
                            uint64_t if_generation,
                            struct err *err);
/* Names of files in /acl, "" for everybody; NULL leaves one as it is. */
MUST_CHECK int chubby_set_acl(struct chubby_handle *h,
                              const char *read,
                              const char *write,
                              const char *change,
                              struct err *err);
/* Delete the node; ERR_BUSY when it has children. */
MUST_CHECK int chubby_delete(struct chubby_handle *h, struct err *err);

/* --- locks --------------------------------------------------------------- */

/* Wait for the lock, which the handle may hold already. Parks. Errors: as
 * above; ERR_INVALID: it holds the lock in the other mode. */
MUST_CHECK int
chubby_acquire(struct chubby_handle *h, enum chubby_lock mode, struct err *err);
/* The same without waiting. Errors: also ERR_BUSY, which names a holder. */
MUST_CHECK int chubby_try_acquire(struct chubby_handle *h,
                                  enum chubby_lock mode,
                                  struct err *err);
/* Free the lock. Errors: also ERR_INVALID: it is not held. */
MUST_CHECK int chubby_release(struct chubby_handle *h, struct err *err);
/* Describe the lock held by @h, NUL-terminated. ERR_INVALID: none is held. */
MUST_CHECK int chubby_sequencer(struct chubby_handle *h,
                                char text[CHUBBY_SEQUENCER_BYTES_MAX],
                                struct err *err);
/* Is the lock that @sequencer describes still held? ERR_ABORTED: no more;
 * ERR_INVALID: it is none. */
MUST_CHECK int chubby_check_sequencer(struct chubby *c,
                                      struct slice sequencer,
                                      struct err *err);

/* --- the whole cell ------------------------------------------------------ */

/* Sessions, or entries, in one answer; locks of a session and holders of a lock
 * that are named. */
#define CHUBBY_SURVEY_MAX       1000
#define CHUBBY_SURVEY_NAMED_MAX 100

struct chubby_session_view {
    uint64_t id;
    struct slice principal;
    struct slice address; /* Where its process listens; "": not known. */
    uint64_t lease_ms;
    uint64_t lease_left_us; /* 0: it has run out. */
    uint64_t handle_count;
    uint64_t held_count; /* Locks that it holds, */
    struct slice *locks; /* and the paths of some of them. */
    size_t lock_count;
};

struct chubby_session_list {
    uint64_t total; /* Sessions of the cell. */
    struct chubby_session_view *at;
    size_t count;
    bool more; /* After the last of these. */
};

struct chubby_holder_view {
    uint64_t session;
    struct slice principal;
    struct slice address;
};

struct chubby_entry_view {
    struct slice name;
    struct chubby_stat stat;
    enum chubby_lock mode; /* Of its lock; CHUBBY_FREE: nobody holds it. */
    uint64_t handle_count; /* That have it open. */
    uint64_t holder_count;
    struct chubby_holder_view *holders; /* Some of them. */
    size_t named_count;
};

struct chubby_entry_list {
    uint64_t total; /* Entries of the directory. */
    struct chubby_entry_view *at;
    size_t count;
    bool more;
};

struct arena;

/* The sessions of the cell after the id @after, at most @limit (0: as many as
 * one answer has), in the order of their ids; in memory of @a. For the
 * cluster's processes and administrators. Parks. Errors: ERR_DENIED,
 * ERR_UNAVAILABLE, ERR_DEADLINE, ERR_CANCELLED. */
MUST_CHECK int chubby_list_sessions(struct chubby *c,
                                    uint64_t after,
                                    uint32_t limit,
                                    struct arena *a,
                                    struct chubby_session_list *out,
                                    struct err *err);
/* The entries of directory @path after the name @after, sorted, with the
 * holders of their locks. As chubby_list_sessions(); also ERR_NOTFOUND,
 * ERR_INVALID (a file). */
MUST_CHECK int chubby_list_entries(struct chubby *c,
                                   const char *path,
                                   const char *after,
                                   uint32_t limit,
                                   struct arena *a,
                                   struct chubby_entry_list *out,
                                   struct err *err);

#endif /* CHUBBY_LITE_CHUBBY_H */
