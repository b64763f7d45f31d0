/* Pins: a state of the store that stays readable for other processes. Its files
 * get one more user each, and a copy of the manifest is left beside the
 * manifest in force, so that the tasks of a job read the same rows while the
 * store continues to be written.
 */
#include <string.h>

#include "base/core/panic.h"
#include "base/runtime/sync.h"
#include "bigtable/store/manifest.h"
#include "bigtable/store/store.h"

/* Hold all files of @state. */
static void hold_files(void *ctx, const struct manifest_state *state)
{
    struct store *s = ctx;
    PRE(mutex_is_held(&s->lock));
    PRE(s->manifest);
    for (size_t i = 0; i < state->tablet_count; i++)
        for (size_t g = 0; g < state->tablets[i].group_count; g++) {
            const struct manifest_group *group = &state->tablets[i].groups[g];
            s->pinned = mem_realloc(s->pinned,
                                    (s->pinned_count + group->file_count + 1) *
                                        sizeof(*s->pinned));
            for (size_t f = 0; f < group->file_count; f++) {
                s->pinned[s->pinned_count++] = group->files[f].number;
                file_refs_add(&s->files, group->files[f].number);
            }
        }
}

/* PRE: the lock is held. */
static void release_files(struct store *s)
{
    PRE(s->pin_count == 0);
    for (size_t i = 0; i < s->pinned_count; i++)
        store_drop_file(s, s->pinned[i]);
    mem_free(s->pinned);
    s->pinned = NULL;
    s->pinned_count = 0;
}

/* Several pins share one state, the newest; what earlier ones hold stays held
 * until the last is taken away. */
int store_pin(struct store *s, struct err *err)
{
    int rc = store_flush(s, err);
    PRE(s->manifest);
    if (rc)
        return rc;
    mutex_lock(&s->lock);
    manifest_look(s->manifest, hold_files, s);
    rc = manifest_write_pin(s->manifest, err);
    if (rc == 0)
        s->pin_count++;
    else if (s->pin_count == 0)
        release_files(s);
    mutex_unlock(&s->lock);
    if (rc)
        err_wrap(err, "pin");
    return rc;
}

void store_unpin(struct store *s)
{
    mutex_lock(&s->lock);
    PRE(s->pin_count > 0);
    if (--s->pin_count == 0) {
        manifest_remove_pin(s->manifest);
        release_files(s);
    }
    mutex_unlock(&s->lock);
}
