/* Taking the segments that an earlier process left. Those up to the end that
 * was read are kept until tables have their entries; files behind it, and files
 * that were never recorded, are removed, because a later log would otherwise
 * run into their records. Kept files are synced first: records that follow
 * claim that all before them is on the disk.
 */
#include <stdio.h>

#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "bigtable/log/log_segments.h"

/* The record of segment @number; NULL: there is none. */
static const struct log_named_segment *
find_recorded(const struct log_segments *s, uint64_t number)
{
    PRE(number > 0);
    PRE(s->recorded.len % sizeof(struct log_named_segment) == 0);
    const struct log_named_segment *n = log_segments__listed(&s->recorded);
    for (size_t i = 0; i < log_segments__listed_count(&s->recorded); i++)
        if (n[i].number == number)
            return &n[i];
    return NULL;
}

/* May segment @number hold records? One that is not recorded was being begun
 * (INV-1), or is of a store of format 1. */
static bool may_have_records(const struct log_segments *s, uint64_t number)
{
    return s->recorded.len == 0 || find_recorded(s, number);
}

/* A segment of before this open stays until its entries are in tables. They
 * were only read back: sync them now, because the records that follow claim it.
 */
static int keep_segment(struct log_segments *s,
                        uint64_t number,
                        const struct log_end *end,
                        struct err *err)
{
    char path[LOG_PATH_BYTES];
    const struct log_named_segment *n = find_recorded(s, number);
    struct segment *kept;
    struct file *f;
    uint64_t size = 0;
    int rc;
    PRE(number <= end->segment);
    log_segment_path(path, s->dir, number);
    rc = file_open(s->world, path, FILE_READ | FILE_WRITE, &f, err);
    if (rc)
        return rc;
    rc = file_sync(f, err);
    if (rc == 0)
        rc = file_size(f, &size, err);
    file_close(f);
    if (rc)
        return rc;
    kept = mem_zalloc(1, sizeof(*kept));
    kept->number = number;
    kept->base = end->position;
    kept->end = kept->base + size;
    kept->last_sequence = end->last_sequence;
    kept->file_bytes = n ? n->bytes : 0;
    log_segments__add(s, kept);
    return 0;
}

/* One name in the directory: an old segment, one behind the end, or a spare. */
static int take_name(struct log_segments *s,
                     const char *name,
                     const struct log_end *end,
                     struct err *err)
{
    char path[LOG_PATH_BYTES + 256];
    uint64_t number;
    snprintf(path, sizeof(path), "%s/%s", s->dir, name);
    if (log_spare_number(name, &number)) {
        log_segments__add_spare(s, path);
        return 0;
    }
    if (!log_segment_number(name, &number))
        return 0;
    if (number > end->segment || !may_have_records(s, number))
        return world_remove(s->world, path, err);
    return keep_segment(s, number, end, err);
}

static int take_directory(struct log_segments *s,
                          const struct log_end *end,
                          struct err *err)
{
    char **names;
    size_t count;
    PRE(!s->oldest && !s->current);
    int rc = world_mkdir(s->world, s->dir, err);
    if (rc && rc != ERR_EXISTS)
        return rc;
    rc = world_list(s->world, s->dir, &names, &count, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < count && rc == 0; i++)
        rc = take_name(s, names[i], end, err);
    world_names_free(names, count);
    /* A removed segment must not come back between those that are kept and the
     * next one. */
    return rc ? rc : world_sync_dir(s->world, s->dir, err);
}

/* Append the records of the segments up to number @last that hold to @list;
 * only a repair accepts a file that is shorter. True: all of them hold. */
static bool list_kept(struct log_segments *s, uint64_t last, struct buf *list)
{
    const struct log_named_segment *n = log_segments__listed(&s->recorded);
    bool same = true;
    PRE(list->len == 0);
    for (size_t i = 0; i < log_segments__listed_count(&s->recorded); i++) {
        char path[LOG_PATH_BYTES];
        struct file_info info;
        uint64_t bytes = n[i].bytes;
        log_segment_path(path, s->dir, n[i].number);
        if (n[i].number <= last && world_stat(s->world, path, &info, NULL) == 0)
            bytes = MIN_OF(bytes, info.size_bytes);
        same = same && n[i].number <= last && bytes == n[i].bytes;
        if (n[i].number <= last)
            log_segments__list_add(list, n[i].number, bytes);
    }
    return same;
}

static int take_segments(struct log_segments *s,
                         const struct log_end *end,
                         struct err *err)
{
    struct buf list = BUF_INIT;
    uint64_t position = MIN_OF(s->recorded_to, end->position);
    bool same = list_kept(s, end->segment, &list);
    int rc = 0;
    /* Recorded first: take_directory() removes what is behind the end. */
    PRE(!s->oldest);
    if (!same || position != s->recorded_to)
        rc = log_segments__record(s, &list, position, err);
    else
        buf_close(&list);
    if (rc == 0)
        rc = take_directory(s, end, err);
    if (rc)
        return rc;
    list = BUF_INIT;
    log_segments__list(s->oldest, &list);
    if (list.len != s->recorded.len)
        return log_segments__record(s, &list, end->position, err);
    buf_close(&list);
    return 0;
}

int log_segments_open(struct log_segments *s,
                      const struct commit_log_options *opts,
                      const struct log_end *end,
                      uint64_t *bytes,
                      struct err *err)
{
    int rc;
    PRE(end->next_segment > end->segment); /* INV-5 */
    s->world = opts->world;
    s->segment_bytes =
        opts->segment_bytes ? opts->segment_bytes : LOG_SEGMENT_BYTES;
    snprintf(s->dir, sizeof(s->dir), "%s", opts->dir);
    s->next_number = s->named = end->next_segment;
    s->name = opts->name;
    s->name_ctx = opts->name_ctx;
    if (opts->named.count)
        buf_append(&s->recorded, opts->named.segments,
                   opts->named.count * sizeof(*opts->named.segments));
    s->recorded_to = opts->named.position;
    mutex_init(&s->release_lock);
    mutex_init(&s->name_lock);
    mutex_init(&s->lock);
    rc = take_segments(s, end, err);
    *bytes = 0;
    for (const struct segment *i = s->oldest; i; i = i->newer)
        *bytes += i->end - i->base;
    return rc;
}
