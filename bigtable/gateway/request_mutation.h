/* Mutations as they come in requests. Threads: any. */
#ifndef BIGTABLE_GATEWAY_REQUEST_MUTATION_H
#define BIGTABLE_GATEWAY_REQUEST_MUTATION_H

#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "bigtable/quarry.h"

/* As the real service: of all rows of a request. */
#define REQUEST_MUTATIONS_MAX 100000
/* Longer names of families do not exist. */
#define REQUEST_FAMILY_BYTES_MAX 64

/* Add what the message Mutation in @bytes says to @m. @now_us stands for the
 * time -1. Errors: ERR_INVALID, ERR_NOTFOUND (a name no family can have),
 * ERR_UNSUPPORTED (aggregates). */
MUST_CHECK int request_mutation_add(struct quarry_mutation *m,
                                    struct slice bytes,
                                    int64_t now_us,
                                    struct err *err);

/* The same for one that has just been begun, and of which it is all: where it
 * can, without a copy, over the message, which nobody is to read again. */
MUST_CHECK int request_mutation_take(struct quarry_mutation *m,
                                     struct slice bytes,
                                     int64_t now_us,
                                     struct err *err);

/* A family's name with its NUL. ERR_NOTFOUND. */
MUST_CHECK int request_family(struct slice name,
                              char out[REQUEST_FAMILY_BYTES_MAX + 1],
                              struct err *err);

/* The same with all of field @number of @message. */
MUST_CHECK int request_mutation_add_all(struct quarry_mutation *m,
                                        struct slice message,
                                        unsigned number,
                                        int64_t now_us,
                                        struct err *err);

#endif /* BIGTABLE_GATEWAY_REQUEST_MUTATION_H */
