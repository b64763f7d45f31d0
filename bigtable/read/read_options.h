/* Options of a read as the library's users give them (quarry.h), turned into
 * what the store wants. Threads: any. */
#ifndef BIGTABLE_READ_READ_OPTIONS_H
#define BIGTABLE_READ_READ_OPTIONS_H

#include "base/core/err.h"
#include "base/core/macros.h"
#include "bigtable/read/scan.h"

struct quarry_read_options;
struct schema;
struct table_part_view;

/* @view's schema resolves families; @opts may be NULL. On error nothing is left
 * in @out. Errors: ERR_NOTFOUND (family), ERR_INVALID, those of the filter. */
MUST_CHECK int read_spec_build(struct read_spec *out,
                               const struct table_part_view *view,
                               const struct quarry_read_options *opts,
                               struct err *err);
/* The same for a table of which only the schema is known. */
MUST_CHECK int read_spec_of_schema(struct read_spec *out,
                                   const struct schema *schema,
                                   const struct quarry_read_options *opts,
                                   struct err *err);

#endif /* BIGTABLE_READ_READ_OPTIONS_H */
