/* The contents that files of a storm must have: all appended bytes, and how
 * many of them were acknowledged.
 *
 *     synced    on the disks: there whatever fails
 *     flushed   in the memory of all servers of the chain: there unless as many
 *               of the chunk servers as a file has copies failed near that
 *               time (file_model_note_fault())
 *
 * A file is appended to by one client at a time, which says what it does before
 * and after (file_model_grow() and so on); everybody may compare what was read.
 *
 * Threads: one.
 */
#ifndef TESTS_SIM_FILE_MODEL_H
#define TESTS_SIM_FILE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/rand.h"
#include "base/core/slice.h"

struct world;

#define MODEL_PATH_BYTES 32
#define MODEL_OPEN_END   SIZE_MAX

struct model_file {
    char path[MODEL_PATH_BYTES];
    struct buf all; /* Appended, acknowledged or not. */
    size_t synced;
    size_t flushed;
    uint64_t flushed_us;
    unsigned life; /* Times `all` was cut to what was found. */
    size_t end;    /* The file was taken from its writer with this length. */
    bool gone;     /* Removed, or never known to be made. */
    bool busy;     /* Its writer, or who removes it, is at work. */
};

struct file_model {
    struct model_file **files; /* Owned, as the files. */
    size_t count;
    struct fault_note *faults;
    size_t fault_count;
    uint64_t bytes; /* Promised in all; for people. */
};

void file_model_init(struct file_model *m);
void file_model_close(struct file_model *m);

/* A file that is not there yet, busy. Borrowed. */
struct model_file *file_model_add(struct file_model *m, const char *path);
/* One that is neither gone nor busy (@busy_too: or busy), drawn; NULL: none. */
struct model_file *
file_model_draw(struct file_model *m, struct rand_gen *r, bool busy_too);

/* More bytes are about to be appended; borrowed until the next change. */
struct slice
file_model_grow(struct model_file *f, struct rand_gen *r, size_t len);
/* All bytes so far are flushed, or synced. Fails the storm if the file had been
 * taken from its writer before. */
void file_model_flushed(struct file_model *m, struct model_file *f);
void file_model_synced(struct file_model *m, struct model_file *f);
/* Bytes that must be there now. */
size_t file_model_promised(const struct file_model *m,
                           const struct model_file *f);
/* The file was found to have @length bytes and no writer. Fails the storm if
 * that is less than was promised or more than was appended. */
void file_model_found(struct file_model *m,
                      struct model_file *f,
                      uint64_t length);
/* A snapshot @to of @from was asked for when *@before was promised. */
void file_model_copied(const struct model_file *from,
                       struct model_file *to,
                       size_t before);
/* Compare what was read of @f at @offset. @life, @promised: as of the beginning
 * of the reading. */
void file_model_compare(const struct model_file *f,
                        unsigned life,
                        size_t promised,
                        uint64_t offset,
                        struct slice got);

/* A fault began on chunk server @m. */
void file_model_note_fault(struct file_model *m, const struct world *machine);
/* Was what was flushed at @at_us safe from the faults there were? */
bool file_model_was_safe(const struct file_model *m, uint64_t at_us);

#endif /* TESTS_SIM_FILE_MODEL_H */
