/* Reading one cell: mostly from memory, on the fiber of the call. */
#include "bigtable/client/quarry.h"
#include "bigtable/tablet/table.h"
#include "bigtable/tablet/tablet.h"
#include "bigtable/tablet_server/rules.h"
#include "bigtable/tablet_server/server.h"
#include "bigtable/tablet_server/serving.h"

int handle_get(void *ctx, struct rpc_call *call, struct err *err)
{
    struct tablet_server *s = ctx;
    struct get_reply reply = {false, 0};
    struct get_request r;
    struct serving v;
    int rc = get_request_get(call->body, &r, err);
    if (rc)
        return rc;
    rc = serving_begin(s, &v, r.tablet, r.generation, err);
    if (rc == 0)
        rc =
            rules_may(s, v.served, call->principal, r.family, ACCESS_READ, err);
    if (rc == 0)
        rc = rules_may_go(s, v.served, RATE_READS, err);
    if (rc == 0 && !tablet_contains(v.view->tablets[0], r.row))
        rc = not_here(r.tablet, err);
    if (rc == 0) {
        rc = read_cell(v.served->table, r.row, r.family, r.qualifier,
                       call->reply_attachment, &reply.timestamp_us,
                       &reply.found, err);
        atomic_fetch_add(&v.served->reads, 1);
        rules_pay(s, v.served, RATE_READS, 1, call->reply_attachment->len);
    }
    if (rc == 0)
        rc = check_answer(s, err);
    if (rc == 0)
        get_reply_put(&reply, call->reply_body);
    serving_end(&v);
    return rc;
}
