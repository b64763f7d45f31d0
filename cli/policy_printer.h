/* Rights and quotas on standard output: acl show, quota show, table describe.
 *
 * Threads: one.
 */
#ifndef CLI_POLICY_PRINTER_H
#define CLI_POLICY_PRINTER_H

#include "base/core/err.h"
#include "base/core/macros.h"
#include "cli/cli.h"

struct buf;
struct quarry;

/* The list of rights of @table ("": of the cluster). Errors: those of
 * quarry_acl_get(). */
MUST_CHECK int policy_print_rights(struct quarry *q,
                                   const char *table,
                                   enum cli_format format,
                                   struct err *err);
/* Its quotas, with what it uses of them. */
MUST_CHECK int policy_print_quotas(struct quarry *q,
                                   const char *table,
                                   enum cli_format format,
                                   struct err *err);
/* The rates of principals; of @principal alone, unless it is NULL. */
MUST_CHECK int policy_print_rates(struct quarry *q,
                                  const char *principal,
                                  enum cli_format format,
                                  struct err *err);
/* Both as members of a JSON object, with a comma before each. Nothing where a
 * table has neither: in a directory. */
MUST_CHECK int policy_put_json(struct quarry *q,
                               const char *table,
                               struct buf *out,
                               struct err *err);

#endif /* CLI_POLICY_PRINTER_H */
