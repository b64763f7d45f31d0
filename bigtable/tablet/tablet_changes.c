/* Change files of a tablet, and when they go.
 */
#include "bigtable/tablet/tablet_changes.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/fault.h"
#include "base/core/macros.h"
#include "base/core/panic.h"
#include "base/runtime/sync.h"
#include "bigtable/lsm/version.h" /* sstable_file_unref */
#include "bigtable/row/schema.h"
#include "bigtable/tablet/table_part.h"
#include "bigtable/tablet/tablet.h"
#include "bigtable/tablet/tablet_env.h"

/* --- records ------------------------------------------------------------- */

static struct slice key_copy(struct slice key)
{
    return slice_make(mem_strndup(key.data, key.len), key.len);
}

void change_file_info_copy(const struct change_file_info *from,
                           struct change_file_info *to)
{
    *to = *from;
    to->file.table.first_key = key_copy(from->file.table.first_key);
    to->file.table.last_key = key_copy(from->file.table.last_key);
}

void change_file_info_close(struct change_file_info *f)
{
    mem_free((char *)(uintptr_t)f->file.table.first_key.data);
    mem_free((char *)(uintptr_t)f->file.table.last_key.data);
}

void changes_record_close(struct changes_record *r)
{
    for (size_t i = 0; i < r->file_count; i++)
        change_file_info_close(&r->files[i]);
    mem_free(r->files);
    *r = (struct changes_record){0};
}

/* --- files --------------------------------------------------------------- */

static struct change_file *change_file_new(struct tablet_env *env,
                                           const struct change_file_info *info)
{
    struct change_file *f = mem_zalloc(1, sizeof(*f));
    atomic_init(&f->references, 1);
    f->env = env;
    change_file_info_copy(info, &f->info);
    env->ops->hold_file(env, info->file.table.number);
    return f;
}

void change_file_unref(struct change_file *f)
{
    unsigned before = atomic_fetch_sub(&f->references, 1);
    INVARIANT(before > 0);
    if (before > 1)
        return;
    f->env->ops->drop_file(f->env, f->info.file.table.number);
    change_file_info_close(&f->info);
    mem_free(f);
}

int change_file_open(struct change_file *f,
                     struct lsm *l,
                     struct sstable_file **out,
                     struct err *err)
{
    return lsm_open_change_file(l, &f->info.file.table, out, err);
}

/* PRE: the lock is held, or nobody else has @c. */
static void add_file(struct tablet_changes *c,
                     const struct change_file_info *info)
{
    PRE(c->files || c->file_count == 0);
    c->files = mem_realloc(c->files,
                           (c->file_count + 1) * sizeof(struct change_file *));
    c->files[c->file_count++] = change_file_new(c->env, info);
    c->bytes += info->file.table.bytes;
}

/* Take file @number out; its reference is the caller's. NULL: it is not there.
 * Of a file that is there twice, the changes go before the past. PRE: the lock
 * is held. */
static struct change_file *take_file(struct tablet_changes *c, uint64_t number)
{
    size_t found = c->file_count;
    struct change_file *f;
    for (size_t i = 0; i < c->file_count; i++)
        if (c->files[i]->info.file.table.number == number &&
            (found == c->file_count ||
             change_file_is_past(&c->files[found]->info)))
            found = i;
    if (found == c->file_count)
        return NULL;
    f = c->files[found];
    c->files[found] = c->files[--c->file_count];
    INVARIANT(c->bytes >= f->info.file.table.bytes);
    c->bytes -= f->info.file.table.bytes;
    return f;
}

/* --- life ---------------------------------------------------------------- */

struct tablet_changes *tablet_changes_new(struct tablet_env *env,
                                          const struct changes_record *r)
{
    struct tablet_changes *c = mem_zalloc(1, sizeof(*c));
    PRE(!r || r->files || r->file_count == 0);
    c->env = env;
    mutex_init(&c->edit_lock);
    mutex_init(&c->lock);
    if (!r)
        return c;
    atomic_init(&c->on, r->on);
    c->floor = r->floor;
    c->floor_us = r->floor_us;
    for (size_t i = 0; i < r->file_count; i++)
        add_file(c, &r->files[i]);
    return c;
}

void tablet_changes_free(struct tablet_changes *c)
{
    if (!c)
        return;
    PRE(c->files || c->file_count == 0);
    for (size_t i = 0; i < c->file_count; i++)
        change_file_unref(c->files[i]);
    mem_free(c->files);
    mutex_close(&c->edit_lock);
    mutex_close(&c->lock);
    mem_free(c);
}

void tablet_changes_configure(struct tablet_changes *c,
                              const struct schema *schema)
{
    atomic_store(&c->keep_us, schema->changes_us);
    atomic_store(&c->keep_bytes, schema->changes_bytes);
}

/* --- commits ------------------------------------------------------------- */

/* The last bytes of @row: equal for equal rows, and mostly not for others. */
static uint64_t tail_of(struct slice row)
{
    uint64_t tail = 0;
    size_t n = MIN_OF(row.len, sizeof(tail));
    if (n)
        memcpy(&tail, row.data + row.len - n, n);
    return tail;
}

void tablet_changes_begin_commit(struct tablet_changes *c,
                                 struct slice row,
                                 uint64_t sequence,
                                 int64_t us)
{
    uint64_t tail = tail_of(row);
    PRE(c->is_loose || sequence > c->commit_sequence); /* INV-2 */
    c->commit_again = c->row_bytes == row.len && c->row_tail == tail;
    c->commit_sequence = sequence;
    c->commit_us = c->is_loose ? us : MAX_OF(c->commit_us, us);
    c->row_bytes = row.len;
    c->row_tail = tail;
}

void tablet_changes_begin_loose(struct tablet_changes *c)
{
    PRE(!c->is_loose);
    c->is_loose = true;
}

void tablet_changes_end_loose(struct tablet *t)
{
    struct tablet_changes *c = t->changes;
    PRE(c->is_loose);
    c->is_loose = false;
    for (size_t i = 0; i < atomic_load(&t->group_count); i++)
        lsm_sort_changes(t->groups[i]->lsm);
    c->commit_sequence = tablet_last_sequence(t);
    c->commit_us = (int64_t)atomic_load(&t->table->stamped_us);
    c->row_bytes = 0;
}

/* --- when files go ------------------------------------------------------- */

/* A candidate: kept already, or about to be. */
struct candidate {
    const struct change_file_info *info;
    bool is_kept;
};

/* By the times of their last commits, which is the order of their numbers. */
static int by_end(const void *a, const void *b)
{
    const struct change_extent *x =
        &((const struct candidate *)a)->info->file.extent;
    const struct change_extent *y =
        &((const struct candidate *)b)->info->file.extent;
    if (x->last_us != y->last_us)
        return x->last_us < y->last_us ? -1 : 1;
    return (x->end_sequence > y->end_sequence) -
           (x->end_sequence < y->end_sequence);
}

/* How many of the @count oldest go: those too old, and as many as bring the
 * rest below the bound. */
static size_t count_given_up(const struct tablet_changes *c,
                             const struct candidate *list,
                             size_t count,
                             int64_t now_us)
{
    PRE(mutex_is_held(&c->lock));
    int64_t keep_us = (int64_t)atomic_load(&c->keep_us);
    uint64_t bound = atomic_load(&c->keep_bytes);
    uint64_t bytes = 0;
    size_t gone = 0;
    for (size_t i = 0; i < count; i++) {
        bytes += list[i].info->file.table.bytes;
        if (list[i].info->file.extent.last_us < now_us - keep_us ||
            (!change_file_is_past(list[i].info) &&
             list[i].info->file.extent.end_sequence <= c->floor))
            gone = i + 1;
    }
    for (size_t i = 0; i < gone; i++)
        bytes -= list[i].info->file.table.bytes;
    while (bound && gone < count && bytes > bound)
        bytes -= list[gone++].info->file.table.bytes;
    return gone;
}

/* Those that were cut with one that goes have a part of what it had. */
static size_t
with_equals(const struct candidate *list, size_t count, size_t gone)
{
    PRE(gone <= count);
    while (gone > 0 && gone < count &&
           by_end(&list[gone], &list[gone - 1]) == 0)
        gone++;
    return gone;
}

static void plan_changes(const struct tablet_changes *c,
                         const struct candidate *list,
                         size_t count,
                         int64_t now_us,
                         struct changes_edit *out)
{
    size_t gone =
        with_equals(list, count, count_given_up(c, list, count, now_us));
    PRE(mutex_is_held(&c->lock));
    for (size_t i = 0; i < count; i++) {
        const struct change_file_info *f = list[i].info;
        if (i < gone) {
            out->floor = MAX_OF(out->floor, f->file.extent.end_sequence);
            out->floor_us = MAX_OF(out->floor_us, f->file.extent.last_us);
        }
        if (i < gone && list[i].is_kept)
            out->removed[out->removed_count++] = f->file.table.number;
        else if (i >= gone && !list[i].is_kept &&
                 !fault_hit("changes.keep_nothing")) /* A deliberate bug. */
            out->added[out->added_count++] = *f;
    }
    POST(out->floor >= c->floor); /* INV-1 */
}

bool tablet_changes_plan(struct tablet_changes *c,
                         uint32_t group,
                         const struct lsm_change_file *retired,
                         size_t count,
                         int64_t now_us,
                         struct changes_edit *out)
{
    struct change_file_info *fresh = mem_zalloc(count + 1, sizeof(*fresh));
    struct candidate *list;
    size_t n = 0;
    PRE(retired || count == 0);
    *out = (struct changes_edit){0};
    for (size_t i = 0; i < count; i++)
        fresh[i] = (struct change_file_info){group, retired[i]};
    mutex_lock(&c->lock);
    list = mem_zalloc(c->file_count + count + 1, sizeof(*list));
    out->added = mem_zalloc(count + 1, sizeof(*out->added));
    out->removed = mem_zalloc(c->file_count + 1, sizeof(*out->removed));
    out->floor = c->floor;
    out->floor_us = c->floor_us;
    for (size_t i = 0; i < c->file_count; i++)
        list[n++] = (struct candidate){&c->files[i]->info, true};
    for (size_t i = 0; i < count; i++)
        list[n++] = (struct candidate){&fresh[i], false};
    if (n)
        qsort(list, n, sizeof(*list), by_end);
    if (atomic_load(&c->on))
        plan_changes(c, list, n, now_us, out);
    mem_free(list);
    n = out->added_count + out->removed_count + (out->floor > c->floor);
    mutex_unlock(&c->lock);
    mem_free(fresh);
    return n > 0;
}

void tablet_changes_past(struct tablet_changes *c,
                         uint32_t group,
                         struct changes_past *out)
{
    mutex_lock(&c->lock);
    *out = (struct changes_past){atomic_load(&c->on), c->floor, c->floor_us,
                                 c->floor};
    for (size_t i = 0; i < c->file_count; i++) {
        const struct change_file_info *f = &c->files[i]->info;
        if (f->group == group && change_file_is_past(f))
            out->guard = MIN_OF(out->guard, (uint64_t)f->file.extent.first_us);
    }
    mutex_unlock(&c->lock);
    POST(out->guard <= out->floor);
}

void changes_edit_close(struct changes_edit *e)
{
    mem_free(e->added);
    mem_free(e->removed);
}

void tablet_changes_apply(struct tablet_changes *c,
                          const struct changes_edit *e)
{
    struct change_file **gone =
        mem_zalloc(e->removed_count + 1, sizeof(struct change_file *));
    mutex_lock(&c->lock);
    INVARIANT(e->floor >= c->floor); /* INV-1 */
    c->floor = e->floor;
    c->floor_us = e->floor_us;
    for (size_t i = 0; i < e->added_count; i++)
        add_file(c, &e->added[i]);
    for (size_t i = 0; i < e->removed_count; i++)
        gone[i] = take_file(c, e->removed[i]);
    mutex_unlock(&c->lock);
    for (size_t i = 0; i < e->removed_count; i++)
        if (gone[i])
            change_file_unref(gone[i]);
    mem_free(gone);
}

void tablet_changes_reset(struct tablet_changes *c,
                          bool on,
                          uint64_t sequence,
                          int64_t us)
{
    struct change_file **gone;
    size_t count;
    mutex_lock(&c->lock);
    gone = c->files;
    count = c->file_count;
    c->files = NULL;
    c->file_count = 0;
    c->bytes = 0;
    c->floor = MAX_OF(c->floor, sequence);
    c->floor_us = MAX_OF(c->floor_us, us);
    POST(c->floor >= sequence); /* INV-1 */
    mutex_unlock(&c->lock);
    for (size_t i = 0; i < count; i++)
        change_file_unref(gone[i]);
    mem_free(gone);
    atomic_store(&c->on, on);
}

uint64_t tablet_changes_bytes(struct tablet_changes *c)
{
    uint64_t bytes;
    mutex_lock(&c->lock);
    bytes = c->bytes;
    mutex_unlock(&c->lock);
    return bytes;
}

uint64_t tablet_changes_bytes_max(const struct tablet_changes *c)
{
    return atomic_load(&c->keep_bytes);
}

struct change_file **tablet_changes_files(struct tablet_changes *c,
                                          size_t *count,
                                          uint64_t *floor,
                                          int64_t *floor_us)
{
    struct change_file **files;
    mutex_lock(&c->lock);
    INVARIANT(c->files || c->file_count == 0);
    files = mem_alloc((c->file_count + 1) * sizeof(struct change_file *));
    for (size_t i = 0; i < c->file_count; i++) {
        files[i] = c->files[i];
        atomic_fetch_add(&files[i]->references, 1);
    }
    *count = c->file_count;
    *floor = c->floor;
    *floor_us = c->floor_us;
    mutex_unlock(&c->lock);
    return files;
}
