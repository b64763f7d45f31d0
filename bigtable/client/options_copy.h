/* Options of a read that outlive the call they came with. */
#ifndef BIGTABLE_CLIENT_OPTIONS_COPY_H
#define BIGTABLE_CLIENT_OPTIONS_COPY_H

#include "base/core/arena.h"
#include "bigtable/quarry.h"

struct options_copy {
    struct quarry_read_options options; /* Without ranges and keys. */
    struct arena arena;                 /* Holds their texts. */
    struct quarry_filter *filter;       /* Reference; NULL: none. */
};

/* @opts may be NULL. Errors: a mistake in the filter; then nothing is held. */
MUST_CHECK int options_copy_init(struct options_copy *c,
                                 const struct quarry_read_options *opts,
                                 struct err *err);
void options_copy_close(struct options_copy *c);

#endif /* BIGTABLE_CLIENT_OPTIONS_COPY_H */
