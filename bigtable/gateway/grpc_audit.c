/* Refused calls in the audit log. The servers note what they refuse, but with
 * the gateway's address, and never see a caller who is not authenticated; so
 * the gateway notes refusals with the caller's own address.
 */
#include "base/core/pb.h"
#include "base/runtime/audit.h"
#include "base/runtime/stream.h"
#include "bigtable/gateway/api_fields.h"
#include "bigtable/gateway/grpc_connection.h"

/* The resource that the call is about: requests of the API name it in their
 * first field. */
static struct slice named_in(const struct grpc_call *call)
{
    struct slice message = grpc_request(call);
    struct slice name = pb_find(message, PB_ReadRowsRequest_table_name);
    return slice_starts_with(name, SLICE_LIT("projects/")) ? name : SLICE_EMPTY;
}

void grpc_audit_refusal(const struct grpc_call *call)
{
    struct audit_event e = {.who = slice_str(call->principal),
                            .code = ERR_DENIED,
                            .why = buf_slice(&call->text)};
    if (call->code != GRPC_UNAUTHENTICATED &&
        call->code != GRPC_PERMISSION_DENIED)
        return;
    if (!world_is_audited(call->server->world))
        return;
    e.from = slice_str(stream_peer(call->connection->io));
    e.what =
        call->method ? slice_str(call->method->path) : SLICE_LIT("gateway");
    e.on = named_in(call);
    audit_note(call->server->world, &e);
}
