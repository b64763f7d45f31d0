/* Codes and texts of a call's headers and trailers: statuses, percent-encoded
 * messages, details in base64, and timeouts.
 */
#include "bigtable/gateway/grpc_status.h"

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/pb.h"
#include "bigtable/gateway/api_fields.h"

const char *grpc_code_name(enum grpc_code code)
{
    static const char *const names[GRPC_CODE_COUNT] = {"OK",
                                                       "CANCELLED",
                                                       "UNKNOWN",
                                                       "INVALID_ARGUMENT",
                                                       "DEADLINE_EXCEEDED",
                                                       "NOT_FOUND",
                                                       "ALREADY_EXISTS",
                                                       "PERMISSION_DENIED",
                                                       "RESOURCE_EXHAUSTED",
                                                       "FAILED_PRECONDITION",
                                                       "ABORTED",
                                                       "OUT_OF_RANGE",
                                                       "UNIMPLEMENTED",
                                                       "INTERNAL",
                                                       "UNAVAILABLE",
                                                       "DATA_LOSS",
                                                       "UNAUTHENTICATED"};
    return (unsigned)code < GRPC_CODE_COUNT ? names[code] : "UNKNOWN";
}

enum grpc_code grpc_code_of(int rc)
{
    switch ((enum err_code)rc) {
    case ERR_OK: return GRPC_OK;
    case ERR_CANCELLED: return GRPC_CANCELLED;
    case ERR_INVALID:
    case ERR_TOOBIG: return GRPC_INVALID_ARGUMENT;
    case ERR_DEADLINE: return GRPC_DEADLINE_EXCEEDED;
    case ERR_NOTFOUND: return GRPC_NOT_FOUND;
    case ERR_EXISTS: return GRPC_ALREADY_EXISTS;
    case ERR_DENIED: return GRPC_PERMISSION_DENIED;
    case ERR_EXHAUSTED:
    case ERR_FULL:
    case ERR_NOMEM: return GRPC_RESOURCE_EXHAUSTED;
    case ERR_CONFLICT:
    case ERR_TOO_OLD:
    case ERR_ABORTED: return GRPC_ABORTED;
    case ERR_UNSUPPORTED: return GRPC_UNIMPLEMENTED;
    case ERR_UNAVAILABLE:
    case ERR_BUSY:
    case ERR_CLOSED: return GRPC_UNAVAILABLE;
    case ERR_CORRUPT: return GRPC_DATA_LOSS;
    case ERR_IO: return GRPC_INTERNAL;
    case ERR_UNKNOWN_OUTCOME: break;
    }
    return GRPC_UNKNOWN;
}

void grpc_put_message(struct buf *out, struct slice text)
{
    static const char hex[] = "0123456789ABCDEF";
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (c >= ' ' && c <= '~' && c != '%') {
            buf_append_byte(out, (char)c);
        } else {
            buf_append_byte(out, '%');
            buf_append_byte(out, hex[c >> 4]);
            buf_append_byte(out, hex[c & 15]);
        }
    }
}

/* --- details ------------------------------------------------------------- */

#define RETRY_INFO "type.googleapis.com/google.rpc.RetryInfo"
#define PRECONDITION_FAILURE                                                   \
    "type.googleapis.com/google.rpc.PreconditionFailure"

static void put_duration(struct buf *out, uint64_t us)
{
    pb_put_integer(out, PB_Duration_seconds, (int64_t)(us / 1000000));
    pb_put_integer(out, PB_Duration_nanos, (int64_t)(us % 1000000 * 1000));
}

void grpc_put_retry_info(struct buf *out, uint64_t us)
{
    struct buf delay = BUF_INIT;
    struct buf info = BUF_INIT;
    put_duration(&delay, us);
    pb_put_bytes(&info, PB_RetryInfo_retry_delay, buf_slice(&delay));
    pb_put_bytes(out, PB_Any_type_url, SLICE_LIT(RETRY_INFO));
    pb_put_bytes(out, PB_Any_value, buf_slice(&info));
    buf_close(&delay);
    buf_close(&info);
}

void grpc_put_base64(struct buf *out, struct slice bytes)
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint32_t bits = 0;
    unsigned held = 0;
    for (size_t i = 0; i < bytes.len; i++) {
        bits = bits << 8 | (unsigned char)bytes.data[i];
        for (held += 8; held >= 6; held -= 6)
            buf_append_byte(out, digits[bits >> (held - 6) & 63]);
    }
    if (held > 0)
        buf_append_byte(out, digits[bits << (6 - held) & 63]);
}

void grpc_put_details(struct buf *out,
                      enum grpc_code code,
                      struct slice text,
                      struct slice detail)
{
    struct buf status = BUF_INIT; /* A google.rpc.Status. */
    pb_put_integer(&status, PB_Status_code, (int64_t)code);
    pb_put_bytes(&status, PB_Status_message, text);
    pb_put_bytes(&status, PB_Status_details, detail);
    grpc_put_base64(out, buf_slice(&status));
    buf_close(&status);
}

void grpc_put_retry(struct buf *out,
                    enum grpc_code code,
                    struct slice text,
                    uint64_t retry_us)
{
    struct buf detail = BUF_INIT;
    grpc_put_retry_info(&detail, retry_us);
    grpc_put_details(out, code, text, buf_slice(&detail));
    buf_close(&detail);
}

void grpc_put_precondition(struct buf *out,
                           struct slice type,
                           struct slice subject,
                           struct slice description)
{
    struct buf failure = BUF_INIT;
    const size_t violation =
        pb_open(&failure, PB_PreconditionFailure_violations);
    pb_put_bytes(&failure, PB_Violation_type, type);
    pb_put_bytes(&failure, PB_Violation_subject, subject);
    pb_put_bytes(&failure, PB_Violation_description, description);
    pb_close(&failure, violation);
    pb_put_bytes(out, PB_Any_type_url, SLICE_LIT(PRECONDITION_FAILURE));
    pb_put_bytes(out, PB_Any_value, buf_slice(&failure));
    buf_close(&failure);
}

/* A century, which can be added to a clock without overflow. */
#define TIMEOUT_NS_MAX (UINT64_C(100) * 366 * 86400 * 1000000000)

static uint64_t unit_ns(char unit)
{
    switch (unit) {
    case 'H': return UINT64_C(3600000000000);
    case 'M': return UINT64_C(60000000000);
    case 'S': return UINT64_C(1000000000);
    case 'm': return UINT64_C(1000000);
    case 'u': return UINT64_C(1000);
    case 'n': return 1;
    default: return 0;
    }
}

bool grpc_parse_timeout(struct slice text, uint64_t *ns)
{
    uint64_t value = 0;
    uint64_t unit;
    if (text.len < 2 || text.len > 9)
        return false;
    for (size_t i = 0; i + 1 < text.len; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return false;
        value = value * 10 + (uint64_t)(text.data[i] - '0');
    }
    unit = unit_ns(text.data[text.len - 1]);
    if (unit == 0)
        return false;
    *ns = value > TIMEOUT_NS_MAX / unit ? TIMEOUT_NS_MAX : value * unit;
    return true;
}
