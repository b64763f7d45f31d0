/* Ends the sessions with the lock service that a killed process has left, by
 * the numbers noted in its directory, so that its successor need not wait until
 * they expire.
 */
#include "cli/stale_sessions.h"

#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "chubby-lite/chubby.h"
#include "cli/role.h"

#define PREFIX       "session-"
#define SESSIONS_MAX 32
/* Then their leases are over anyway. */
#define END_US UINT64_C(12000000)

struct old_session {
    const struct role_env *env;
    char note[CHUBBY_NOTE_BYTES_MAX];
    struct fiber *fiber;
};

struct stale_sessions {
    const struct role_env *env;
    struct old_session sessions[SESSIONS_MAX];
    size_t count;
};

static void stale_sessions_add(struct stale_sessions *o, const char *name)
{
    struct buf path = BUF_INIT;
    struct old_session *s;
    if (strncmp(name, PREFIX, strlen(PREFIX)) != 0 || o->count == SESSIONS_MAX)
        return;
    buf_printf(&path, "%s/%s", o->env->data, name);
    s = &o->sessions[o->count];
    s->env = o->env;
    o->count += chubby_noted_session(o->env->world, buf_cstr(&path), s->note);
    buf_close(&path);
}

struct stale_sessions *stale_sessions_find(const struct role_env *env)
{
    struct stale_sessions *o = mem_zalloc(1, sizeof(*o));
    char **names = NULL;
    size_t count = 0;
    o->env = env;
    if (world_list(env->world, env->data, &names, &count, NULL) == 0) {
        for (size_t i = 0; i < count; i++)
            stale_sessions_add(o, names[i]);
        world_names_free(names, count);
    }
    POST(o->count <= SESSIONS_MAX);
    return o;
}

static void run_end(void *arg)
{
    const struct old_session *o = arg;
    struct world *w = o->env->world;
    const struct chubby_options opts = {.servers = o->env->lock_servers,
                                        .server_count =
                                            o->env->lock_server_count,
                                        .security = o->env->security};
    PRE(o->note[0]);
    (void)fiber_set_deadline(world_mono_ns(w) + END_US * 1000);
    chubby_end_session(w, &opts, o->note);
}

/* All at once: the end of one waits for the caches of those that live. */
void stale_sessions_end(struct stale_sessions *o)
{
    for (size_t i = 0; i < o->count; i++)
        o->sessions[i].fiber =
            fiber_start(loop_self(), "old session", run_end, &o->sessions[i]);
}

void stale_sessions_free(struct stale_sessions *o)
{
    if (!o)
        return;
    for (size_t i = 0; i < o->count; i++)
        if (o->sessions[i].fiber) {
            fiber_cancel(o->sessions[i].fiber);
            fiber_join(o->sessions[i].fiber);
        }
    mem_free(o);
}
