/* Names that the handlers of the admin APIs write: in messages, and as keys of
 * the registry.
 */
#include "bigtable/gateway/admin.h"

#include "base/core/pb.h"

/* --- names --------------------------------------------------------------- */

void admin_key(struct buf *out,
               struct slice instance,
               const char *kind,
               struct slice id)
{
    buf_printf(out, "instances/%.*s", SLICE_ARG(instance));
    if (*kind)
        buf_printf(out, "/%s/%.*s", kind, SLICE_ARG(id));
}

void admin_put_name(struct buf *out,
                    unsigned number,
                    struct slice project,
                    struct slice instance,
                    const char *kind,
                    struct slice id)
{
    struct buf name = BUF_INIT;
    buf_printf(&name, "projects/%.*s/", SLICE_ARG(project));
    admin_key(&name, instance, kind, id);
    pb_put_bytes(out, number, buf_slice(&name));
    buf_close(&name);
}
