/* Keys of the rows of a view's own table, ".view.NAME". Its one family, "v",
 * has one column, the empty one. The first byte says what a row is:
 *
 *     m                            figures of the view, and how far it is built
 *     r ROW                        what ROW contributes (contribution.h)
 *     g TABLE KEY                  a group: its number, and the merged state
 *     c GROUP HASH ROW             what ROW adds to a group that is not a sum,
 *     c GROUP ROW                  or whose results are in the order of rows
 *     n GROUP LEVEL PREFIX         the merged state of all `c` of the group
 *                                  whose hash begins so (group_tree.h)
 *     e TIME ROW                   ROW is to be looked at again then
 *
 * TABLE has 4 bytes, GROUP and TIME 8, all big-endian, so that groups come in
 * the order of the program's tables, and keys in theirs (values/datum.h). HASH
 * is that of ROW in VIEW_HASH_DIGITS hexadecimal digits. */
#ifndef BIGTABLE_VIEW_VIEW_KEYS_H
#define BIGTABLE_VIEW_VIEW_KEYS_H

#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/slice.h"

#define VIEW_FAMILY "v"

/* Names of rows have at most 64 KiB; this is what is left for a row of the
 * table, or the key of a group, beside the rest. */
#define VIEW_NAME_BYTES_MAX ((size_t)65000)

#define VIEW_HASH_DIGITS 8

enum view_key_kind {
    VIEW_KEY_META = 'm',
    VIEW_KEY_ROW = 'r',
    VIEW_KEY_GROUP = 'g',
    VIEW_KEY_PART = 'c',
    VIEW_KEY_NODE = 'n',
    VIEW_KEY_DUE = 'e',
};

/* The hash of @row as digits, without a NUL. */
void view_hash_digits(struct slice row, char digits[VIEW_HASH_DIGITS]);

/* Each clears @out first. */
void view_key_row(struct buf *out, struct slice row);
void view_key_group(struct buf *out, uint32_t table, struct slice key);
/* The beginning of the keys of all parts of the group. */
void view_key_parts(struct buf *out, uint64_t group);
/* @digits: the first @digit_count of the row's hash; 0: those in order. */
void view_key_part(struct buf *out,
                   uint64_t group,
                   const char *digits,
                   size_t digit_count,
                   struct slice row);
/* The node of @level whose prefix is the first @digit_count of @digits; those
 * of all its children begin with the key of one level more. */
void view_key_node(struct buf *out,
                   uint64_t group,
                   unsigned level,
                   const char *digits,
                   size_t digit_count);
void view_key_due(struct buf *out, int64_t time_us, struct slice row);

#endif /* BIGTABLE_VIEW_VIEW_KEYS_H */
