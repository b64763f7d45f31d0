/* Sessions of the lock service in a service that others run: the contract of
 * chubby.h on top of a coordination store (coordination.h).
 *
 * One loop.
 */
#ifndef CHUBBY_LITE_MAPPED_MAPPED_H
#define CHUBBY_LITE_MAPPED_MAPPED_H

#include "chubby-lite/chubby_ops.h"

struct coordination_ops;

/* As chubby_connect(), to the service that @text names (lock_service.h). Also
 * ERR_INVALID (the text), ERR_UNSUPPORTED (not built in). */
MUST_CHECK int mapped_connect(struct world *w,
                              const char *text,
                              const struct chubby_options *opts,
                              struct chubby **out,
                              struct err *err);
/* As chubby_end_session(). */
void mapped_end_session(struct world *w, const char *text, const char *note);

/* The same in store @ops below @root: for tests. @ctx goes to its open(). */
MUST_CHECK int mapped_connect_store(struct world *w,
                                    const struct coordination_ops *ops,
                                    void *ctx,
                                    const char *root,
                                    const struct chubby_options *opts,
                                    struct chubby **out,
                                    struct err *err);

#endif /* CHUBBY_LITE_MAPPED_MAPPED_H */
