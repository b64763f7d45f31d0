/* The state of tablet_env.h: locks and clocks begin and end here, what the
 * store lends is its own business.
 */
#include "bigtable/tablet/tablet_env.h"

#include "base/core/panic.h"
#include "base/runtime/world.h"

void tablet_env_init(struct tablet_env *env,
                     struct world *world,
                     const struct tablet_env_ops *ops)
{
    PRE(ops->wait_for_room);
    PRE(ops->frozen);
    PRE(ops->close_group);
    PRE(ops->hold_file);
    PRE(ops->drop_file);
    *env = (struct tablet_env){.ops = ops, .world = world};
    age_clock_init(&env->ages, (int64_t)world_now_us(world),
                   world_mono_ns(world));
    row_stamps_init(&env->stamps);
    change_bell_init(&env->bell);
    for (size_t i = 0; i < ROW_LATCH_COUNT; i++) {
        mutex_init(&env->row_latches[0][i]);
        mutex_init(&env->row_latches[1][i]);
    }
}

void tablet_env_close(struct tablet_env *env)
{
    PRE(env->stamps.slots);
    for (size_t i = 0; i < ROW_LATCH_COUNT; i++) {
        mutex_close(&env->row_latches[0][i]);
        mutex_close(&env->row_latches[1][i]);
    }
    row_stamps_close(&env->stamps);
    change_bell_close(&env->bell);
}

int64_t tablet_env_age_us(struct tablet_env *env)
{
    return age_clock_now(&env->ages, (int64_t)world_now_us(env->world),
                         world_mono_ns(env->world));
}

int tablet_env_check_writable(const struct tablet_env *env, struct err *err)
{
    PRE(env->ops);
    if (!env->read_only)
        return 0;
    return err_set(err, ERR_DENIED, "%s was opened read-only", env->dir);
}
