/* The status of a gRPC call, and the small texts of its headers. Pure. */
#ifndef BIGTABLE_GATEWAY_GRPC_STATUS_H
#define BIGTABLE_GATEWAY_GRPC_STATUS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/slice.h"

struct buf;

/* The values are those on the wire. */
enum grpc_code {
    GRPC_OK = 0,
    GRPC_CANCELLED = 1,
    GRPC_UNKNOWN = 2,
    GRPC_INVALID_ARGUMENT = 3,
    GRPC_DEADLINE_EXCEEDED = 4,
    GRPC_NOT_FOUND = 5,
    GRPC_ALREADY_EXISTS = 6,
    GRPC_PERMISSION_DENIED = 7,
    GRPC_RESOURCE_EXHAUSTED = 8,
    GRPC_FAILED_PRECONDITION = 9,
    GRPC_ABORTED = 10,
    GRPC_OUT_OF_RANGE = 11,
    GRPC_UNIMPLEMENTED = 12,
    GRPC_INTERNAL = 13,
    GRPC_UNAVAILABLE = 14,
    GRPC_DATA_LOSS = 15,
    GRPC_UNAUTHENTICATED = 16,
#define GRPC_CODE_COUNT 17
};

/* The code for an ERR_* (0: GRPC_OK). */
enum grpc_code grpc_code_of(int rc);

/* "NOT_FOUND" and so on, as gRPC writes them. */
const char *grpc_code_name(enum grpc_code code);

/* Append @text as the value of grpc-message: bytes outside of printable ASCII,
 * and '%', as %XX. */
void grpc_put_message(struct buf *out, struct slice text);

/* Append @bytes as binary headers carry them: base64 without padding. */
void grpc_put_base64(struct buf *out, struct slice bytes);

/* Append a google.protobuf.Any: a google.rpc.RetryInfo of @retry_us. */
void grpc_put_retry_info(struct buf *out, uint64_t retry_us);

/* Append the value of grpc-status-details-bin: a google.rpc.Status of @code and
 * @text whose detail is a google.rpc.RetryInfo of @retry_us. */
void grpc_put_retry(struct buf *out,
                    enum grpc_code code,
                    struct slice text,
                    uint64_t retry_us);

/* Append a google.protobuf.Any: a google.rpc.PreconditionFailure with one
 * violation. */
void grpc_put_precondition(struct buf *out,
                           struct slice type,
                           struct slice subject,
                           struct slice description);

/* Append the value of grpc-status-details-bin: a google.rpc.Status of @code and
 * @text with @detail, an Any. */
void grpc_put_details(struct buf *out,
                      enum grpc_code code,
                      struct slice text,
                      struct slice detail);

/* The value of grpc-timeout ("20S", "100m"): at most eight digits and one of
 * H M S m u n. False: it is none. */
bool grpc_parse_timeout(struct slice text, uint64_t *ns);

#endif /* BIGTABLE_GATEWAY_GRPC_STATUS_H */
