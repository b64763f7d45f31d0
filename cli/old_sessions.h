/* Sessions with the lock service that were this process's before it was killed:
 * it holds the directory where they are noted (role_memo()), so they are dead,
 * and others need not wait for their leases.
 *
 * Threads: a fiber of the server's loop.
 */
#ifndef CLI_OLD_SESSIONS_H
#define CLI_OLD_SESSIONS_H

struct old_sessions;
struct role_env;

/* Those that are noted now, before any role has begun its own. Borrows @env.
 * Parks. Owned. */
struct old_sessions *old_sessions_find(const struct role_env *env);
/* End them, in the background. */
void old_sessions_end(struct old_sessions *o);
/* Parks. NULL is allowed. */
void old_sessions_free(struct old_sessions *o);

#endif /* CLI_OLD_SESSIONS_H */
