/* Building the edits of manifest_state.h, an operation a function. Nothing is
 * checked here but preconditions: the state that an operation needs is known
 * where it is applied.
 */
#include <string.h>

#include "base/core/coding.h"
#include "base/core/panic.h"
#include "bigtable/log/commit_log.h"
#include "bigtable/store/manifest_ops.h"
#include "bigtable/store/manifest_state.h"

void edit_put_counters(struct buf *edit,
                       uint64_t next_number,
                       uint64_t next_table,
                       uint64_t next_tablet,
                       uint64_t sequence)
{
    buf_put_u8(edit, OP_COUNTERS);
    buf_put_varint(edit, next_number);
    buf_put_varint(edit, next_table);
    buf_put_varint(edit, next_tablet);
    buf_put_varint(edit, sequence);
}

void edit_put_table(struct buf *edit,
                    uint64_t id,
                    const char *name,
                    const struct schema *schema)
{
    struct buf body = BUF_INIT;
    PRE(name[0] != '\0');
    buf_put_u8(edit, OP_PUT_TABLE);
    buf_put_varint(edit, id);
    buf_put_lslice(edit, slice_str(name));
    schema_encode(schema, &body);
    buf_put_lslice(edit, buf_slice(&body));
    buf_close(&body);
}

void edit_drop_table(struct buf *edit, uint64_t id)
{
    PRE(id > 0);
    buf_put_u8(edit, OP_DROP_TABLE);
    buf_put_varint(edit, id);
}

static void put_file(struct buf *edit, const struct lsm_table *f)
{
    PRE(f->number > 0);
    PRE(f->sequence_min <= f->sequence_max);
    PRE(slice_cmp(f->first_key, f->last_key) <= 0);
    buf_put_varint(edit, f->number);
    buf_put_varint(edit, f->bytes);
    buf_put_varint(edit, f->entry_count);
    buf_put_varint(edit, f->sequence_min);
    buf_put_varint(edit, f->sequence_max);
    buf_put_varint(edit, f->run);
    buf_put_lslice(edit, f->first_key);
    buf_put_lslice(edit, f->last_key);
}

static void
put_files(struct buf *edit, const struct lsm_table *files, size_t count)
{
    PRE(count == 0 || files);
    buf_put_varint(edit, count);
    for (size_t i = 0; i < count; i++)
        put_file(edit, &files[i]);
}

void edit_put_groups(struct buf *out,
                     const struct manifest_group *groups,
                     size_t group_count)
{
    PRE(group_count <= GROUP_COUNT_MAX);
    buf_put_varint(out, group_count);
    for (size_t i = 0; i < group_count; i++) {
        buf_put_varint(out, groups[i].id);
        buf_put_varint(out, groups[i].flushed_sequence);
        put_files(out, groups[i].files, groups[i].file_count);
    }
}

static void put_tablet_head(struct buf *edit,
                            uint64_t id,
                            uint64_t table,
                            struct slice start,
                            struct slice end)
{
    PRE(id > 0);
    PRE(end.len == 0 || slice_cmp(start, end) < 0);
    buf_put_u8(edit, OP_PUT_TABLET);
    buf_put_varint(edit, id);
    buf_put_varint(edit, table);
    buf_put_lslice(edit, start);
    buf_put_lslice(edit, end);
}

void edit_put_tablet(struct buf *edit,
                     uint64_t id,
                     uint64_t table,
                     struct slice start,
                     struct slice end,
                     const struct manifest_group *groups,
                     size_t group_count)
{
    PRE(groups || group_count == 0);
    put_tablet_head(edit, id, table, start, end);
    edit_put_groups(edit, groups, group_count);
}

void edit_put_tablet_of(struct buf *edit,
                        uint64_t id,
                        uint64_t table,
                        struct slice start,
                        struct slice end,
                        struct slice groups)
{
    put_tablet_head(edit, id, table, start, end);
    if (groups.len)
        buf_append_slice(edit, groups);
    else
        edit_put_groups(edit, NULL, 0);
}

void edit_put_loads(struct buf *edit,
                    uint64_t tablet,
                    const uint64_t *loads,
                    size_t count)
{
    PRE(count <= TABLET_LOADS_MAX);
    if (count == 0)
        return;
    buf_put_u8(edit, OP_PUT_LOADS);
    buf_put_varint(edit, tablet);
    buf_put_varint(edit, count);
    for (size_t i = 0; i < count; i++)
        buf_put_varint(edit, loads[i]);
}

void edit_put_stamp(struct buf *edit, uint64_t tablet, int64_t stamped_us)
{
    PRE(tablet > 0);
    if (stamped_us <= 0)
        return;
    buf_put_u8(edit, OP_PUT_STAMP);
    buf_put_varint(edit, tablet);
    buf_put_varint(edit, (uint64_t)stamped_us);
}

void edit_put_done(struct buf *edit,
                   uint64_t tablet,
                   struct slice done,
                   bool fresh)
{
    PRE(tablet > 0);
    if (fresh && done.len == 0)
        return;
    buf_put_u8(edit, OP_PUT_DONE);
    buf_put_varint(edit, tablet);
    buf_put_lslice(edit, done);
}

static void put_change_file(struct buf *edit, const struct change_file_info *f)
{
    PRE(f->file.table.number > 0);
    buf_put_varint(edit, f->group);
    buf_put_varint(edit, f->file.extent.end_sequence);
    buf_put_zigzag(edit, f->file.extent.first_us);
    buf_put_zigzag(edit, f->file.extent.last_us);
    put_file(edit, &f->file.table);
}

static void put_changes_head(struct buf *edit,
                             uint64_t tablet,
                             uint64_t floor,
                             int64_t floor_us)
{
    PRE(tablet > 0);
    buf_put_u8(edit, OP_PUT_CHANGES);
    buf_put_varint(edit, tablet);
    buf_put_varint(edit, floor);
    buf_put_zigzag(edit, floor_us);
}

void edit_put_changes(struct buf *edit,
                      uint64_t tablet,
                      const struct changes_edit *change)
{
    PRE(change->removed || change->removed_count == 0);
    PRE(change->added || change->added_count == 0);
    put_changes_head(edit, tablet, change->floor, change->floor_us);
    buf_put_varint(edit, change->removed_count);
    for (size_t i = 0; i < change->removed_count; i++)
        buf_put_varint(edit, change->removed[i]);
    buf_put_varint(edit, change->added_count);
    for (size_t i = 0; i < change->added_count; i++)
        put_change_file(edit, &change->added[i]);
}

static bool
file_overlaps(const struct lsm_table *f, struct slice lower, struct slice upper)
{
    PRE(upper.len == 0 || slice_cmp(lower, upper) < 0);
    return slice_cmp(f->last_key, lower) >= 0 &&
           (upper.len == 0 || slice_cmp(f->first_key, upper) < 0);
}

void edit_put_changes_of(struct buf *edit,
                         uint64_t tablet,
                         const struct changes_record *r,
                         struct slice lower,
                         struct slice upper)
{
    size_t count = 0;
    if (!r->on)
        return;
    for (size_t i = 0; i < r->file_count; i++)
        count += file_overlaps(&r->files[i].file.table, lower, upper);
    put_changes_head(edit, tablet, r->floor, r->floor_us);
    buf_put_varint(edit, 0);
    buf_put_varint(edit, count);
    for (size_t i = 0; i < r->file_count; i++)
        if (file_overlaps(&r->files[i].file.table, lower, upper))
            put_change_file(edit, &r->files[i]);
    POST(count <= r->file_count);
}

void edit_put_changes_part(struct buf *out, const struct changes_record *r)
{
    PRE(r->files || r->file_count == 0);
    if (!r->on)
        return;
    buf_put_varint(out, r->floor);
    buf_put_zigzag(out, r->floor_us);
    buf_put_varint(out, 0);
    buf_put_varint(out, r->file_count);
    for (size_t i = 0; i < r->file_count; i++)
        put_change_file(out, &r->files[i]);
}

void edit_put_changes_from(struct buf *edit, uint64_t tablet, struct slice part)
{
    PRE(tablet > 0);
    if (part.len == 0)
        return;
    buf_put_u8(edit, OP_PUT_CHANGES);
    buf_put_varint(edit, tablet);
    buf_append_slice(edit, part);
}

void edit_drop_changes(struct buf *edit, uint64_t tablet)
{
    PRE(tablet > 0);
    buf_put_u8(edit, OP_DROP_CHANGES);
    buf_put_varint(edit, tablet);
}

void edit_drop_tablet(struct buf *edit, uint64_t id)
{
    PRE(id > 0);
    buf_put_u8(edit, OP_DROP_TABLET);
    buf_put_varint(edit, id);
}

void edit_change_group(struct buf *edit,
                       uint64_t tablet,
                       uint32_t group,
                       const struct lsm_edit *change)
{
    PRE(tablet > 0);
    PRE(change->added_count == 0 || change->added);
    PRE(change->removed_count == 0 || change->removed);
    buf_put_u8(edit, OP_CHANGE_GROUP);
    buf_put_varint(edit, tablet);
    buf_put_varint(edit, group);
    buf_put_varint(edit, change->flushed_sequence);
    buf_put_varint(edit, change->removed_count);
    for (size_t i = 0; i < change->removed_count; i++)
        buf_put_varint(edit, change->removed[i]);
    put_files(edit, change->added, change->added_count);
}

void edit_put_log(struct buf *edit,
                  const struct log_named_segment *segments,
                  size_t count,
                  uint64_t position)
{
    PRE(count == 0 || segments);
    buf_put_u8(edit, OP_PUT_LOG_FILES);
    buf_put_varint(edit, position);
    buf_put_varint(edit, count);
    for (size_t i = 0; i < count; i++) {
        buf_put_varint(edit, segments[i].number);
        buf_put_varint(edit, segments[i].bytes);
    }
}

void edit_put_snapshot(struct buf *edit, const char *name)
{
    PRE(name[0] != '\0');
    buf_put_u8(edit, OP_PUT_SNAPSHOT);
    buf_put_lslice(edit, slice_str(name));
}

void edit_drop_snapshot(struct buf *edit, const char *name)
{
    PRE(name[0] != '\0');
    buf_put_u8(edit, OP_DROP_SNAPSHOT);
    buf_put_lslice(edit, slice_str(name));
}
