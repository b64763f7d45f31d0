/* The files of a job: its inputs, its outputs, and those its master keeps. They
 * are in the world, by the paths a user knows, or in the file system of a cell,
 * where paths begin at the root, with or without a slash. Spills and reports of
 * attempts are always files of the machine and do not come through here.
 *
 * A reader is a small object with operations, so that code which reads at
 * offsets (text, record files, runs) works on other sources too.
 *
 * records/ is the lowest room of mapreduce/: all others may include it, and the
 * command line this header.
 *
 * Threads: any; one at a time a reader. Everything parks.
 */
#ifndef MAPREDUCE_RECORDS_FILES_H
#define MAPREDUCE_RECORDS_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct buf;
struct file;
struct fs;
struct keyring;
struct world;

struct job_files {
    struct world *world; /* Borrowed. */
    struct fs *fs;       /* Of the cell; NULL: files are the world's. */
    /* Encrypts what the job master writes for itself. Borrowed; NULL: that is
     * not encrypted. */
    struct keyring *keyring;
};

/* --- reading ------------------------------------------------------------- */

struct job_file;

struct job_file_ops {
    /* As file_read_at(): *@got < @len only at the end. */
    int (*read_at)(struct job_file *f,
                   uint64_t offset,
                   void *dst,
                   size_t len,
                   size_t *got,
                   struct err *err);
    int (*size)(struct job_file *f, uint64_t *bytes, struct err *err);
    void (*close)(struct job_file *f);
    /* Names of machines that hold the range, best first; NULL: not known. */
    size_t (*locality)(struct job_file *f,
                       uint64_t offset,
                       uint64_t len,
                       const char **machines,
                       size_t machines_max);
};

/* The first member of each kind of reader. */
struct job_file {
    const struct job_file_ops *ops;
};

/* Open for reading; owned: job_file_close(). ERR_NOTFOUND. */
MUST_CHECK int job_file_open(const struct job_files *files,
                             const char *path,
                             struct job_file **out,
                             struct err *err);
/* A reader of @file, which it closes. Owned. */
struct job_file *job_file_of(struct file *file);
void job_file_close(struct job_file *f); /* NULL is allowed. */

static inline int job_file_read_at(struct job_file *f,
                                   uint64_t offset,
                                   void *dst,
                                   size_t len,
                                   size_t *got,
                                   struct err *err)
{
    return f->ops->read_at(f, offset, dst, len, got, err);
}

static inline int
job_file_size(struct job_file *f, uint64_t *bytes, struct err *err)
{
    return f->ops->size(f, bytes, err);
}

/* Names of machines that hold the range, best first: up to @machines_max,
 * borrowed from the file system. */
size_t job_file_locality(struct job_file *f,
                         uint64_t offset,
                         uint64_t len,
                         const char **machines,
                         size_t machines_max);

/* --- names --------------------------------------------------------------- */

struct files_info {
    bool is_directory;
    uint64_t size_bytes;
};

MUST_CHECK int files_stat(const struct job_files *files,
                          const char *path,
                          struct files_info *info,
                          struct err *err);
/* Rename @from to @to, replacing what is there. */
MUST_CHECK int files_rename(const struct job_files *files,
                            const char *from,
                            const char *to,
                            struct err *err);
MUST_CHECK int
files_remove(const struct job_files *files, const char *path, struct err *err);
MUST_CHECK int files_sync_dir(const struct job_files *files,
                              const char *path,
                              struct err *err);
/* Names in @path, sorted; owned: files_names_free(). */
MUST_CHECK int files_list(const struct job_files *files,
                          const char *path,
                          char ***names,
                          size_t *count,
                          struct err *err);
void files_names_free(char **names, size_t count);

/* --- small files --------------------------------------------------------- */

/* Replace the file @path by @contents, whole or not at all. */
MUST_CHECK int files_replace(const struct job_files *files,
                             const char *path,
                             struct slice contents,
                             struct err *err);
/* All of a file of at most @bytes_max (ERR_TOOBIG), appended to @out. */
MUST_CHECK int files_read_all(const struct job_files *files,
                              const char *path,
                              size_t bytes_max,
                              struct buf *out,
                              struct err *err);

/* The same for files that the job master writes for itself: encrypted if @files
 * has a keyring (base/crypt/sealed_bytes.h). Files written before encryption
 * was set up are read too. Errors also: ERR_DENIED (no key for it). */
MUST_CHECK int files_replace_sealed(const struct job_files *files,
                                    const char *path,
                                    struct slice contents,
                                    struct err *err);
MUST_CHECK int files_read_all_sealed(const struct job_files *files,
                                     const char *path,
                                     size_t bytes_max,
                                     struct buf *out,
                                     struct err *err);

/* The user's path @path as the file system has it. Borrowed from @path. */
const char *files_fs_path(const char *path);

#endif /* MAPREDUCE_RECORDS_FILES_H */
