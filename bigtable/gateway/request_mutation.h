/* The API's message Mutation, as requests carry it. Pure; any thread. */
#ifndef BIGTABLE_GATEWAY_REQUEST_MUTATION_H
#define BIGTABLE_GATEWAY_REQUEST_MUTATION_H

#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "bigtable/quarry.h"

/* The limit of the real service, for all rows of a request together. */
#define REQUEST_MUTATIONS_MAX 100000
/* No family has a longer name. */
#define REQUEST_FAMILY_BYTES_MAX 64

/* Add the change in @bytes, a message Mutation, to @m. @now_us replaces the
 * timestamp -1. Errors: ERR_INVALID, ERR_NOTFOUND (a name no family can have),
 * ERR_UNSUPPORTED (aggregates). */
MUST_CHECK int request_mutation_add(struct quarry_mutation *m,
                                    struct slice bytes,
                                    int64_t now_us,
                                    struct err *err);

/* The same for @m that has just been begun and gets no other change. A SetCell
 * is built in place where it fits: @bytes are overwritten, must not be read
 * again and are borrowed until @m is applied or ends. */
MUST_CHECK int request_mutation_take(struct quarry_mutation *m,
                                     struct slice bytes,
                                     int64_t now_us,
                                     struct err *err);

/* Copy a family's name and end it with a NUL. ERR_INVALID: it is empty.
 * ERR_NOTFOUND: no family can have it. */
MUST_CHECK int request_family(struct slice name,
                              char out[REQUEST_FAMILY_BYTES_MAX + 1],
                              struct err *err);

/* Add every field @number of @message, a repeated Mutation. Errors: as
 * request_mutation_add(). */
MUST_CHECK int request_mutation_add_all(struct quarry_mutation *m,
                                        struct slice message,
                                        unsigned number,
                                        int64_t now_us,
                                        struct err *err);

#endif /* BIGTABLE_GATEWAY_REQUEST_MUTATION_H */
