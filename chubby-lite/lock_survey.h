/* Answers about the whole cell: its sessions, and who holds which lock.
 *
 *     sessions = [total, more, [session…]]
 *     session  = [id, principal, address, lease-ms, lease-left-us, handles,
 *                 held, [path…]]
 *     entries  = [total, more, [entry…]]
 *     entry    = [name, answer (lock_command.h), mode, handles, holders,
 *                 [[session, principal, address]…]]
 *
 * Arrays that are read are in memory of an arena; texts are borrowed from the
 * bytes. Pure. Threads: any.
 */
#ifndef CHUBBY_LITE_LOCK_SURVEY_H
#define CHUBBY_LITE_LOCK_SURVEY_H

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "chubby-lite/chubby.h"

struct arena;

/* Append a list; read one, with errors ERR_CORRUPT. */
void chubby_session_list_put(const struct chubby_session_list *l,
                             struct buf *out);
MUST_CHECK int chubby_session_list_get(struct slice in,
                                       struct arena *a,
                                       struct chubby_session_list *l,
                                       struct err *err);
void chubby_entry_list_put(const struct chubby_entry_list *l, struct buf *out);
MUST_CHECK int chubby_entry_list_get(struct slice in,
                                     struct arena *a,
                                     struct chubby_entry_list *l,
                                     struct err *err);

#endif /* CHUBBY_LITE_LOCK_SURVEY_H */
