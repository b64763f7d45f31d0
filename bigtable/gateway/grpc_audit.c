/* Refused calls in the audit log: the servers behind the gateway note what they
 * refuse with its address, and know nothing of who was not let in at all. */
#include "base/runtime/audit.h"
#include "base/runtime/stream.h"
#include "bigtable/gateway/grpc_connection.h"
#include "bigtable/gateway/pb.h"

/* What messages of the API name first is what they are about. */
static struct slice named_in(const struct grpc_call *call)
{
    struct slice message = grpc_request(call);
    struct slice name = pb_find(message, 1);
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
