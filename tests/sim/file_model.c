/* The files as they must be. */
#include "tests/sim/file_model.h"

#include <stdio.h>
#include <string.h>

#include "base/core/panic.h"
#include "tests/sim/cell.h"
#include "tests/sim/storm.h"

/* Flushed bytes are exposed until their servers have synced them by themselves,
 * or a copy was made; a fault that began before may still last. */
#define EXPOSED_BEFORE_US (10 * SECOND_US)
#define EXPOSED_AFTER_US  (20 * SECOND_US)

struct fault_note {
    const struct world *machine;
    uint64_t at_us;
};

void file_model_init(struct file_model *m)
{
    *m = (struct file_model){.count = 0};
}

void file_model_close(struct file_model *m)
{
    for (size_t i = 0; i < m->count; i++) {
        buf_close(&m->files[i]->all);
        mem_free(m->files[i]);
    }
    mem_free(m->files);
    mem_free(m->faults);
}

struct model_file *file_model_add(struct file_model *m, const char *path)
{
    struct model_file *f = mem_zalloc(1, sizeof(*f));
    snprintf(f->path, sizeof(f->path), "%s", path);
    f->end = MODEL_OPEN_END;
    f->busy = true;
    m->files =
        mem_realloc(m->files, (m->count + 1) * sizeof(struct model_file *));
    m->files[m->count++] = f;
    return f;
}

struct model_file *
file_model_draw(struct file_model *m, struct rand_gen *r, bool busy_too)
{
    for (int tries = 0; m->count && tries < 10; tries++) {
        struct model_file *f = m->files[rand_below(r, m->count)];
        if (!f->gone && (busy_too || !f->busy))
            return f;
    }
    return NULL;
}

/* --- promises ------------------------------------------------------------ */

struct slice
file_model_grow(struct model_file *f, struct rand_gen *r, size_t len)
{
    size_t at = f->all.len;
    while (f->all.len < at + len) {
        uint64_t word = rand_u64(r);
        buf_append(&f->all, &word, MIN_OF(sizeof(word), at + len - f->all.len));
    }
    return slice_make(f->all.data + at, len);
}

static void check_end(const struct model_file *f)
{
    STORM_CHECK(f->all.len <= f->end,
                "%s: %zu bytes are acknowledged, after it was taken from its "
                "writer with %zu",
                f->path, f->all.len, f->end);
}

void file_model_flushed(struct file_model *m, struct model_file *f)
{
    check_end(f);
    sim_note(storm_running->sim, "%s flushed up to %zu", f->path, f->all.len);
    f->flushed = f->all.len;
    f->flushed_us = storm_now_us();
    m->bytes += f->flushed > f->synced ? f->flushed - f->synced : 0;
}

void file_model_synced(struct file_model *m, struct model_file *f)
{
    check_end(f);
    sim_note(storm_running->sim, "%s synced up to %zu", f->path, f->all.len);
    m->bytes += f->all.len - f->synced;
    f->synced = f->all.len;
}

size_t file_model_promised(const struct file_model *m,
                           const struct model_file *f)
{
    if (f->flushed > f->synced && file_model_was_safe(m, f->flushed_us))
        return f->flushed;
    return f->synced;
}

void file_model_found(struct file_model *m,
                      struct model_file *f,
                      uint64_t length)
{
    size_t promised = file_model_promised(m, f);
    STORM_CHECK(length >= promised,
                "%s: found with %llu bytes, %zu were promised, %zu of them "
                "synced",
                f->path, (unsigned long long)length, promised, f->synced);
    sim_note(storm_running->sim, "%s found with %llu of %zu bytes", f->path,
             (unsigned long long)length, f->all.len);
    STORM_CHECK(length <= f->all.len,
                "%s: found with %llu bytes, %zu were appended", f->path,
                (unsigned long long)length, f->all.len);
    buf_truncate(&f->all, (size_t)length);
    f->flushed = MIN_OF(f->flushed, (size_t)length);
    f->end = MODEL_OPEN_END;
    f->life++;
}

void file_model_copied(const struct model_file *from,
                       struct model_file *to,
                       size_t before)
{
    sim_note(storm_running->sim, "%s is a snapshot of %s with %zu bytes",
             to->path, from->path, before);
    buf_append(&to->all, from->all.data, from->all.len);
    to->synced = before;
}

void file_model_compare(const struct model_file *f,
                        unsigned life,
                        size_t promised,
                        uint64_t offset,
                        struct slice got)
{
    size_t end = life == f->life ? f->all.len : MIN_OF(promised, f->all.len);
    size_t len =
        (size_t)offset < end ? MIN_OF(got.len, end - (size_t)offset) : 0;
    if (life == f->life)
        STORM_CHECK(offset + got.len <= f->all.len,
                    "%s: read %zu bytes at %llu of %zu that were appended",
                    f->path, got.len, (unsigned long long)offset, f->all.len);
    for (size_t i = 0; i < len; i++)
        STORM_CHECK(got.data[i] == f->all.data[offset + i],
                    "%s: byte %llu is not what was written; %zu are promised",
                    f->path, (unsigned long long)(offset + i), promised);
}

/* --- faults -------------------------------------------------------------- */

void file_model_note_fault(struct file_model *m, const struct world *machine)
{
    m->faults =
        mem_realloc(m->faults, (m->fault_count + 1) * sizeof(*m->faults));
    m->faults[m->fault_count++] = (struct fault_note){machine, storm_now_us()};
}

bool file_model_was_safe(const struct file_model *m, uint64_t at_us)
{
    const struct world *struck[SIM_CELL_CHUNKS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < m->fault_count; i++) {
        const struct fault_note *f = &m->faults[i];
        bool known = false;
        if (f->at_us + EXPOSED_BEFORE_US < at_us ||
            f->at_us > at_us + EXPOSED_AFTER_US)
            continue;
        for (size_t j = 0; j < count; j++)
            known |= struck[j] == f->machine;
        if (!known)
            struck[count++] = f->machine;
    }
    return count < SIM_CELL_REPLICATION;
}
