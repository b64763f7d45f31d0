/* Codes and texts of a call's headers and trailers. */
#include "bigtable/gateway/grpc_status.h"

#include "base/core/buf.h"
#include "base/core/err.h"

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

/* A century: may be added to a clock. */
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
