/* Observers: a function that runs after a watched column of a table changes,
 * and whose effect is there exactly once. docs/observers.md has the promise.
 *
 *     static int count_links(struct quarry_observation *o, void *ctx,
 *                            struct err *err)
 *     {
 *         struct quarry_mutation *m = quarry_mutation_new(o->row);
 *         … read o->cells, or anything by o->txn …
 *         quarry_mutation_set(m, "count", SLICE_LIT("links"), QUARRY_NOW, …);
 *         rc = quarry_observer_write(o, "pages", m, err);
 *         quarry_mutation_free(m);
 *         return rc;
 *     }
 *
 *     quarry_observer_create(q, &spec, &err)                    once
 *     quarry_observer_run(q, "links", count_links, NULL, NULL, &err)
 *
 * After D. Peng and F. Dabek, "Large-scale Incremental Processing Using
 * Distributed Transactions and Notifications", OSDI 2010, section 2.4. The
 * changes of a table are read as a stream; those of a batch, row by row, and
 * the place in the stream are one transaction, so that a crash at any moment
 * neither loses nor repeats an effect. The function itself may run again.
 *
 * Tables that an observer reads in its transaction or writes take part in
 * transactions (quarry_txn.h), and the observed table keeps its changes.
 *
 * Threads: any. Everything reaches the store: errors are those of quarry.h and
 * quarry_txn.h.
 */
#ifndef BIGTABLE_QUARRY_OBSERVER_H
#define BIGTABLE_QUARRY_OBSERVER_H

#include "bigtable/quarry.h"
#include "bigtable/quarry_txn.h"

#ifdef __cplusplus
extern "C" {
#endif

#define QUARRY_OBSERVER_COLUMNS_MAX 64
#define QUARRY_OBSERVER_TRIES       3

/* A program that an observer keeps. Servers with the role `follow` run it, and
 * so does `quarry follow run`: on behalf of who made the observer, commands and
 * Python in a cage. docs/observers.md says what it reads and answers. */
struct quarry_observer_program {
    /* "command": of the shell; "saw": Sawzall; "python": a source file; "job":
     * the name of a job that is built in, and a line "NAME=VALUE" for each of
     * its parameters. NULL: there is none, and a program calls
     * quarry_observer_run(). */
    const char *kind;
    struct slice text;
    const char *function; /* Of Python: its name. */
    /* Its answer for a row is all that the row stands for: cells of an
     * earlier answer that are not in the new one are deleted. Always so of
     * Sawzall and of jobs. */
    bool derives;
    bool stays;            /* A command that answers each line at once. */
    uint64_t timeout_us;   /* Without an answer it is ended; 0: 30 s. */
    uint64_t memory_bytes; /* 0: 512 MiB. */
};

struct quarry_observer_spec {
    const char *name;  /* [a-z0-9_.-]{1,64} */
    const char *table; /* It observes. */
    /* "family" or "family:qualifier": a change of one of them, a deletion
     * included, runs the function. */
    const char *const *columns;
    size_t column_count;
    /* "table:family" or "table:family:qualifier": all that it may write. An
     * observer that would, by way of others or not, trigger itself is not
     * made. */
    const char *const *writes;
    size_t write_count;
    /* A row for which the function failed as often is put aside: 0: 3. */
    unsigned tries;
    struct quarry_observer_program program;
    /* The table of answers that name none; NULL: none. If nothing else is
     * declared, all its families may be written. */
    const char *output;
    /* A row that was put aside is tried again after this time, then after
     * twice, four times, … 64 times of it; 0: when somebody asks for it. */
    uint64_t retry_us;
};

/* Make an observer of what is written from now on. Errors: ERR_EXISTS;
 * ERR_INVALID: a column is none, or there would be a cycle, which is named;
 * ERR_UNSUPPORTED: a table keeps no changes or takes no part in transactions.
 */
QUARRY_EXPORT MUST_CHECK int
quarry_observer_create(struct quarry *q,
                       const struct quarry_observer_spec *spec,
                       struct err *err);
/* Drop it, with the rows that it has put aside. ERR_NOTFOUND. */
QUARRY_EXPORT MUST_CHECK int
quarry_observer_drop(struct quarry *q, const char *name, struct err *err);

/* --- running ------------------------------------------------------------- */

struct observer_run;

/* A row that changed, as the function sees it. All is borrowed. */
struct quarry_observation {
    struct slice row;
    /* Changes of watched columns, the oldest first: at least one, but none of
     * a row that is tried again after it was put aside. */
    const struct quarry_change *changes;
    size_t change_count;
    const struct quarry_row *cells; /* The row now; NULL: it has none. */
    struct quarry_txn *txn;         /* For other reads: of the same moment. */
    struct observer_run *run;       /* The library's, as the next. */
    struct observed_row *observed;
};

/* Change rows in the transaction: by quarry_observer_write() alone. 0, or an
 * error: then nothing of this row's is written, and it is tried again. It may
 * run several times for the same changes. */
typedef int (*quarry_observer_fn)(struct quarry_observation *o,
                                  void *ctx,
                                  struct err *err);

/* Apply @m, which is copied, to @table once the function has succeeded.
 * ERR_DENIED: the observer has not said that it writes there. */
QUARRY_EXPORT MUST_CHECK int
quarry_observer_write(struct quarry_observation *o,
                      const char *table,
                      const struct quarry_mutation *m,
                      struct err *err);

struct quarry_observer_run_options {
    const quarry_flag *stop; /* Ends it when it becomes true; borrowed. */
    bool until_caught_up;    /* Ends when all that was written before has been
                                dealt with. */
};

/* Run observer @name with @fn, one row at a time; of any number of processes
 * that call this, one runs it, and another takes over when that dies. @options
 * may be NULL: it never ends. @fn runs on a thread of the library. Errors:
 * ERR_NOTFOUND; ERR_INVALID: it keeps its program; ERR_ABORTED:
 * until_caught_up, and it fails again and again. */
QUARRY_EXPORT MUST_CHECK int
quarry_observer_run(struct quarry *q,
                    const char *name,
                    quarry_observer_fn fn,
                    void *ctx,
                    const struct quarry_observer_run_options *options,
                    struct err *err);

/* --- rows that were put aside -------------------------------------------- */

struct quarry_observer_letter {
    struct slice row;
    const char *error;
    int64_t time_us;
    bool waits;     /* It will be tried again. */
    unsigned times; /* It was put aside in a row. */
};

/* Those of @name, by row. *@out is owned: quarry_observer_letters_free(). */
QUARRY_EXPORT MUST_CHECK int
quarry_observer_log(struct quarry *q,
                    const char *name,
                    struct quarry_observer_letter **out,
                    size_t *count,
                    struct err *err);
QUARRY_EXPORT void
quarry_observer_letters_free(struct quarry_observer_letter *list, size_t count);
/* Have @row (NULL: all rows) tried again, as it is then. */
QUARRY_EXPORT MUST_CHECK int quarry_observer_retry(struct quarry *q,
                                                   const char *name,
                                                   const struct slice *row,
                                                   struct err *err);

#ifdef __cplusplus
}
#endif

#endif /* BIGTABLE_QUARRY_OBSERVER_H */
