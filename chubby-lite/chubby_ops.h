/* The operations of a lock service behind chubby.h, which chubby.c calls
 * through this table. Our own cell is one (chubby_client.c); a service that
 * others run is another (mapped/).
 *
 * Each function has the contract of the public one of its name.
 *
 * One loop.
 */
#ifndef CHUBBY_LITE_CHUBBY_OPS_H
#define CHUBBY_LITE_CHUBBY_OPS_H

#include "chubby-lite/chubby.h"

/* The beginning of every session, and of every handle. */
struct chubby {
    const struct chubby_ops *ops;
};

struct chubby_handle {
    struct chubby *session; /* Borrowed. */
    char *path;             /* Owned by the implementation. */
};

struct chubby_ops {
    void (*disconnect)(struct chubby *c);
    bool (*is_safe)(const struct chubby *c);
    int (*open)(struct chubby *c,
                const char *path,
                unsigned flags,
                const struct chubby_open_options *opts,
                struct chubby_handle **out,
                struct err *err);
    void (*close)(struct chubby_handle *h);
    int (*read)(struct chubby_handle *h,
                struct buf *out,
                struct chubby_stat *stat,
                struct err *err);
    bool (*is_cached)(const struct chubby_handle *h);
    int (*get_stat)(struct chubby_handle *h,
                    struct chubby_stat *stat,
                    struct err *err);
    int (*list)(struct chubby_handle *h,
                char ***names,
                size_t *count,
                struct err *err);
    int (*write)(struct chubby_handle *h,
                 struct slice contents,
                 uint64_t if_generation,
                 struct err *err);
    int (*set_acl)(struct chubby_handle *h,
                   const char *read,
                   const char *write,
                   const char *change,
                   struct err *err);
    int (*remove)(struct chubby_handle *h, struct err *err);
    int (*acquire)(struct chubby_handle *h,
                   enum chubby_lock mode,
                   struct err *err);
    int (*try_acquire)(struct chubby_handle *h,
                       enum chubby_lock mode,
                       struct err *err);
    int (*release)(struct chubby_handle *h, struct err *err);
    int (*sequencer)(struct chubby_handle *h,
                     char text[CHUBBY_SEQUENCER_BYTES_MAX],
                     struct err *err);
    int (*check_sequencer)(struct chubby *c,
                           struct slice sequencer,
                           struct err *err);
    int (*list_sessions)(struct chubby *c,
                         uint64_t after,
                         uint32_t limit,
                         struct arena *a,
                         struct chubby_session_list *out,
                         struct err *err);
    int (*list_entries)(struct chubby *c,
                        const char *path,
                        const char *after,
                        uint32_t limit,
                        struct arena *a,
                        struct chubby_entry_list *out,
                        struct err *err);
};

/* Sessions begin, and those of processes that are gone end, in each service by
 * functions of its own, as chubby_connect() and chubby_end_session(). */
MUST_CHECK int lock_client_connect(struct world *w,
                                   const struct chubby_options *opts,
                                   struct chubby **out,
                                   struct err *err);
void lock_client_end_session(struct world *w,
                             const struct chubby_options *opts,
                             const char *note);

/* Read the note of a session from file @memo, or replace it. Parks. */
MUST_CHECK bool chubby__read_memo(struct world *w,
                                  const char *memo,
                                  char note[CHUBBY_NOTE_BYTES_MAX]);
void chubby__write_memo(struct world *w, const char *memo, const char *note);

#endif /* CHUBBY_LITE_CHUBBY_OPS_H */
