/* Statements of a transaction, as `quarry txn` and the shell read them:
 *
 *     get TABLE ROW [FAMILY:QUALIFIER]
 *     scan TABLE [START [END]]
 *     put TABLE ROW FAMILY:QUALIFIER=VALUE…
 *     delete TABLE ROW [FAMILY:QUALIFIER…]
 *     commit
 *     rollback
 *
 * Threads: one.
 */
#ifndef CLI_TXN_SESSION_H
#define CLI_TXN_SESSION_H

#include <stdbool.h>
#include <stddef.h>

#include "base/core/err.h"
#include "base/core/macros.h"

struct cli;
struct txn_session;
struct word_list;

/* Begin a transaction on the target of @cli (borrowed). Owned. */
MUST_CHECK int txn_session_begin(struct cli *cli,
                                 bool serializable,
                                 struct txn_session **out,
                                 struct err *err);
/* End it without a commit, if it has not ended, and free it. NULL allowed. */
void txn_session_close(struct txn_session *s);
/* Is @word a statement? */
bool txn_session_knows(const char *word);
/* Run one statement. *@ended: it was commit or rollback, also when that failed.
 * Errors: ERR_USAGE, those of quarry_txn.h. */
MUST_CHECK int txn_session_run(struct txn_session *s,
                               const struct word_list *words,
                               bool *ended,
                               struct err *err);

#endif /* CLI_TXN_SESSION_H */
