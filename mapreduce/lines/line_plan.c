/* Segments of files for threads to work on: ranges of files that can be read
 * at any place, and blocks of lines of streams, which cannot. A line belongs
 * to the segment in which it begins. */
#include "mapreduce/lines/line_plan.h"

#include <string.h>
#include <sys/stat.h>

#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "base/runtime/world_mount.h"

#define SEGMENT_BYTES_MIN ((uint64_t)1 << 20)
#define SEGMENT_BYTES_MAX ((uint64_t)32 << 20)
#define SEGMENT_SHARE     8

void line_plan_init(struct line_plan *p,
                    struct world *world,
                    const char *const *paths,
                    size_t path_count,
                    uint64_t segment_bytes,
                    bool numbered)
{
    *p = (struct line_plan){.world = world,
                            .paths = paths,
                            .path_count = path_count,
                            .segment_bytes = segment_bytes ? segment_bytes
                                                           : SEGMENT_BYTES_MIN,
                            .numbered = numbered};
}

static void plan_close_file(struct line_plan *p)
{
    if (p->is_open && p->is_stream)
        line_stream_close(&p->stream);
    p->is_open = false;
}

void line_plan_close(struct line_plan *p)
{
    plan_close_file(p);
}

uint64_t line_plan_size(struct world *world, const char *path)
{
    struct file_info info;
    struct stat st;
    if (world_is_mounted(world, path))
        return world_stat(world, path, &info, NULL) == 0 ? info.size_bytes : 0;
    if (strcmp(path, "-") == 0 || stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return 0;
    return (uint64_t)st.st_size;
}

bool line_plan_is_stream(struct world *world, const char *path)
{
    struct stat st;
    if (world_is_mounted(world, path))
        return false;
    return strcmp(path, "-") == 0 ||
           (stat(path, &st) == 0 && !S_ISREG(st.st_mode));
}

static int plan_open(struct line_plan *p, struct err *err)
{
    const char *path = p->paths[p->file];
    int rc = 0;
    p->size = line_plan_size(p->world, path);
    p->is_stream = p->size == 0 || p->numbered;
    if (p->is_stream)
        rc = line_stream_open(&p->stream, p->world, path, err);
    p->is_open = rc == 0;
    p->offset = 0;
    return rc;
}

static void plan_next_file(struct line_plan *p)
{
    plan_close_file(p);
    p->file++;
}

uint64_t line_plan_segment_bytes(const struct line_plan *p)
{
    uint64_t n = p->before / SEGMENT_SHARE;
    return n < p->segment_bytes
               ? p->segment_bytes
               : MIN_OF(n, MAX_OF(SEGMENT_BYTES_MAX, p->segment_bytes));
}

static uint64_t count_lines(struct slice text)
{
    uint64_t n = 0;
    while (text.len > 0) {
        size_t at = slice_find_byte(text, '\n');
        n++;
        text = slice_sub(text, at + 1, text.len);
    }
    return n;
}

/* The lines of the open stream that begin in the next @bytes; none if they are
 * all in one that began before. */
static int plan_take(struct line_plan *p,
                     uint64_t bytes,
                     struct line_segment *s,
                     struct err *err)
{
    uint64_t end = p->offset + bytes;
    int rc = 0;
    buf_clear(&s->text);
    if (end > p->stream.offset) {
        rc = line_stream_take(&p->stream, end - p->stream.offset, &s->text,
                              &s->offset, err);
        if (rc)
            return rc;
        if (s->text.len == 0) { /* The end of it. */
            p->before += p->stream.offset - MIN_OF(p->offset, p->stream.offset);
            plan_next_file(p);
            return 0;
        }
    }
    p->offset = end;
    p->before += bytes;
    s->is_text = true;
    s->number = p->number;
    if (p->numbered)
        p->number += count_lines(buf_slice(&s->text));
    return 0;
}

/* A range of the open file; returns how much of @bytes is left. */
static uint64_t
plan_range(struct line_plan *p, uint64_t bytes, struct line_part *part)
{
    uint64_t n = MIN_OF(bytes, p->size - p->offset);
    *part = (struct line_part){p->file, p->offset, p->offset + n};
    p->offset += n;
    p->before += n;
    if (p->offset == p->size) {
        part->end = UINT64_MAX; /* Also what is appended meanwhile. */
        plan_next_file(p);
    }
    return bytes - n;
}

int line_plan_next(struct line_plan *p, struct line_segment *s, struct err *err)
{
    uint64_t bytes = line_plan_segment_bytes(p);
    s->part_count = 0;
    s->is_text = false;
    while (bytes > 0 && p->file < p->path_count &&
           s->part_count < LINE_PARTS_MAX) {
        int rc = 0;
        if (s->part_count == 0)
            s->parts[0] = (struct line_part){.file = p->file};
        if (!p->is_open)
            rc = plan_open(p, err);
        if (rc && s->part_count == 0)
            return rc;
        if (rc) /* The parts before it come first. */
            break;
        if (!p->is_stream) {
            bytes = plan_range(p, bytes, &s->parts[s->part_count++]);
            continue;
        }
        if (s->part_count > 0)
            break;
        rc = plan_take(p, bytes, s, err);
        if (rc)
            return rc;
        s->part_count = s->is_text;
        if (s->is_text)
            break;
    }
    return 0;
}
