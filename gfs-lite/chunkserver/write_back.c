/* Early write-back: the disk begins to write a chunk's bytes while more arrive,
 * so that the sync at the chunk's end waits for few of them.
 *
 * One piece of one chunk at a time: a longer queue at the disk would delay
 * every sync, including the namenode's, which delays the writer's next chunk.
 * The final sync writes the rest.
 */
#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "gfs-lite/chunkserver/chunkserver_state.h"

/* The next chunk that is behind, in turn; NULL: there is none. Only chunks with
 * open files can be. */
static struct stored_chunk *find_behind(struct chunkserver *cs)
{
    size_t count = cs->store->open_count;
    for (size_t i = 0; i < count; i++) {
        size_t at = (cs->write_back_at + i) % count;
        struct stored_chunk *c = cs->store->open[at];
        INVARIANT(c->file); /* INV-2 of chunk_store.h */
        if (!c->failed && !c->damaged && chunk_file_is_behind(c->file)) {
            cs->write_back_at = at + 1;
            return c;
        }
    }
    return NULL;
}

static void write_back(struct chunkserver *cs, struct stored_chunk *c)
{
    PRE(c->file); /* INV-2 of chunk_store.h */
    c->pins++;
    chunk_file_write_back(c->file);
    if (chunk_file_lacks_room(c->file)) {
        mutex_lock(&c->lock);
        chunk_file_keep_room(c->file); /* It may have been sealed meanwhile. */
        mutex_unlock(&c->lock);
    }
    chunk_store_put(cs->store, c);
}

void chunkserver_note_written(struct chunkserver *cs,
                              const struct stored_chunk *c)
{
    PRE(c->file);
    if (cs->writer && chunk_file_is_behind(c->file))
        fiber_wake(cs->writer);
}

void chunkserver_run_write_back(void *arg)
{
    struct chunkserver *cs = arg;
    while (!cs->stopping && fiber_check(NULL) == 0) {
        struct stored_chunk *c = find_behind(cs);
        if (c) {
            write_back(cs, c);
        } else if (fiber_park_checked(NULL)) {
            return;
        }
    }
}
