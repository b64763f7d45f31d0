/* Lists of administrators and roles, queried from the master every half second
 * by a fiber. Readers use the last answer and never wait; before the first one
 * the lists are empty.
 */
#include "cli/principal_lists.h"

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "bigtable/quarry.h"
#include "bigtable/quarry_access.h"
#include "cli/role.h"

#define ASK_US UINT64_C(500000)

struct principal_lists {
    struct world *world;
    char *cell; /* Owned. */
    struct quarry_options store;
    struct quarry *tables; /* NULL: not opened yet. */
    struct fiber *fiber;
    struct quarry_principals *known; /* NULL: nothing yet. */
};

struct principal_lists *principal_lists_new(const struct role_env *env)
{
    struct principal_lists *l = mem_zalloc(1, sizeof(*l));
    l->world = env->world;
    l->cell = mem_strdup(env->cell);
    l->store = (struct quarry_options){
        .world = env->world, .security = env->security, .must_exist = true};
    return l;
}

static void principal_lists_ask(struct principal_lists *l)
{
    struct quarry_principals *now;
    if (!l->tables && quarry_open(l->cell, &l->store, &l->tables, NULL)) {
        l->tables = NULL;
        return;
    }
    if (quarry_principals_get(l->tables, &now, NULL))
        return;
    quarry_principals_free(l->known);
    l->known = now;
}

static void run_asking(void *arg)
{
    struct principal_lists *l = arg;
    while (fiber_check(NULL) == 0) {
        principal_lists_ask(l);
        world_sleep_us(l->world, ASK_US);
    }
}

bool principal_lists_are_known(const struct principal_lists *l)
{
    return l->known != NULL;
}

void principal_lists_start(struct principal_lists *l)
{
    if (l->fiber)
        return;
    l->fiber = fiber_start(loop_self(), "principals", run_asking, l);
}

void principal_lists_stop(struct principal_lists *l)
{
    if (!l->fiber)
        return;
    fiber_cancel(l->fiber);
    fiber_join(l->fiber);
    l->fiber = NULL;
}

void principal_lists_close(struct principal_lists *l)
{
    if (!l)
        return;
    principal_lists_stop(l);
    quarry_close(l->tables);
    quarry_principals_free(l->known);
    mem_free(l->cell);
    mem_free(l);
}

bool principal_lists_is_administrator(const struct principal_lists *l,
                                      struct slice principal)
{
    return l->known && quarry_principals_is_administrator(l->known, principal);
}

void principal_lists_put_roles(const struct principal_lists *l,
                               struct slice principal,
                               struct buf *out)
{
    if (l->known)
        quarry_principals_put_roles(l->known, principal, out);
}
