/* The newest value of one column, without assembling a row.
 *
 * Three places decide it: deletions of the row, deletions of the family, and
 * the column's own entries. They are reached by at most three seeks; when the
 * column is the first of a row without deletions, by one.
 */
#include "base/core/panic.h"
#include "bigtable/row/read_row.h"

enum place {
    PLACE_BEFORE, /* An entry on the way that may be a deletion that counts. */
    PLACE_COLUMN, /* An entry of the column. */
    PLACE_ELSEWHERE, /* Not yet there: seek on. */
    PLACE_BEYOND,    /* Past the column: there is nothing more. */
};

/* Where is @key? @target holds row part, family and column part. */
static enum place
place_of(struct slice key, struct slice target, size_t row_length)
{
    int c;
    if (key.len < row_length + 3 ||
        memcmp(key.data, target.data, row_length) != 0)
        return PLACE_BEYOND;
    if (slice_starts_with(key, target))
        return PLACE_COLUMN;
    c = memcmp(key.data + row_length, target.data + row_length, 2);
    if (key.data[row_length + 2] == 0 &&
        (c == 0 ||
         (key.data[row_length] == 0 && key.data[row_length + 1] == 0)))
        return PLACE_BEFORE;
    return slice_cmp(key, target) > 0 ? PLACE_BEYOND : PLACE_ELSEWHERE;
}

/* From an entry that is not wanted, jump towards the column: to the beginning
 * of its family if that is still ahead, else to the column. */
static int read_newest_jump(struct entry_source *s,
                            struct slice target,
                            size_t row_length,
                            struct err *err)
{
    struct slice family = slice_sub(target, 0, row_length + 2);
    if (slice_cmp(s->key, family) < 0)
        return s->ops->seek(s, family, err);
    return s->ops->seek(s, target, err);
}

int read_newest_cell(struct entry_source *source,
                     struct visibility *view,
                     struct buf *target,
                     struct slice row,
                     family_id family,
                     struct slice qualifier,
                     bool *found,
                     int64_t *timestamp_us,
                     struct slice *value,
                     struct err *err)
{
    int rc;
    *found = false;
    buf_clear(target);
    buf_append_slice(target, row);
    cell_key_append_family_column(target, family, qualifier);
    visibility_restart(view);
    rc = source->ops->seek(source, row, err);
    while (rc == 0 && source->valid) {
        struct slice key = source->key;
        enum place place = place_of(key, buf_slice(target), row.len);
        enum fate fate;
        if (place == PLACE_BEYOND)
            return 0;
        if (place == PLACE_ELSEWHERE) {
            rc = read_newest_jump(source, buf_slice(target), row.len, err);
            continue;
        }
        *value = source->value;
        fate = visibility_feed(view, key, *value);
        if (fate == FATE_MALFORMED)
            return err_set(err, ERR_CORRUPT, "an entry is not a cell key");
        if (fate == FATE_FOLDED) {
            buf_clear(target);
            rc = fold_operands(source, view, visibility_feed, target, err);
            *value = buf_slice(target);
        }
        if (fate == FATE_SHOWN || fate == FATE_FOLDED) {
            *found = rc == 0;
            *timestamp_us = view->time_us;
            return rc;
        }
        if (fate == FATE_COLLECTED || fate == FATE_FOREIGN)
            return 0;
        rc = source->ops->next(source, err);
    }
    return rc;
}
