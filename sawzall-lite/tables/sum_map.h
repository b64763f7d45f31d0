/* The sum of maps: a hash set of keys, each with the sum of its values, so that
 * adding a small map to a large sum costs no more than the small one. Private
 * to tables/.
 */
#ifndef SAWZALL_LITE_TABLES_SUM_MAP_H
#define SAWZALL_LITE_TABLES_SUM_MAP_H

#include "sawzall-lite/tables/items.h"

/* Add the entries of @map, a valid datum. False when values of a key do not add
 * up; what was added before stays. */
MUST_CHECK bool
saw_sum_map_add(struct saw_table *t, struct saw_items *s, struct slice map);
/* Append the sum as a map datum, keys ascending. */
void saw_sum_map_total(const struct saw_items *s, struct buf *out);
void saw_sum_map_close(struct saw_table *t, struct saw_items *s);

#endif /* SAWZALL_LITE_TABLES_SUM_MAP_H */
