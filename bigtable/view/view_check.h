/* Comparing a view with its table, and with itself. */
#ifndef BIGTABLE_VIEW_VIEW_CHECK_H
#define BIGTABLE_VIEW_VIEW_CHECK_H

#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"

struct quarry_view_check;
struct view_core;

/* As quarry_view_check(). Changes nothing. */
MUST_CHECK int view_check(struct view_core *v,
                          uint64_t wait_us,
                          struct quarry_view_check *out,
                          struct err *err);

#endif /* BIGTABLE_VIEW_VIEW_CHECK_H */
