/* Keys of two parts, group and member: "group 00 member". Jobs that want a
 * group's members in order, each once, emit such keys and group by the first
 * part. pair_key() refuses a group that contains a zero byte. */
#ifndef JOBS_PAIR_KEY_H
#define JOBS_PAIR_KEY_H

#include "base/core/buf.h"
#include "mapreduce/mapreduce.h"

/* Make the key in @out. False when it would be ambiguous or too long. */
static inline bool
pair_key(struct buf *out, struct slice group, struct slice member)
{
    buf_clear(out);
    if (slice_find_byte(group, '\0') != group.len ||
        group.len + member.len + 1 > MR_KEY_BYTES_MAX)
        return false;
    buf_append_slice(out, group);
    buf_append_byte(out, '\0');
    buf_append_slice(out, member);
    return true;
}

static inline size_t pair_key_group(struct mr_task *t, struct slice key)
{
    (void)t;
    return slice_find_byte(key, '\0');
}

/* The second part of a key whose first has @group_len bytes. */
static inline struct slice pair_key_member(struct slice key, size_t group_len)
{
    return slice_sub(key, group_len + 1, key.len);
}

#endif /* JOBS_PAIR_KEY_H */
