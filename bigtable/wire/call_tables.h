/* How calls are registered: each header of calls has two tables, of its methods
 * and of its messages, and everything else is made of them.
 *
 *     METHOD(NAME, number, "name", handler, GATE)
 *
 * is one line for a method. It gives the number its name here (METHOD_NUMBER),
 * and at the server the handler's prototype, the counters and the audit's name,
 * and the check that runs before the handler. Numbers are part of the protocol:
 * only append. Gates are explained in tablet_server/tablet_methods.c and
 * master/master_service.c; methods.h has the tables of all headers.
 *
 *     MESSAGE(type, FIELDS, "what it is called in errors")
 *
 * is one line for a message whose fields are a flat list. FIELDS lists them in
 * the order of the wire, as FIELD(KIND, member); message.h has the kinds. Both
 * directions are made of that list, and so is the fuzzer.
 */
#ifndef BIGTABLE_WIRE_CALL_TABLES_H
#define BIGTABLE_WIRE_CALL_TABLES_H

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

#define METHOD_NUMBER(NAME, number, name, handler, gate) NAME = (number),

/* TYPE_put() appends to @out. The slices that TYPE_get() gives are borrowed
 * from @bytes; errors are ERR_CORRUPT. */
#define MESSAGE_PROTOTYPES(type, FIELDS, what)                                 \
    void type##_put(const struct type *m, struct buf *out);                    \
    MUST_CHECK int type##_get(struct slice bytes, struct type *m,              \
                              struct err *err);

#endif /* BIGTABLE_WIRE_CALL_TABLES_H */
