/* Sessions with the lock service that were this process's before it was killed:
 * it holds the directory where they are noted (role_memo()), so they are dead,
 * and others need not wait for their leases.
 *
 * Threads: a fiber of the server's loop.
 */
#ifndef CLI_STALE_SESSIONS_H
#define CLI_STALE_SESSIONS_H

struct stale_sessions;
struct role_env;

/* Those that are noted now, before any role has begun its own. Borrows @env.
 * Parks. Owned. */
struct stale_sessions *stale_sessions_find(const struct role_env *env);
/* End them, in the background. */
void stale_sessions_end(struct stale_sessions *o);
/* Parks. NULL is allowed. */
void stale_sessions_free(struct stale_sessions *o);

#endif /* CLI_STALE_SESSIONS_H */
