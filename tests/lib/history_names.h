/* Are the answers of a file system's names those of some order of the calls?
 *
 * Calls of one directory's entries are one object of linearizable.h: create,
 * mkdir, remove, rename and snapshot within it, stat of one and list of all.
 * Whatever is called for, all its paths lie in the same directory.
 *
 *     struct history_names *h = history_names_new();
 *     size_t op = history_names_call(h, now, client, NAMES_RENAME, 0,
 *                                    "d/a", "d/b");
 *     rc = fs_rename(fs, "d/a", "d/b", &err);
 *     history_names_return(h, op, now, rc, NULL);
 *     …
 *     if (history_names_check(h, 0, &why) != HISTORY_LINEARIZABLE) …
 *
 * A file or directory is told from another of the same name by its number
 * (gfs_stat.file): what a rename moves keeps it, whatever else comes to be has
 * a new one. The model learns a number from the first answer that names it.
 *
 * Names below the entries are not checked: keep directories empty.
 *
 * Histories of several processes: each prints its lines
 * (history_names_print()), with one clock for all, and a checker reads them all
 * (history_names_read()).
 */
#ifndef TESTS_LIB_HISTORY_NAMES_H
#define TESTS_LIB_HISTORY_NAMES_H

#include "base/core/err.h"
#include "base/core/slice.h"
#include "tests/lib/linearizable.h"

struct history_names;

/* Entries of one directory that a history may name. */
#define HISTORY_NAMES_MAX 8

/* name, text */
#define HISTORY_NAMES_KINDS(X)                                                 \
    X(CREATE, "create")         /* Replaces a file. */                         \
    X(CREATE_NEW, "create-new") /* ERR_EXISTS. */                              \
    X(MKDIR, "mkdir")                                                          \
    X(REMOVE, "remove")           /* Of a file. */                             \
    X(REMOVE_TREE, "remove-tree") /* Of either. */                             \
    X(RENAME, "rename")                                                        \
    X(SNAPSHOT, "snapshot")                                                    \
    X(STAT, "stat")                                                            \
    X(LIST, "list") /* @path is the directory. */

enum names_kind {
#define X(name, text) NAMES_##name,
    HISTORY_NAMES_KINDS(X)
#undef X
    NAMES_KIND_COUNT
};

/* An answer of stat or list, besides its code. */
struct names_answer {
    bool is_directory;       /* stat. */
    uint64_t id;             /* stat; 0: not known. */
    const char *const *list; /* list: names without the directory's path. */
    size_t list_count;
};

struct history_names *history_names_new(void); /* Owned. */
void history_names_free(struct history_names *h);
size_t history_names_count(const struct history_names *h);

/* A call begins at @now. @to is NULL but for RENAME and SNAPSHOT; texts are
 * copied. Returns its number. PRE: at most HISTORY_NAMES_MAX names in a
 * directory; @path and @to have the same one. */
size_t history_names_call(struct history_names *h,
                          uint64_t now,
                          uint64_t client,
                          enum names_kind kind,
                          const char *path,
                          const char *to);
/* It ended with @rc. ERR_NOTFOUND, ERR_EXISTS and ERR_INVALID are answers;
 * ERR_BUSY, ERR_EXHAUSTED and ERR_DENIED say that nothing was done; after any
 * other error it is not known. @answer: after STAT and LIST, else NULL. */
void history_names_return(struct history_names *h,
                          size_t op,
                          uint64_t now,
                          int rc,
                          const struct names_answer *answer);

/* As history_check(). */
enum history_verdict history_names_check(const struct history_names *h,
                                         size_t budget,
                                         struct buf *why);

/* --- as text ------------------------------------------------------------- */

/* Append call @op as one line, tab-separated:
 *     names CALLED RETURNED|? CLIENT KIND PATH TO|- CODE|? ANSWER|-
 * A call that surely did nothing has no line. ANSWER: "file ID", "directory
 * ID", or the names of a list with commas between. */
void history_names_print(const struct history_names *h,
                         size_t op,
                         struct buf *out);
/* Add the call of such a line (without its newline). ERR_INVALID. */
MUST_CHECK int
history_names_read(struct history_names *h, struct slice line, struct err *err);

#endif /* TESTS_LIB_HISTORY_NAMES_H */
